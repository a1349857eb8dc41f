// Interprets a script once before it runs. Checks its values, and that every flag is raised at least as often as a wait
// expects.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/workload/own/script.hpp"

namespace moire::own {

namespace {

constexpr std::uint64_t most_phases = 20'000'000;

struct Awaited {
  std::int64_t count = 0;
  Rank rank = 0;
  config::Place place;
};

class Walk {
 public:
  Walk(const Script& script, const program::Program& program, std::vector<Rank>& raised,
       config::Diagnostics& diagnostics)
      : script_(script), program_(program), raised_(raised), diagnostics_(diagnostics), counts_(program.flag_count()) {
    raised_.resize(program.flag_count());
  }

  void run() {
    for (Rank rank = 0; rank < script_.ranks; ++rank) {
      for (std::int64_t workgroup = 0; workgroup < script_.workgroups; ++workgroup) {
        if (!follow(rank, workgroup, script_.begin())) return;
      }
      for (std::int64_t item = 0; item < script_.items; ++item) {
        if (!follow(rank, 0, script_.begin_item(item))) return;
      }
    }
    for (const auto& [flag, awaited] : awaited_) {
      if (counts_[flag] >= awaited.count) continue;
      diagnostics_.error(awaited.place,
                         fmt::format("rank {} waits until flag {} was raised {} times, but it is raised {} times",
                                     awaited.rank, program_.name_of_flag(flag), awaited.count, counts_[flag]),
                         "write as many signals, puts and copies as the count says");
      return;
    }
  }

 private:
  bool follow(Rank rank, std::int64_t workgroup, Cursor cursor) {
    Phase phase;
    try {
      while (script_.next(rank, workgroup, cursor, phase)) {
        if (++phases_ > most_phases) {
          throw ValueError{script_.instructions[cursor.at - 1].place,
                           {fmt::format("the kernel has more than {} million steps", most_phases / 1'000'000),
                            "use fewer and larger steps"}};
        }
        count(rank, phase, script_.instructions[cursor.at - 1].place);
      }
    } catch (const ValueError& error) {
      diagnostics_.error(error.place, fmt::format("{} ({})", error.problem.what, script_.situation(cursor.at - 1)),
                         error.problem.remedy);
      return false;
    }
    return true;
  }

  void count(Rank rank, const Phase& phase, const config::Place& place) {
    if (phase.kind == Phase::Kind::wait) {
      Awaited& awaited = awaited_[phase.flag];
      if (phase.target > awaited.count) awaited = {phase.target, rank, place};
      return;
    }
    if (phase.kind != Phase::Kind::put && phase.kind != Phase::Kind::signal) return;
    if (phase.gate != program::no_flag) {
      raised_[phase.gate] = rank;
      if (++counts_[phase.gate] != phase.gate_target) return;
    }
    raised_[phase.flag] = rank;
    ++counts_[phase.flag];
  }

  const Script& script_;
  const program::Program& program_;
  std::vector<Rank>& raised_;
  config::Diagnostics& diagnostics_;
  std::vector<std::int64_t> counts_;  // how often each flag is raised
  std::map<program::FlagRef, Awaited> awaited_;
  std::uint64_t phases_ = 0;
};

}  // namespace

void check(const Script& script, const program::Program& program, std::vector<Rank>& raised,
           config::Diagnostics& diagnostics) {
  Walk(script, program, raised, diagnostics).run();
}

}  // namespace moire::own
