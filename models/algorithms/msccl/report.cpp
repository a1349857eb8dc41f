// Turns verdicts into messages.
#include <fmt/format.h>

#include <algorithm>

#include "models/algorithms/msccl/check.hpp"
#include "models/algorithms/msccl/complaints.hpp"
#include "sim/config/units.hpp"

namespace moire::msccl {

namespace {

using proof::Access;
using proof::Contribution;
using proof::Fault;
using proof::Miscoding;
using proof::Race;
using proof::Races;
using proof::StepAt;
using proof::UnwrittenRead;
using proof::Wrong;

constexpr std::size_t races_told = 5;
constexpr std::size_t waits_told = 8;
constexpr std::size_t contributions_told = 6;

const Step& step_at(const Algorithm& algorithm, const StepAt& at) {
  return algorithm.gpus[at.gpu].blocks[at.block].steps[at.step];
}

// Returns "gpu 0, tb 1, step 2 (line 7)", without the line if the step was not read from a file.
std::string named(const Algorithm& algorithm, const StepAt& at) {
  std::string name = name_of(at.gpu, at.block, at.step);
  if (const std::uint32_t line = step_at(algorithm, at).line; line > 0) name += fmt::format(" (line {})", line);
  return name;
}

// Returns a text such as "i[2] of gpus 0-3, i[2] of gpu 4 twice".
std::string told(const std::vector<Contribution>& contributions, bool undefined) {
  std::string text;
  std::size_t groups = 0;
  for (std::size_t i = 0; i < contributions.size();) {
    const Contribution& first = contributions[i];
    std::size_t end = i + 1;
    while (end < contributions.size() && contributions[end].chunk == first.chunk &&
           contributions[end].times == first.times &&
           contributions[end].gpu == first.gpu + static_cast<std::int32_t>(end - i))
      ++end;
    if (groups++ == contributions_told) {
      text += fmt::format(" and {} more", contributions.size() - i);
      break;
    }
    if (!text.empty()) text += ", ";
    text += end - i == 1 ? fmt::format("i[{}] of gpu {}", first.chunk, first.gpu)
                         : fmt::format("i[{}] of gpus {}-{}", first.chunk, first.gpu, contributions[end - 1].gpu);
    if (first.times == 2) text += " twice";
    if (first.times > 2) text += fmt::format(" {} times", first.times);
    i = end;
  }
  if (undefined) text += text.empty() ? "unwritten data" : " and unwritten data";
  return text;
}

const char* place_of(CallPattern pattern) { return pattern == CallPattern::in_place ? "in place" : "out of place"; }

void tell_wrong(const Algorithm& algorithm, const PatternVerdict& verdict, Complaints& complaints) {
  const Wrong& wrong = *verdict.result.first_wrong;
  std::string what = fmt::format("wrong result {}: output chunk {} of gpu {} must hold {}", place_of(verdict.pattern),
                                 wrong.chunk, wrong.gpu, told(wrong.expected, false));
  const std::string found = told(wrong.found, wrong.undefined);
  if (wrong.by.known() || !wrong.found.empty()) what += ", but holds " + found;
  if (verdict.result.wrong_chunks > 1) what += fmt::format(" ({} chunks are wrong)", verdict.result.wrong_chunks);
  if (!wrong.by.known()) {
    complaints.error(spot(algorithm.gpus[wrong.gpu]), what + "; no step writes it", {});
    return;
  }
  const Step& step = step_at(algorithm, wrong.by);
  std::string who = named(algorithm, wrong.by);
  if (wrong.sender.known()) who += ", from " + named(algorithm, wrong.sender) + ",";
  std::string did;
  switch (wrong.fault) {
    case Fault::nobody_wrote:
    case Fault::incomplete:
      did = who + " wrote it last";
      break;
    case Fault::added_wrongly:
      did = who + " adds data that do not belong to the sum";
      break;
    case Fault::wrong_place:
      did = who + " writes the data to the wrong place";
      break;
    case Fault::overwrote:
      did = who + fmt::format(" overwrites (type {}) data to which it should add", to_string(step.type));
      break;
  }
  complaints.error(spot(step), what, did);
}

void tell_miscoding(const Algorithm& algorithm, const PatternVerdict& verdict, Complaints& complaints) {
  const proof::WrongCoding& wrong = *verdict.codings.first_wrong;
  const auto said = [&]() -> std::pair<const char*, const char*> {
    switch (wrong.fault) {
      case Miscoding::sum:
        return {"adds encoded data", "decode them first"};
      case Miscoding::encoded_twice:
        return {"encodes data that are already encoded", "forward them as they are"};
      case Miscoding::not_encoded:
        return {"decodes data that are not encoded", "copy them"};
      case Miscoding::in_place:
        return {"encodes or decodes chunks onto themselves", "write to scratch or to another buffer"};
      case Miscoding::mixed:
        return {"moves encoded chunks together with chunks that are not encoded", "take two steps"};
      case Miscoding::result:
        break;
    }
    return {"leaves the output encoded", "decode it"};
  }();
  complaints.error(spot(step_at(algorithm, wrong.by)),
                   fmt::format("{} {} ({})", name_of(wrong.by.gpu, wrong.by.block, wrong.by.step), said.first,
                               place_of(verdict.pattern)),
                   said.second);
}

void tell_races(const Algorithm& algorithm, const PatternVerdict& verdict, bool as_errors, Complaints& complaints) {
  const Races& races = verdict.races;
  for (std::size_t i = 0; i < std::min(races.told.size(), races_told); ++i) {
    const Race& race = races.told[i];
    const auto does = [](const Access& a) {
      return fmt::format("{} {}[{}]", a.writes ? "writes" : "reads", to_string(a.buffer), a.chunk);
    };
    std::string what =
        race.first.at == race.second.at
            ? fmt::format("race {}: {} {} and {}, which is the same memory, in one call", place_of(verdict.pattern),
                          named(algorithm, race.first.at), does(race.first), does(race.second))
            : fmt::format("race {}: {} {} and {} {}, which is the same memory, and nothing orders the two",
                          place_of(verdict.pattern), named(algorithm, race.first.at), does(race.first),
                          named(algorithm, race.second.at), does(race.second));
    if (race.chunks > 1) what += fmt::format(", on {} chunks", race.chunks);
    if (i == 0 && races.count > race.chunks) what += fmt::format(" ({} races in all)", races.count);
    const Spot at = spot(step_at(algorithm, race.second.at));
    const char* remedy = "make the later one depend on the other (depid, deps, hasdep)";
    if (as_errors) {
      complaints.error(at, std::move(what), remedy);
    } else {
      complaints.warning(fmt::format("race {} {}", place_of(verdict.pattern), i), at, std::move(what), remedy);
    }
  }
}

void tell_unwritten(const Algorithm& algorithm, const PatternVerdict& verdict, bool as_error, Complaints& complaints) {
  const UnwrittenRead& read = *verdict.result.first_unwritten;
  std::string what =
      fmt::format("{} reads {}[{}], which no step wrote before ({})", name_of(read.at.gpu, read.at.block, read.at.step),
                  to_string(read.buffer), read.chunk, place_of(verdict.pattern));
  if (verdict.result.unwritten_reads > 1)
    what += fmt::format(" (and {} more such reads)", verdict.result.unwritten_reads - 1);
  const Spot at = spot(step_at(algorithm, read.at));
  if (as_error) {
    complaints.error(at, std::move(what), "write it first");
  } else {
    complaints.warning("unwritten", at, std::move(what), {});
  }
}

}  // namespace

std::string describe(const Algorithm& algorithm, const Blocked& wait) {
  std::string text = named(algorithm, StepAt{wait.gpu, wait.block, wait.step});
  if (wait.calls > 1) text += fmt::format(", call {} of {},", wait.call + 1, wait.calls);
  switch (wait.kind) {
    case WaitKind::dependency:
      return text + " waits for " + named(algorithm, StepAt{wait.on_gpu, wait.on_block, wait.on_step});
    case WaitKind::data:
      return text + fmt::format(" waits for data of {}: connection {} -> {} on channel {} is empty",
                                name_of(wait.on_gpu, wait.on_block), wait.from, wait.to, wait.channel);
    case WaitKind::slot:
      return text + fmt::format(" waits for {} to receive: connection {} -> {} on channel {} is full",
                                name_of(wait.on_gpu, wait.on_block), wait.from, wait.to, wait.channel);
  }
  return text;
}

std::vector<std::string> describe(const Algorithm& algorithm, const Verdict& verdict, const Deadlock& deadlock) {
  std::vector<std::string> lines;
  for (const Blocked& wait : deadlock.cycle) {
    if (lines.size() == waits_told) {
      lines.push_back(fmt::format("and {} more waits, back to the first", deadlock.cycle.size() - lines.size()));
      break;
    }
    lines.push_back(describe(algorithm, wait));
    if (wait.kind == WaitKind::slot) lines.back() += fmt::format(" ({} calls)", verdict.fifo.calls);
  }
  return lines;
}

std::string size_text(std::uint64_t bytes) {
  return config::format_quantity(static_cast<double>(bytes), config::Dimension::bytes);
}

void report(const Algorithm& algorithm, const Verdict& verdict, config::Diagnostics& diagnostics) {
  Complaints complaints(algorithm.file, diagnostics);
  const Deadlock& deadlock = verdict.deadlock;
  if (deadlock.always() || verdict.hangs_at_bytes) {
    std::string what = "deadlock at every size";
    if (!deadlock.always()) {
      what =
          fmt::format("deadlock at {}: it hangs above {}", size_text(*verdict.bytes), size_text(*deadlock.above_bytes));
    }
    for (const std::string& line : describe(algorithm, verdict, deadlock)) what += "; " + line;
    const Blocked& first = deadlock.cycle.front();
    complaints.error(spot(step_at(algorithm, proof::StepAt{first.gpu, first.block, first.step})), std::move(what), {});
  }
  const bool stated = stated_shape(algorithm).has_value();
  for (const PatternVerdict& pattern : verdict.patterns) {
    if (pattern.result.first_wrong) tell_wrong(algorithm, pattern, complaints);
    if (pattern.codings.first_wrong) tell_miscoding(algorithm, pattern, complaints);
    if (pattern.result.first_unwritten) tell_unwritten(algorithm, pattern, stated, complaints);
    if (pattern.races.count > 0) tell_races(algorithm, pattern, stated, complaints);
  }
}

}  // namespace moire::msccl
