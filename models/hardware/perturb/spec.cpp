#include "models/hardware/perturb/spec.hpp"

#include <fmt/format.h>

#include "sim/config/spec.hpp"

namespace moire::perturb {

namespace {

// Describes the keys that select ranks, NICs or links. `named` is the key for names or numbers.
template <class Spec, class Member>
void describe_who(config::Describer<Spec>& d, const char* named, Member member, const std::string& which,
                  const char* example) {
  d.field(named, member, which).example(example).optional();
  if constexpr (requires { &Spec::nodes; })
    d.field("nodes", &Spec::nodes, "All GPUs or NICs of these nodes").optional();
  d.field("count", &Spec::count,
          "Number of affected parts, drawn with the seed; a larger number includes the parts of a smaller one")
      .range(1, 1 << 24)
      .optional();
  d.field("share", &Spec::share, "Share of the parts that are affected, drawn with the seed: `1 %`; at least one part")
      .range(1e-6, 1)
      .optional();
  d.check([named](const Spec& s) -> std::optional<config::Problem> {
    int keys = s.count.has_value() + s.share.has_value();
    if constexpr (requires { s.nodes; }) keys += s.nodes.has_value();
    if constexpr (requires { s.ranks; }) keys += s.ranks.has_value();
    if constexpr (requires { s.nics; }) keys += s.nics.has_value();
    if constexpr (requires { s.names; }) keys += s.names.has_value();
    if (keys <= 1) return std::nullopt;
    return config::Problem{
        fmt::format("{} keys select who is affected", keys),
        fmt::format(
            "write one of {}, {}count, share, or none of them for all", named, requires { s.nodes; } ? "nodes, " : "")};
  });
}

}  // namespace

void StartSpec::describe(config::Describer<StartSpec>& d) {
  d.component("start_skew", "Ranks whose hosts begin the program after time 0.");
  describe_who(d, "ranks", &StartSpec::ranks, "Numbers of the affected ranks", "[3, 17]");
  d.field("delay", &StartSpec::delay,
          "How much later the hosts begin; if several entries name a rank, the delays add up");
}

void SlowGpuSpec::describe(config::Describer<SlowGpuSpec>& d) {
  d.component("slow_gpu",
              "GPUs that run at a fraction of their clock, with everything that scales with it (`moire explain gpu`).");
  describe_who(d, "ranks", &SlowGpuSpec::ranks, "Numbers of the affected ranks", "[3, 17]");
  d.field("clock", &SlowGpuSpec::clock,
          "Clock relative to the GPU's file; if several entries name a GPU, the values are multiplied");
}

void SlowPortSpec::describe(config::Describer<SlowPortSpec>& d) {
  d.component("slow_port", "GPUs whose scale-up links (NVLink, xGMI, PCIe) are slower, in both directions.");
  describe_who(d, "ranks", &SlowPortSpec::ranks, "Numbers of the affected ranks", "[3, 17]");
  d.field("bandwidth", &SlowPortSpec::bandwidth,
          "Bandwidth relative to the GPU's file. A link of a full mesh is as fast as the slower of its two ends");
}

void SlowNicSpec::describe(config::Describer<SlowNicSpec>& d) {
  d.component("slow_nic", "NICs that are slower, in both directions.");
  describe_who(d, "nics", &SlowNicSpec::nics,
               "Numbers of these NICs in the system: number of the node x NICs per node + number in the node",
               "[0, 9]");
  d.field("bandwidth", &SlowNicSpec::bandwidth,
          "Payload bandwidth relative to the NIC's file (the lower of wire and PCIe); message rates and latencies stay "
          "the same");
}

void SlowLinkSpec::describe(config::Describer<SlowLinkSpec>& d) {
  d.component(
      "slow_link",
      "Slower links of the fabric, other than those of NICs: between leaf and spine, or between points of a torus.");
  describe_who(d, "names", &SlowLinkSpec::names,
               "Names of these links, each of which is one direction: leaf0.spine2.up, leaf0.spine2.down, node5.d0+. "
               "With adaptive routing the links of a leaf to all spines are one link, that of spine0",
               "[leaf0.spine2.up]");
  d.field("bandwidth", &SlowLinkSpec::bandwidth, "Bandwidth relative to the fabric's description");
}

void PerturbSpec::describe(config::Describer<PerturbSpec>& d) {
  d.component("perturb", "Stragglers and noise: what is late or slow in a run, named or drawn with a seed.");
  d.field("seed", &PerturbSpec::seed,
          "Seed of all draws; each affected part has its own random number, which other entries do not change")
      .or_default();
  d.field("start", &PerturbSpec::start, "Hosts that begin late").optional();
  d.field("gpus", &PerturbSpec::gpus, "GPUs with a lower clock").optional();
  d.field("ports", &PerturbSpec::ports, "GPUs with slower scale-up links").optional();
  d.field("nics", &PerturbSpec::nics, "Slower NICs").optional();
  d.field("links", &PerturbSpec::links, "Slower links of the fabric").optional();
}

}  // namespace moire::perturb
