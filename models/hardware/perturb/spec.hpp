// `perturb` of a scenario: what of a machine is late or slow, and for whom.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/perturb/distribution.hpp"

namespace moire::perturb {

// At most one of the keys; none: all.
struct RanksSpec {
  std::optional<std::vector<std::int64_t>> ranks;
  std::optional<std::vector<std::int64_t>> nodes;
  std::optional<std::int64_t> count;  // so many, drawn
  std::optional<double> share;        // of all, drawn; at least one
};

struct StartSpec : RanksSpec {
  DelaySpec delay;
  static void describe(config::Describer<StartSpec>& d);
};

struct SlowGpuSpec : RanksSpec {
  ShareSpec clock;
  static void describe(config::Describer<SlowGpuSpec>& d);
};

struct SlowPortSpec : RanksSpec {
  ShareSpec bandwidth;
  static void describe(config::Describer<SlowPortSpec>& d);
};

struct SlowNicSpec {
  std::optional<std::vector<std::int64_t>> nics;  // of the system: node x nics + number in the node
  std::optional<std::vector<std::int64_t>> nodes;
  std::optional<std::int64_t> count;
  std::optional<double> share;
  ShareSpec bandwidth;
  static void describe(config::Describer<SlowNicSpec>& d);
};

struct SlowLinkSpec {
  std::optional<std::vector<std::string>> names;
  std::optional<std::int64_t> count;
  std::optional<double> share;
  ShareSpec bandwidth;
  static void describe(config::Describer<SlowLinkSpec>& d);
};

struct PerturbSpec {
  std::int64_t seed = 1;
  std::vector<StartSpec> start;
  std::vector<SlowGpuSpec> gpus;
  std::vector<SlowPortSpec> ports;
  std::vector<SlowNicSpec> nics;
  std::vector<SlowLinkSpec> links;
  static void describe(config::Describer<PerturbSpec>& d);
};

}  // namespace moire::perturb
