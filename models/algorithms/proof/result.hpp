// What a program leaves in its buffers: every contribution is followed, and every output compared with what the
// collective asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/algorithms/proof/goal.hpp"
#include "models/algorithms/proof/layout.hpp"
#include "models/algorithms/proof/schedule.hpp"

namespace moire::proof {

enum class Fault : std::uint8_t {
  nobody_wrote,   // it holds what it held at the start
  added_wrongly,  // the step joins what must not be joined, or the same thing twice
  wrong_place,    // the right value lies elsewhere, or that of another chunk here
  overwrote,      // the step replaces what it should have added to
  incomplete,     // something never came here
};

// The first output that is wrong.
struct Wrong {
  std::int32_t gpu = 0;
  std::int64_t chunk = 0;  // of its output
  std::vector<Contribution> expected;
  std::vector<Contribution> found;  // empty: nothing defined
  bool undefined = false;           // what it holds, or a part of it, was in no input
  Fault fault = Fault::incomplete;
  StepAt by;      // the step at fault, where one is
  StepAt sender;  // who sent it what it received
};

// A step that uses a chunk which nobody wrote before.
struct UnwrittenRead {
  StepAt at;
  ir::Buffer buffer = ir::Buffer::input;
  std::int64_t chunk = 0;
};

struct Result {
  bool stated = false;             // the collective asks for something
  std::uint64_t wrong_chunks = 0;  // of all outputs
  std::optional<Wrong> first_wrong;
  std::uint64_t unwritten_reads = 0;
  std::optional<UnwrittenRead> first_unwritten;
  bool correct() const { return wrong_chunks == 0; }
};

// `order` is one that schedule() made for this cut.
Result execute(const Program& program, const Layout& layout, const Goal& goal, const std::vector<std::uint32_t>& order,
               std::uint32_t cells_per_call);

}  // namespace moire::proof
