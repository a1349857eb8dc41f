#include "models/algorithms/mscclpp/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/algorithms/mscclpp/memory.hpp"
#include "models/algorithms/mscclpp/reader.hpp"
#include "models/algorithms/mscclpp/rules.hpp"
#include "models/algorithms/mscclpp/work.hpp"
#include "models/algorithms/proof/kept.hpp"
#include "sim/config/units.hpp"
#include "sim/formats/complaints.hpp"

namespace moire::mscclpp {

namespace {

// Adds the faults of a run with the cut `cut` to the verdict. A fault that several cuts show is added once.
void merge(const Plan& plan, Cut cut, Outcome outcome, Verdict& verdict) {
  for (Fault& fault : outcome.faults) {
    if (cut.scratch_slots < cut.slices) {
      fault.what += fmt::format(" (in messages above {}, whose chunks are larger than their scratch)",
                                config::format_quantity(static_cast<double>(more_than_bytes(plan, cut.scratch_slots)),
                                                        config::Dimension::bytes));
    }
    const bool known = std::any_of(verdict.faults.begin(), verdict.faults.end(),
                                   [&fault](const Fault& told) { return fault.what.starts_with(told.what); });
    if (!known) verdict.faults.push_back(std::move(fault));
  }
  verdict.more = std::max(verdict.more, outcome.more);
  verdict.operations += outcome.operations;
}

}  // namespace

bool Verdict::has(Fault::Kind kind) const {
  return std::any_of(faults.begin(), faults.end(), [kind](const Fault& fault) { return fault.kind == kind; });
}

Verdict check(const Plan& plan, config::Diagnostics& diagnostics) {
  Verdict verdict;
  verdict.states_result = ir::states_result(plan.collective);
  check_limits(plan, diagnostics);
  config::Diagnostics broken;
  check_rules(plan, broken);
  const config::Place place{plan.source, plan.gpus.front().line, plan.gpus.front().col};
  if (const std::string why = misfit(plan); !why.empty()) {
    broken.error(place, fmt::format("{}: {}", msccl::to_string(plan.collective), why),
                 "state as many as the collective moves");
  }
  const std::vector<Cut> cuts = cuts_of(plan);
  if (cuts.empty() && broken.ok()) {
    broken.error(place, "the least common multiple of all values of tbg_size is too large",
                 "use values that divide each other");
  }
  for (const Cut cut : cuts) {
    if (!broken.ok()) break;
    if (work_of(plan, cut) > most_work) {
      broken.error(place, "the plan is too large to be checked", "use fewer chunks, operations or GPUs");
    }
  }
  for (const config::Diagnostic& error : broken.sorted()) diagnostics.error(error.place, error.what, error.remedy);
  if (!broken.ok()) return verdict;
  for (const Cut cut : cuts) {
    merge(plan, cut, execute(plan, cut), verdict);
    if (verdict.has(Fault::Kind::deadlock)) break;
  }
  verdict.judged = true;
  return verdict;
}

void report(const Plan& plan, const Verdict& verdict, config::Diagnostics& diagnostics) {
  formats::Complaints complaints(diagnostics);
  for (const Fault& fault : verdict.faults)
    complaints.error(config::Place{plan.source, fault.line, fault.col}, fault.what, fault.remedy);
  for (std::size_t i = 0; i < verdict.more; ++i)
    complaints.error(config::Place{plan.source, 0, 0}, {}, {});  // an error without a text is only counted
}

std::shared_ptr<const config::Diagnostics> proved(const Plan& plan, const std::string& text) {
  static proof::Kept<std::pair<std::string, std::string>, config::Diagnostics> kept;
  return kept.get({plan.source->name, text}, plan.name, [&] {
    config::Diagnostics found;
    report(plan, check(plan, found), found);
    return found;
  });
}

std::string check_plan_text(const std::string& name, const std::string& text, config::Diagnostics& diagnostics) {
  const auto plan = read_plan(name, text, diagnostics);
  if (!plan) return {};
  const Verdict verdict = check(*plan, diagnostics);
  report(*plan, verdict, diagnostics);
  if (!diagnostics.ok()) return {};
  std::size_t blocks = 0;
  for (const Gpu& gpu : plan->gpus) blocks += gpu.blocks.size();
  return fmt::format("MSCCL++ plan, {}, {} GPU{}, {} thread blocks, {} operations run{}",
                     msccl::to_string(plan->collective), plan->gpus.size(), plan->gpus.size() == 1 ? "" : "s", blocks,
                     verdict.operations,
                     verdict.states_result ? ", the result is right" : ", the collective defines no result");
}

}  // namespace moire::mscclpp
