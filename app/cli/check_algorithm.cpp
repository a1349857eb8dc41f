#include "app/cli/check_algorithm.hpp"

#include <fmt/format.h>

#include "app/cli/exit_status.hpp"
#include "models/algorithms/msccl/check.hpp"
#include "models/algorithms/msccl/xml_reader.hpp"
#include "sim/config/units.hpp"

namespace moire::cli {

namespace {

std::string size_text(std::uint64_t bytes) {
  return config::format_quantity(static_cast<double>(bytes), config::Dimension::bytes);
}

std::string plural(std::uint64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

std::string result_text(const msccl::Result& result, const msccl::Algorithm& algorithm) {
  if (!result.stated) return fmt::format("unchecked ({} asks for nothing)", msccl::to_string(algorithm.collective));
  return result.correct() ? "correct" : "wrong";
}

std::string deadlock_text(const msccl::Verdict& verdict, const msccl::Algorithm& algorithm) {
  const msccl::Deadlock& deadlock = verdict.deadlock;
  if (deadlock.never()) return "never";
  if (deadlock.always()) return "at every size";
  std::string text =
      fmt::format("above {}, where a call carries {} or less and a connection holds {} calls",
                  size_text(*deadlock.above_bytes), plural(deadlock.chunks_per_call_le, "chunk"), verdict.fifo.calls);
  if (algorithm.max_bytes > 0 && algorithm.max_bytes <= *deadlock.above_bytes)
    text += fmt::format("; the file is for {} at most", size_text(algorithm.max_bytes));
  return text;
}

std::string table_of(const std::string& file, const msccl::Algorithm& algorithm, const msccl::Verdict& verdict,
                     bool accepted) {
  const msccl::Counts& counts = verdict.counts;
  std::string text = fmt::format("{}: {} (MSCCL algorithm)\n", file, accepted ? "ok" : "refused");
  const auto row = [&](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<14}{}\n", name, value);
  };
  row("collective",
      fmt::format("{}, {}, {}, {}, {}", msccl::to_string(algorithm.collective),
                  plural(static_cast<std::uint64_t>(algorithm.ranks()), "rank"), msccl::to_string(algorithm.protocol),
                  plural(static_cast<std::uint64_t>(algorithm.channels), "channel"),
                  plural(static_cast<std::uint64_t>(algorithm.chunks), "chunk")));
  row("thread blocks", fmt::format("{}, at most {} a GPU", counts.blocks, counts.most_blocks));
  row("steps", fmt::format("{}, at most {} a thread block", counts.steps, counts.most_steps));
  row("connections", std::to_string(counts.connections));
  for (const msccl::PatternVerdict& p : verdict.patterns)
    row(p.pattern == msccl::CallPattern::in_place ? "in place" : "out of place", result_text(p.result, algorithm));
  if (!verdict.patterns.empty()) row("races", verdict.races() == 0 ? "none" : std::to_string(verdict.races()));
  row("deadlock", deadlock_text(verdict, algorithm));
  if (!verdict.deadlock.always() && !verdict.hangs_at_bytes) {
    for (const std::string& line : describe(algorithm, verdict, verdict.deadlock)) row("", line);
  }
  return text;
}

nlohmann::ordered_json step_json(const msccl::Algorithm& algorithm, const msccl::StepAt& at) {
  return {{"gpu", at.gpu},
          {"tb", at.block},
          {"step", at.step},
          {"line", algorithm.gpus[at.gpu].blocks[at.block].steps[at.step].line}};
}

nlohmann::ordered_json access_json(const msccl::Algorithm& algorithm, const msccl::Access& access) {
  auto json = step_json(algorithm, access.at);
  json["buffer"] = msccl::to_string(access.buffer);
  json["chunk"] = access.chunk;
  json["access"] = access.writes ? "write" : "read";
  return json;
}

nlohmann::ordered_json contributions_json(const std::vector<msccl::Contribution>& contributions) {
  auto list = nlohmann::ordered_json::array();
  for (const msccl::Contribution& c : contributions)
    list.push_back({{"gpu", c.gpu}, {"chunk", c.chunk}, {"times", c.times}});
  return list;
}

nlohmann::ordered_json pattern_json(const msccl::Algorithm& algorithm, const msccl::PatternVerdict& p) {
  nlohmann::ordered_json json = {{"inplace", p.pattern == msccl::CallPattern::in_place ? 1 : 0},
                                 {"result", p.result.correct() ? (p.result.stated ? "correct" : "unchecked") : "wrong"},
                                 {"wrong_chunks", p.result.wrong_chunks},
                                 {"unwritten_reads", p.result.unwritten_reads},
                                 {"races", p.races.count}};
  if (const auto& wrong = p.result.first_wrong) {
    nlohmann::ordered_json first = {{"gpu", wrong->gpu},
                                    {"chunk", wrong->chunk},
                                    {"expected", contributions_json(wrong->expected)},
                                    {"found", contributions_json(wrong->found)}};
    if (wrong->by.known()) first["by"] = step_json(algorithm, wrong->by);
    if (wrong->sender.known()) first["sender"] = step_json(algorithm, wrong->sender);
    json["first_wrong"] = first;
  }
  auto races = nlohmann::ordered_json::array();
  for (const msccl::Race& race : p.races.told)
    races.push_back({access_json(algorithm, race.first), access_json(algorithm, race.second)});
  if (!races.empty()) json["first_races"] = races;
  return json;
}

nlohmann::ordered_json json_of(const std::string& file, const msccl::Algorithm& algorithm,
                               const msccl::Verdict& verdict, bool accepted) {
  const msccl::Counts& counts = verdict.counts;
  std::string result = verdict.correct() ? "correct" : "wrong";
  if (verdict.deadlock.always()) {
    result = "unchecked(deadlock)";
  } else if (!stated_shape(algorithm)) {
    result = fmt::format("unchecked({})", msccl::to_string(algorithm.collective));
  }
  nlohmann::ordered_json json = {{"file", file},
                                 {"kind", "MSCCL algorithm"},
                                 {"ok", accepted},
                                 {"name", algorithm.name},
                                 {"coll", msccl::to_string(algorithm.collective)},
                                 {"proto", msccl::to_string(algorithm.protocol)},
                                 {"ngpus", algorithm.ranks()},
                                 {"nchannels", algorithm.channels},
                                 {"nchunksperloop", algorithm.chunks},
                                 {"inplace", algorithm.in_place ? 1 : 0},
                                 {"outofplace", algorithm.out_of_place ? 1 : 0},
                                 {"max_tbs_per_gpu", counts.most_blocks},
                                 {"steps", counts.steps},
                                 {"max_steps_per_tb", counts.most_steps},
                                 {"connections", counts.connections},
                                 {"types", counts.types},
                                 {"result", result},
                                 {"races", verdict.races()},
                                 {"fifo_calls", verdict.fifo.calls},
                                 {"hangs_if_chunks_per_call_le", verdict.deadlock.chunks_per_call_le},
                                 {"hangs_above_bytes", nullptr}};
  if (verdict.deadlock.above_bytes) json["hangs_above_bytes"] = *verdict.deadlock.above_bytes;
  if (verdict.bytes) {
    json["bytes"] = *verdict.bytes;
    json["hangs_at_bytes"] = verdict.hangs_at_bytes;
  }
  json["patterns"] = nlohmann::ordered_json::array();
  for (const msccl::PatternVerdict& p : verdict.patterns) json["patterns"].push_back(pattern_json(algorithm, p));
  json["cycle"] = describe(algorithm, verdict, verdict.deadlock);
  return json;
}

}  // namespace

AlgorithmCheck check_algorithm(const std::string& file, std::optional<std::uint64_t> bytes,
                               config::Diagnostics& diagnostics) {
  const auto algorithm = msccl::read_xml(file, diagnostics);
  if (!algorithm) return {bad_input, {}, {{"file", file}, {"kind", "MSCCL algorithm"}, {"ok", false}}};
  const msccl::Verdict verdict = msccl::check(*algorithm, {bytes, {}});
  report(*algorithm, verdict, diagnostics);
  const bool accepted = verdict.accepted(*algorithm);
  return {accepted ? done : check_failed, table_of(file, *algorithm, verdict, accepted),
          json_of(file, *algorithm, verdict, accepted)};
}

}  // namespace moire::cli
