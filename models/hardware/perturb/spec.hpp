// The key `perturb` of a scenario: which ranks, GPUs, NICs and links of a machine are late or slow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/perturb/distribution.hpp"

namespace moire::perturb {

// The ranks that an entry affects. At most one of the keys is set. If none is set, the entry affects all ranks.
struct RanksSpec {
  std::optional<std::vector<std::int64_t>> ranks;
  std::optional<std::vector<std::int64_t>> nodes;
  std::optional<std::int64_t> count;  // number of ranks, drawn at random
  std::optional<double> share;        // fraction of all ranks, drawn at random; at least one rank
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
  std::optional<std::vector<std::int64_t>> nics;  // index in the system: node x nics + index in the node
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
