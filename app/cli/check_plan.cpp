#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/cli/checked.hpp"
#include "models/algorithms/mscclpp/check.hpp"
#include "models/algorithms/mscclpp/reader.hpp"
#include "sim/formats/file.hpp"

namespace moire::cli {

namespace {

using mscclpp::Fault;

struct Counts {
  std::size_t blocks = 0;
  std::size_t most_blocks = 0;
  std::size_t operations = 0;
  std::size_t most_operations = 0;
};

Counts count(const mscclpp::Plan& plan) {
  Counts counts;
  for (const mscclpp::Gpu& gpu : plan.gpus) {
    counts.blocks += gpu.blocks.size();
    counts.most_blocks = std::max(counts.most_blocks, gpu.blocks.size());
    for (const mscclpp::Block& block : gpu.blocks) {
      std::size_t operations = 0;
      for (const mscclpp::Operation& op : block.operations) operations += 1 + op.inner.size();
      counts.operations += operations;
      counts.most_operations = std::max(counts.most_operations, operations);
    }
  }
  return counts;
}

bool inside_call(const mscclpp::Verdict& verdict) {
  return std::any_of(verdict.faults.begin(), verdict.faults.end(),
                     [](const Fault& fault) { return fault.kind == Fault::Kind::race && !fault.after_call; });
}

std::string result_of(const mscclpp::Plan& plan, const mscclpp::Verdict& verdict) {
  if (verdict.has(Fault::Kind::deadlock)) return "unchecked (deadlock)";
  if (verdict.has(Fault::Kind::wrong) || verdict.has(Fault::Kind::unwritten)) return "wrong";
  if (!verdict.states_result)
    return fmt::format("unchecked ({} does not define a result)", msccl::to_string(plan.collective));
  return "correct";
}

constexpr const char* shown_kind = "MSCCL++ plan";

Checked checked_of(const std::string& file, const mscclpp::Plan& plan, const mscclpp::Verdict& verdict) {
  const Counts counts = count(plan);
  const std::string_view collective = msccl::to_string(plan.collective);
  const char* protocol = plan.packets ? "LL" : "Simple";
  const std::string result = result_of(plan, verdict);
  const bool races = verdict.has(Fault::Kind::race);
  const bool deadlock = verdict.has(Fault::Kind::deadlock);
  report::Cell::List faults;
  for (const Fault& fault : verdict.faults)
    faults.emplace_back(report::Cell::Record{{"line", fault.line}, {"what", fault.what}});
  return judged(
      file, shown_kind, verdict.faults.empty(),
      {{"collective", fmt::format("{}, {} rank{}, {}, {}", collective, plan.ranks(), plan.ranks() == 1 ? "" : "s",
                                  protocol, plan.in_place ? "in place" : "out of place")},
       {"thread blocks", fmt::format("{}, at most {} per GPU", counts.blocks, counts.most_blocks)},
       {"operations", fmt::format("{}, at most {} per thread block", counts.operations, counts.most_operations)},
       {"result", result},
       {"races", !races                 ? "none"
                 : inside_call(verdict) ? "yes"
                                        : "with accesses after the call"},
       {"deadlock", deadlock ? "yes" : "never"}},
      {{"name", plan.name},
       {"schema", plan.schema},
       {"coll", collective},
       {"proto", protocol},
       {"ngpus", plan.ranks()},
       {"inplace", plan.in_place ? 1 : 0},
       {"max_tbs_per_gpu", counts.most_blocks},
       {"operations", counts.operations},
       {"max_operations_per_tb", counts.most_operations},
       {"result", result},
       {"races", races},
       {"races_inside_call", inside_call(verdict)},
       {"deadlock", deadlock},
       {"faults", std::move(faults)}});
}

}  // namespace

bool is_plan(const std::string& file) { return std::filesystem::path(file).extension() == ".json"; }

Checked check_plan(const std::string& file, config::Diagnostics& diagnostics) {
  const auto text = formats::read_file({.file = file}, mscclpp::most_plan_bytes, diagnostics);
  if (!text) return refused(file, shown_kind);
  const auto plan = mscclpp::read_plan(file, *text, diagnostics);
  if (!plan) return refused(file, shown_kind);
  const mscclpp::Verdict verdict = mscclpp::check(*plan, diagnostics);
  const bool keeps_rules = diagnostics.ok();
  mscclpp::report(*plan, verdict, diagnostics);
  return keeps_rules ? checked_of(file, *plan, verdict) : refused(file, shown_kind);
}

}  // namespace moire::cli
