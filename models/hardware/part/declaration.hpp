// What a part declares about itself, independent of a machine: the metrics it adds to a run, the kinds of time that
// queues can lose by sharing it, and its section of a timeline. A timeline also shows the load of each capacity of the
// part, as a track with the capacity's name.
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
  std::string_view name;  // ends in its unit, if it has one
  std::string_view meaning;
};

// A kind of resource by whose sharing queues lose time. A counterfactual run gives every queue its own copy of the
// resource. The time by which a queue ends earlier than in the run before is what the queue lost to this kind. Each
// counterfactual run separates one more kind than the run before, in the order of the parts.
struct BlameKind {
  std::string_view key;   // its name in Apart::kinds
  std::string_view lost;  // the LOST part of the metric <queue>_lost_<LOST>_us
  std::string_view meaning;
  // Name under which the wait for a kernel's first workgroup is reported separately; empty: `lost` includes the wait.
  std::string_view waited = {};
  std::string_view waited_meaning = {};
};

// A rule that scales the value of `key` with the value of `of`. If a change (--set, an axis of a sweep, a variant) sets
// `of` and not `key`, the value of `key` is multiplied by (new value of `of` / old value of `of`)^power. If no change
// sets `of`, all values are those of the file.
struct Follow {
  std::string_view key;  // path from the system's node: "gpu.compute.matrix_16bit"
  // Path of the other value. `gpu.compute.cus` and `gpu.compute.group_count` are no keys: they are computed from
  // gpu.compute.groups.
  std::string_view of;
  double power = 1;
  std::string_view why;
  std::string_view only_where = {};  // path of a flag that must be true: "gpu.l2.in_groups"
};

// The parameter `key` allows more than the parameter `by`, so the full value of `key` has no effect. Both keys are
// paths from the system.
struct Limit {
  std::string key;  // "node.nic.bandwidth"
  std::string by;   // "node.nic.pcie_bandwidth"
  std::string at;   // what `by` allows: "53.6 GB/s"
};

// Where a timeline shows activity of the part: a section in every GPU's tracks, with one track per unit.
struct TimelineSection {
  program::SpanKind spans;
  std::string_view name;  // "CUs"
  std::string_view unit;  // prefix of track numbers: "CU"
};

struct Declaration {
  std::string_view name;
  std::vector<MetricInfo> traffic{};   // traffic metrics, printed before `occupied`
  std::vector<MetricInfo> occupied{};  // shares of the run's time during which memory, a port or a link was in use
  std::vector<BlameKind> blame{};
  std::vector<Follow> follows{};
  // Keys (paths from the system) that only affect this part. They have no effect in a run in which all metrics of this
  // part are zero.
  std::vector<std::string_view> felt_by_metrics{};
  std::vector<TimelineSection> timeline{};
};

// The kinds of resource (BlameKind::key) of which every queue has its own copy in a counterfactual run. `kinds` is
// empty if all queues share all resources, as on a real machine.
struct Apart {
  std::uint32_t queues = 1;
  std::vector<std::string_view> kinds{};

  bool has(std::string_view key) const { return std::find(kinds.begin(), kinds.end(), key) != kinds.end(); }
};

// Traffic of a program, counted by the replay.
struct Traffic {
  std::uint64_t puts = 0;
  Bytes put_bytes;
  Bytes scale_up_bytes;  // payload of peer stores and DMA copies between GPUs of a node
  Bytes host_bytes;      // of copies into and out of the memory of hosts
};

}  // namespace moire::part
