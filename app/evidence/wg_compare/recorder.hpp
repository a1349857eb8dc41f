// The simulated side of a comparison: what a replay tells its observer, kept kernel by kernel.
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

// Where one task ends and the next begins: a workgroup goes through the work phases of its tasks in the same order, so
// a new one begins where its first phase comes again, where the stores go to another peer, and after anything but work
// (release, wait, put). Posted work is part of no task's time.
class Recorder final : public program::Observer {
 public:
  // Of a program of `ranks`, which outlives it.
  explicit Recorder(Rank ranks) : ranks_(ranks) {}
  void workgroup(const program::WorkgroupSpan& span) override;
  void put(const program::PutSpan& span) override;

  std::vector<std::string> kernels() const;  // that did work, by name

  // Of the kernel of that name; where only one did work, that one. Messages over the network count to whichever is
  // taken, since they name no kernel. Nothing where no kernel, or more than one and none of that name, did work.
  std::optional<Record> record(const std::string& kernel) const;

 private:
  struct OpenTask {
    std::size_t task;              // in the record
    std::string_view first_phase;  // names a shape of the program
    Rank peer;
  };
  struct Kernel {
    std::map<std::pair<Rank, std::int64_t>, OpenTask> open;  // of workgroups
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
