// The faults that the run of a plan (execution.hpp) finds.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

struct Fault {
  enum class Kind {
    deadlock,
    race,
    unwritten,  // a read of memory that nothing has written
    wrong,      // an output chunk does not hold what the collective requires
  } kind = Kind::race;
  bool after_call = false;  // of a race: the access may still happen after the call, when the user accesses memory
  int line = 0;
  int col = 0;
  std::string what;
  std::string remedy;
};

// An operation of a thread block.
struct Site {
  std::uint32_t gpu = 0;
  std::uint32_t block = 0;
  std::int32_t op = -1;     // -1: the call itself, before its first operation
  std::int32_t inner = -1;  // index within the pipeline `op`; -1 outside of pipelines
};

// Returns the operation at a site, which must not be a call.
const Operation& operation_at(const Plan& plan, const Site& site);

// Returns the name of a site in messages: that of its operation (where() in plan.hpp), or "the call of gpu 1".
std::string name_of(const Plan& plan, const Site& site);

// Collects the faults of a run. As many are listed as a text may have errors (formats::Complaints::told). Further ones
// are only counted.
class Faults {
 public:
  explicit Faults(const Plan& plan) : plan_(plan) {}

  // Adds a fault of the operation at `site`, unless a fault with this key was added before.
  void add(Fault::Kind kind, const Site& site, std::string what, std::string remedy, const std::string& key,
           bool after_call = false);

  std::vector<Fault> take() { return std::move(listed_); }
  std::size_t more() const { return more_; }  // number of faults that are not listed

 private:
  const Plan& plan_;
  std::set<std::string> keys_;
  std::vector<Fault> listed_;
  std::size_t more_ = 0;
};

}  // namespace moire::mscclpp
