// What a part says about itself, without a machine: the metrics it adds to a run, and what a queue can lose time to
// when it shares the part with others, and its section of a timeline. Every capacity of a part is a track there by its
// name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/quantity.hpp"
#include "sim/program/observer.hpp"

namespace moire::part {

struct MetricInfo {
  std::string_view name;  // ends in its unit, where it has one
  std::string_view meaning;
};

// A kind of sharing. Counterfactual runs give every queue a copy of its own of what the part shares; what a queue ends
// earlier by then, it has lost to this kind. Kinds are taken apart one after the other, in the order of the parts.
struct BlameKind {
  std::string_view key;   // names it in Apart
  std::string_view lost;  // the part of the lost time, in metric <queue>_lost_<lost>_us
  std::string_view meaning;
  // Where a kernel's wait for its first workgroup's place is told apart from the rest: the name of that, or empty.
  std::string_view waited = {};
  std::string_view waited_meaning = {};
};

// A value that goes with another one. Where a change (--set, an axis, a variant) gives the other one anew and says
// nothing of this, it is what the file says x (new / old)^power. The file's own values stand as they are.
struct Follow {
  std::string_view key;  // from a system's node down: "gpu.compute.matrix_16bit"
  // The same; `gpu.compute.cus` and `gpu.compute.group_count` are counted from the groups.
  std::string_view of;
  double power = 1;
  std::string_view why;
  std::string_view only_where = {};  // a flag beside it that has to be true
};

// A parameter whose full effect another one, which is lower, keeps back. Keys from the system down.
struct Limit {
  std::string key;  // "node.nic.bandwidth"
  std::string by;   // "node.nic.pcie_bandwidth"
  std::string at;   // what that allows: "53.6 GB/s"
};

// Where a timeline shows what happens on the part: a section of every GPU's tracks, with a track for each unit.
struct TimelineSection {
  program::SpanKind spans;
  std::string_view name;  // "CUs"
  std::string_view unit;  // before a track's number: "CU"
};

struct Declaration {
  std::string_view name;
  std::vector<MetricInfo> traffic{};   // what was moved; printed before what was busy
  std::vector<MetricInfo> occupied{};  // shares of the time in which something was used
  std::vector<BlameKind> blame{};
  std::vector<Follow> follows{};
  // Keys from the system down that are for this part alone: nothing of them is felt where its metrics are all zero.
  std::vector<std::string_view> felt_by_metrics{};
  std::vector<TimelineSection> timeline{};
};

// Of which kinds every queue of the program has a copy of its own: nothing in a real machine.
struct Apart {
  std::uint32_t queues = 1;
  std::vector<std::string_view> kinds{};

  bool has(std::string_view key) const { return std::find(kinds.begin(), kinds.end(), key) != kinds.end(); }
};

// What a replay counted of a program's own traffic.
struct Traffic {
  std::uint64_t puts = 0;
  Bytes put_bytes;
  Bytes scale_up_bytes;  // payload of peer stores and DMA copies between GPUs of a node
};

}  // namespace moire::part
