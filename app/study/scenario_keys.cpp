// Describes the keys of a scenario file.
#include "app/study/scenario.hpp"

namespace moire::study {

void CompareSpec::describe(config::Describer<CompareSpec>& d) {
  d.component("compare", "What the runs are compared with: one of the variants, or an ideal.");
  d.field("to", &CompareSpec::to,
          "Name of the reference variant for reduction and speedup; the ideal is computed from its queues alone")
      .example("bulk_synchronous");
  d.field(
       "compute_only", &CompareSpec::compute_only,
       "Name of the variant that computes and does not communicate. The additional time of another run is its "
       "effective_communication_us, and 1 minus its ratio to that of `to` is the overlap_efficiency (arXiv 2406.06858)")
      .example("gemm_alone")
      .optional();
  d.field("summary", &CompareSpec::summary, "Rows below the comparison, over all points")
      .choices({{"mean", SummaryKind::mean}, {"max", SummaryKind::max}})
      .optional();
  d.field(
       "ideal", &CompareSpec::ideal,
       "overlap: every run is compared with queues that run together without slowing each other down, by the metrics "
       "<queue>_isolated_us to fraction_of_ideal; none: no such comparison. Absent: overlap for programs of two queues")
      .choices({{"overlap", Ideal::overlap}, {"none", Ideal::none}})
      .optional();
  d.field("blame", &CompareSpec::blame,
          "Also report to what each queue lost time, <queue>_lost_<part>_us; this takes up to six simulations per run. "
          "Absent: true if ideal is written as overlap")
      .optional();
  d.field("unperturbed", &CompareSpec::unperturbed,
          "Also simulate every run without its `perturb`, and report how much longer it takes with it: unperturbed_us "
          "and slow_down_percent")
      .or_default();
  d.field("spread", &CompareSpec::spread,
          "Also simulate every run with the fastest and with the slowest GPUs of their type, as far as `spread` of the "
          "GPU's file says: fastest_us and slowest_us")
      .or_default();
}

void ScenarioSpec::describe(config::Describer<ScenarioSpec>& d) {
  d.component("scenario", "The input of `moire run`: a system, a program, and how to vary them.");
  d.field("description", &ScenarioSpec::description, "What the scenario shows; the title of its table");
  d.field("system", &ScenarioSpec::system, "The machine: a file in configs/systems, or its keys")
      .example("../systems/4xh200.yaml");
  d.field("program", &ScenarioSpec::program, "What every rank does").example("{queues: {main: [...]}}");
  d.field("perturb", &ScenarioSpec::perturb,
          "Stragglers and noise: ranks that begin late, slow GPUs, NICs and links (`moire explain perturb`)")
      .example("{gpus: [{ranks: [5], clock: {value: 0.8}}]}")
      .optional();
  d.field("operating_point", &ScenarioSpec::operating_point,
          "The clock at which the program runs: burst, sustained, {clock: 1.5 GHz} or {power_cap: 500 W} (`moire "
          "explain operating_point`). Absent: the setting of the system, or else burst")
      .example("sustained")
      .optional();
  d.field("variants", &ScenarioSpec::variants, "Variants: name to changes, {path: value}; each is run at every point")
      .example("{base: {}, other: {system.network.model: flow}}")
      .optional();
  d.field("sweep", &ScenarioSpec::sweep,
          "Axes, all combinations of which are run: {path: [values]}, or {name: {point: {path: value}}} for points "
          "that change several keys")
      .example("{system.nodes: [2, 4, 8]}")
      .optional();
  d.field("compare", &ScenarioSpec::compare, "How the variants are compared: reduction and speedup")
      .example("{to: base, summary: [mean, max]}")
      .optional();
  d.field("advise", &ScenarioSpec::advise, "What `moire advise` may change (`moire explain advise`)")
      .example("{channels: [4, 8, 16]}")
      .optional();
}

}  // namespace moire::study
