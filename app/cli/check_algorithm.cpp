#include <fmt/format.h>

#include "app/cli/checked.hpp"
#include "models/algorithms/msccl/check.hpp"
#include "models/algorithms/msccl/xml_reader.hpp"
#include "sim/config/units.hpp"

namespace moire::cli {

namespace {

using report::Cell;
using List = Cell::List;
using Record = Cell::Record;
using Found = std::vector<std::pair<std::string, std::string>>;

std::string size_text(std::uint64_t bytes) {
  return config::format_quantity(static_cast<double>(bytes), config::Dimension::bytes);
}

std::string plural(std::uint64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

std::string result_text(const proof::Result& result, const msccl::Algorithm& algorithm) {
  if (!result.stated)
    return fmt::format("unchecked ({} does not define a result)", msccl::to_string(algorithm.collective));
  return result.correct() ? "correct" : "wrong";
}

std::string deadlock_text(const msccl::Verdict& verdict, const msccl::Algorithm& algorithm) {
  const msccl::Deadlock& deadlock = verdict.deadlock;
  if (deadlock.never()) return "never";
  if (deadlock.always()) return "at every size";
  std::string text =
      fmt::format("above {}, if a call carries at most {} and a connection holds {} calls",
                  size_text(*deadlock.above_bytes), plural(deadlock.chunks_per_call_le, "chunk"), verdict.fifo.calls);
  if (algorithm.max_bytes > 0 && algorithm.max_bytes <= *deadlock.above_bytes)
    text += fmt::format("; the file is for at most {}", size_text(algorithm.max_bytes));
  return text;
}

Found found_in(const msccl::Algorithm& algorithm, const msccl::Verdict& verdict) {
  const msccl::Counts& counts = verdict.counts;
  Found found = {{"collective", fmt::format("{}, {}, {}, {}, {}", msccl::to_string(algorithm.collective),
                                            plural(static_cast<std::uint64_t>(algorithm.ranks()), "rank"),
                                            msccl::to_string(algorithm.protocol),
                                            plural(static_cast<std::uint64_t>(algorithm.channels), "channel"),
                                            plural(static_cast<std::uint64_t>(algorithm.chunks), "chunk"))},
                 {"thread blocks", fmt::format("{}, at most {} per GPU", counts.blocks, counts.most_blocks)},
                 {"steps", fmt::format("{}, at most {} per thread block", counts.steps, counts.most_steps)},
                 {"connections", std::to_string(counts.connections)}};
  for (const msccl::PatternVerdict& p : verdict.patterns)
    found.emplace_back(p.pattern == msccl::CallPattern::in_place ? "in place" : "out of place",
                       result_text(p.result, algorithm));
  if (!verdict.patterns.empty())
    found.emplace_back("races", verdict.races() == 0 ? "none" : std::to_string(verdict.races()));
  if (!verdict.patterns.empty() && !verdict.patterns.front().codings.takes.empty())
    found.emplace_back("codings", verdict.coded_right() ? fmt::format("a value is encoded at most {} times in a row",
                                                                      verdict.patterns.front().codings.passes)
                                                        : "wrong");
  found.emplace_back("deadlock", deadlock_text(verdict, algorithm));
  if (!verdict.deadlock.always() && !verdict.hangs_at_bytes) {
    for (const std::string& line : describe(algorithm, verdict, verdict.deadlock)) found.emplace_back("", line);
  }
  return found;
}

Record step_of(const msccl::Algorithm& algorithm, const proof::StepAt& at) {
  return {{"gpu", at.gpu},
          {"tb", at.block},
          {"step", at.step},
          {"line", algorithm.gpus[at.gpu].blocks[at.block].steps[at.step].line}};
}

Record access_of(const msccl::Algorithm& algorithm, const proof::Access& access) {
  Record record = step_of(algorithm, access.at);
  record.push_back({"buffer", msccl::to_string(access.buffer)});
  record.push_back({"chunk", access.chunk});
  record.push_back({"access", access.writes ? "write" : "read"});
  return record;
}

List list_of(const std::vector<proof::Contribution>& contributions) {
  List list;
  for (const proof::Contribution& c : contributions)
    list.emplace_back(Record{{"gpu", c.gpu}, {"chunk", c.chunk}, {"times", c.times}});
  return list;
}

Record pattern_of(const msccl::Algorithm& algorithm, const msccl::PatternVerdict& p) {
  Record record = {{"inplace", p.pattern == msccl::CallPattern::in_place ? 1 : 0},
                   {"result", p.result.correct() ? (p.result.stated ? "correct" : "unchecked") : "wrong"},
                   {"wrong_chunks", p.result.wrong_chunks},
                   {"unwritten_reads", p.result.unwritten_reads},
                   {"races", p.races.count}};
  if (const auto& wrong = p.result.first_wrong) {
    Record first = {{"gpu", wrong->gpu},
                    {"chunk", wrong->chunk},
                    {"expected", list_of(wrong->expected)},
                    {"found", list_of(wrong->found)}};
    if (wrong->by.known()) first.push_back({"by", step_of(algorithm, wrong->by)});
    if (wrong->sender.known()) first.push_back({"sender", step_of(algorithm, wrong->sender)});
    record.push_back({"first_wrong", std::move(first)});
  }
  if (!p.codings.takes.empty()) record.push_back({"codings", p.codings.passes});
  if (const auto& wrong = p.codings.first_wrong) record.push_back({"first_miscoding", step_of(algorithm, wrong->by)});
  List races;
  for (const proof::Race& race : p.races.told)
    races.emplace_back(List{access_of(algorithm, race.first), access_of(algorithm, race.second)});
  if (!races.empty()) record.push_back({"first_races", std::move(races)});
  return record;
}

Record fields_of(const msccl::Algorithm& algorithm, const msccl::Verdict& verdict) {
  const msccl::Counts& counts = verdict.counts;
  std::string result = verdict.correct() ? "correct" : "wrong";
  if (verdict.deadlock.always()) {
    result = "unchecked(deadlock)";
  } else if (!stated_shape(algorithm)) {
    result = fmt::format("unchecked({})", msccl::to_string(algorithm.collective));
  }
  Record types;
  for (const auto& [type, steps] : counts.types) types.push_back({type, steps});
  const auto& above = verdict.deadlock.above_bytes;
  Record fields = {{"name", algorithm.name},
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
                   {"types", std::move(types)},
                   {"result", result},
                   {"races", verdict.races()},
                   {"fifo_calls", verdict.fifo.calls},
                   {"hangs_if_chunks_per_call_le", verdict.deadlock.chunks_per_call_le},
                   {"hangs_above_bytes", above ? Cell(*above) : Cell(nullptr)}};
  if (verdict.bytes) {
    fields.push_back({"bytes", *verdict.bytes});
    fields.push_back({"hangs_at_bytes", verdict.hangs_at_bytes});
  }
  List patterns;
  for (const msccl::PatternVerdict& p : verdict.patterns) patterns.emplace_back(pattern_of(algorithm, p));
  fields.push_back({"patterns", std::move(patterns)});
  fields.push_back({"cycle", describe(algorithm, verdict, verdict.deadlock)});
  return fields;
}

}  // namespace

Checked check_algorithm(const std::string& file, std::optional<std::uint64_t> bytes, config::Diagnostics& diagnostics) {
  constexpr const char* kind = "MSCCL algorithm";
  const auto algorithm = msccl::read_xml(file, diagnostics);
  if (!algorithm) return refused(file, kind);
  const msccl::Verdict verdict = msccl::check(*algorithm, {bytes, {}});
  msccl::report(*algorithm, verdict, diagnostics);
  return judged(file, kind, verdict.accepted(*algorithm), found_in(*algorithm, verdict),
                fields_of(*algorithm, verdict));
}

}  // namespace moire::cli
