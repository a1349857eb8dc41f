// Records what each kernel of a simulation does. The comparison with a trace uses this record.
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

// Divides the work phases of a workgroup into tasks, because a replay reports phases only. All tasks of a workgroup
// have the same phases in the same order. Therefore a new task begins where the first phase of a task occurs again. A
// new task also begins where stores go to another peer, and after any phase other than work (release, wait, put). The
// time of posted work does not belong to a task. A phase that only stores begins no task if the last task has loaded:
// it stores the results of that task.
class Recorder final : public program::Observer {
 public:
  // `ranks` is the number of ranks of the recorded program. The program must outlive the recorder.
  explicit Recorder(Rank ranks) : ranks_(ranks) {}
  void workgroup(const program::WorkgroupSpan& span) override;
  void put(const program::PutSpan& span) override;

  std::vector<std::string> kernels() const;  // returns the names of the kernels that did work, sorted

  // Returns the record of the kernel with this name, or of the only kernel that did work. Returns nothing if no kernel
  // did work, or if several did and none has this name. Messages over the network name no kernel, so every record
  // contains all of them.
  std::optional<Record> record(const std::string& kernel) const;

 private:
  struct OpenTask {
    std::size_t task;              // index in the record
    std::string_view first_phase;  // points to a name that the program owns
    Rank peer;
    bool loads;  // the first phase loads or computes
    bool over;   // a release, a wait or a put has followed
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
