// The simulated side of a comparison: records what a replay reports to its observer, for each kernel.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/evidence/wg_compare/record.hpp"
#include "sim/program/observer.hpp"

namespace moire::wg_compare {

// Separates tasks: the work phases of a workgroup's tasks come in the same order, so a new task begins where the first
// phase occurs again, where stores go to another peer, and after anything but work (release, wait, put). Posted work
// does not count as time of a task, and a phase that only stores begins no task if the open task has loaded.
class Recorder final : public program::Observer {
 public:
  // For a program with this number of ranks, which must outlive the recorder.
  explicit Recorder(Rank ranks) : ranks_(ranks) {}
  void workgroup(const program::WorkgroupSpan& span) override;
  void put(const program::PutSpan& span) override;

  std::vector<std::string> kernels() const;  // those that did work, sorted by name

  // The record of the kernel with this name, or of the only one that did work. Empty if no kernel did work, or if
  // several did and none has this name. Messages over the network name no kernel, so they count for whichever is
  // chosen.
  std::optional<Record> record(const std::string& kernel) const;

 private:
  struct OpenTask {
    std::size_t task;              // index in the record
    std::string_view first_phase;  // points to the name of one of the program's shapes
    Rank peer;
    bool loads;  // its first phase does not only store
    bool over;   // a release, a wait or a put followed
  };
  struct Kernel {
    std::map<std::pair<Rank, std::int64_t>, OpenTask> open;  // by workgroup
    Record record;
    Time first = Time::max();
    Time last;
  };
  static void work(Kernel& kernel, const program::WorkgroupSpan& span);

  Rank ranks_;
  std::map<std::string, Kernel, std::less<>> kernels_;
  std::vector<Store> puts_;
};

}  // namespace moire::wg_compare
