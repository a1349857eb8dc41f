// Follows every contribution through a program and compares each output with what the collective must produce.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/algorithms/proof/goal.hpp"
#include "models/algorithms/proof/layout.hpp"
#include "models/algorithms/proof/schedule.hpp"

namespace moire::proof {

enum class Fault : std::uint8_t {
  nobody_wrote,   // the output still holds what it held at the start
  added_wrongly,  // the step adds values that do not belong together, or adds one value twice
  wrong_place,    // the right value was written elsewhere, or the value of another chunk was written here
  overwrote,      // the step replaces a value that it should have added to
  incomplete,     // a contribution never arrived
};

// The first output that is wrong.
struct Wrong {
  std::int32_t gpu = 0;
  std::int64_t chunk = 0;  // of the GPU's output
  std::vector<Contribution> expected;
  std::vector<Contribution> found;  // the contributions that the output holds
  bool undefined = false;           // the output depends on memory that held no data
  Fault fault = Fault::incomplete;
  StepAt by;      // the step at fault, if one was found
  StepAt sender;  // the step that sent the data which `by` received
};

// A step that reads a chunk which nothing has written.
struct UnwrittenRead {
  StepAt at;
  ir::Buffer buffer = ir::Buffer::input;
  std::int64_t chunk = 0;
};

struct Result {
  bool stated = false;             // the collective defines a result
  std::uint64_t wrong_chunks = 0;  // number of wrong output chunks of all GPUs
  std::optional<Wrong> first_wrong;
  std::uint64_t unwritten_reads = 0;
  std::optional<UnwrittenRead> first_unwritten;
  bool correct() const { return wrong_chunks == 0; }
};

// Runs the program and returns which outputs are wrong and which reads are of unwritten memory. `order` must be the
// result of schedule() for the same cells_per_call.
Result execute(const Program& program, const Layout& layout, const Goal& goal, const std::vector<std::uint32_t>& order,
               std::uint32_t cells_per_call);

}  // namespace moire::proof
