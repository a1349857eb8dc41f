#include "app/cli/check_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/cli/exit_status.hpp"
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
  if (!verdict.states_result) return fmt::format("unchecked ({} asks for nothing)", msccl::to_string(plan.collective));
  return "correct";
}

std::string table_of(const std::string& file, const mscclpp::Plan& plan, const mscclpp::Verdict& verdict) {
  const Counts counts = count(plan);
  std::string text = fmt::format("{}: {} (MSCCL++ plan)\n", file, verdict.faults.empty() ? "ok" : "refused");
  const auto row = [&](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<14}{}\n", name, value);
  };
  row("collective", fmt::format("{}, {} rank{}, {}, {}", msccl::to_string(plan.collective), plan.ranks(),
                                plan.ranks() == 1 ? "" : "s", plan.packets ? "LL" : "Simple",
                                plan.in_place ? "in place" : "out of place"));
  row("thread blocks", fmt::format("{}, at most {} a GPU", counts.blocks, counts.most_blocks));
  row("operations", fmt::format("{}, at most {} a thread block", counts.operations, counts.most_operations));
  row("result", result_of(plan, verdict));
  row("races", !verdict.has(Fault::Kind::race) ? "none" : inside_call(verdict) ? "yes" : "with what follows the call");
  row("deadlock", verdict.has(Fault::Kind::deadlock) ? "yes" : "never");
  return text;
}

nlohmann::ordered_json json_of(const std::string& file, const mscclpp::Plan& plan, const mscclpp::Verdict& verdict) {
  const Counts counts = count(plan);
  nlohmann::ordered_json json = {{"file", file},
                                 {"kind", "MSCCL++ plan"},
                                 {"ok", verdict.faults.empty()},
                                 {"name", plan.name},
                                 {"schema", plan.schema},
                                 {"coll", msccl::to_string(plan.collective)},
                                 {"proto", plan.packets ? "LL" : "Simple"},
                                 {"ngpus", plan.ranks()},
                                 {"inplace", plan.in_place ? 1 : 0},
                                 {"max_tbs_per_gpu", counts.most_blocks},
                                 {"operations", counts.operations},
                                 {"max_operations_per_tb", counts.most_operations},
                                 {"result", result_of(plan, verdict)},
                                 {"races", verdict.has(Fault::Kind::race)},
                                 {"races_inside_call", inside_call(verdict)},
                                 {"deadlock", verdict.has(Fault::Kind::deadlock)},
                                 {"faults", nlohmann::ordered_json::array()}};
  for (const Fault& fault : verdict.faults) json["faults"].push_back({{"line", fault.line}, {"what", fault.what}});
  return json;
}

}  // namespace

bool is_plan(const std::string& file) { return std::filesystem::path(file).extension() == ".json"; }

PlanCheck check_plan(const std::string& file, config::Diagnostics& diagnostics) {
  const nlohmann::ordered_json refused = {{"file", file}, {"kind", "MSCCL++ plan"}, {"ok", false}};
  const auto text = formats::read_file({.file = file}, mscclpp::most_plan_bytes, diagnostics);
  if (!text) return {bad_input, {}, refused};
  const auto plan = mscclpp::read_plan(file, *text, diagnostics);
  if (!plan) return {bad_input, {}, refused};
  const mscclpp::Verdict verdict = mscclpp::check(*plan, diagnostics);
  const bool keeps_rules = diagnostics.ok();
  report(*plan, verdict, diagnostics);
  if (!keeps_rules) return {bad_input, {}, refused};
  return {verdict.faults.empty() ? done : check_failed, table_of(file, *plan, verdict), json_of(file, *plan, verdict)};
}

}  // namespace moire::cli
