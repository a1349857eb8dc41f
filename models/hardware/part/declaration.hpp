// What a part declares about itself, independent of a machine: the metrics it adds to a run, the kinds of time that
// queues can lose by sharing it, and its section of a timeline. Every capacity of a part is a timeline track with its
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
  std::string_view name;  // ends in its unit, if it has one
  std::string_view meaning;
};

// A kind of sharing. A counterfactual run gives every queue its own copy of what the part shares; the time by which a
// queue then ends earlier was lost to this kind. Kinds are separated one after the other, in the order of the parts.
struct BlameKind {
  std::string_view key;   // its name in Apart
  std::string_view lost;  // the LOST part of the metric <queue>_lost_<LOST>_us
  std::string_view meaning;
  // Set if the wait for a kernel's first workgroup is reported separately: its name, else empty.
  std::string_view waited = {};
  std::string_view waited_meaning = {};
};

// A value that scales with another one. If a change (--set, an axis, a variant) sets the other value and not this one,
// this one becomes its value in the file x (new / old)^power. Values in the file itself are never scaled.
struct Follow {
  std::string_view key;  // path from the system's node: "gpu.compute.matrix_16bit"
  // The other value. `gpu.compute.cus` and `gpu.compute.group_count` are computed from the groups.
  std::string_view of;
  double power = 1;
  std::string_view why;
  std::string_view only_where = {};  // path of a flag that must be true: "gpu.l2.in_groups"
};

// A parameter that has no full effect because another, lower one limits it. Keys are paths from the system.
struct Limit {
  std::string key;  // "node.nic.bandwidth"
  std::string by;   // "node.nic.pcie_bandwidth"
  std::string at;   // the value of the limit: "53.6 GB/s"
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
  std::vector<MetricInfo> occupied{};  // shares of the time during which something was in use
  std::vector<BlameKind> blame{};
  std::vector<Follow> follows{};
  // Keys (paths from the system) that only affect this part: they have no effect in a run whose metrics of this part
  // are all zero.
  std::vector<std::string_view> felt_by_metrics{};
  std::vector<TimelineSection> timeline{};
};

// The kinds of sharing that a counterfactual machine removes, by giving every queue its own copy; empty for a real
// machine.
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
};

}  // namespace moire::part
