#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/advise/advise.hpp"
#include "app/report/values.hpp"
#include "sim/config/suggest.hpp"

namespace moire::advise {

namespace {

namespace in = report::in;
using report::Cell;
using report::Field;
using report::in_us;
using report::left;
using report::right;
using report::share;

// Rounds a ratio to 9 decimals, since further digits are rounding errors.
report::Number to_a_billionth(double value) { return {.value = value, .decimals = 9}; }

double change(Time time, Time from) { return time.us() / from.us() - 1; }

// Returns how `time` compares with `other`: "22.2 % less than", "as long as", "3.1 % more than".
std::string against(Time time, Time other) {
  const double more = change(time, other);
  if (std::abs(more) < 0.0005) return "as long as";
  return fmt::format("{} {} than", shown(share(std::abs(more))), more < 0 ? "less" : "more");
}

Time end_of(const study::RunResult& run, const std::string& queue) {
  for (const study::QueueResult& one : run.queues) {
    if (one.name == queue) return one.end;
  }
  return {};
}

std::string words(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

// Returns the parts of a queue's lost time, largest first, without those below a thousandth of the run's time.
std::vector<std::pair<std::string, Time>> largest_parts(const study::QueueBlame& queue, Time run) {
  std::vector<std::pair<std::string, Time>> parts;
  for (std::size_t part = 0; part < study::lost_parts().size(); ++part) {
    if (std::abs(queue.lost[part].us()) > 0.001 * run.us())
      parts.emplace_back(words(study::lost_parts()[part].name), queue.lost[part]);
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.second.us()) > std::abs(b.second.us()); });
  return parts;
}

std::string lost_text(const study::QueueBlame& queue, Time lost, Time run) {
  const auto parts = largest_parts(queue, run);
  if (parts.empty()) return fmt::format("{} ends when it would end alone", queue.queue);
  std::vector<std::string> list;
  for (const auto& [name, time] : parts) list.push_back(fmt::format("{} {:.2f}", name, time.us()));
  return fmt::format("{} ends {:.2f} us {} than alone: {}", queue.queue, std::abs(lost.us()),
                     lost.ps < 0 ? "earlier" : "later", config::join(list));
}

report::Table tried_table(const Advice& advice) {
  report::Table table{.key = "tried",
                      .columns = {left("schedule"), left("parameters", in::json), right("time").keyed("time_us"),
                                  right("as written", in::people)}};
  for (const study::QueueResult& queue : advice.tried.front().result.queues)
    table.columns.push_back(right(study::metric_word(queue.name) + "_us", in::programs));
  const unsigned pair = advice.space.two_queues() ? in::people : 0;
  table.columns.push_back(right("of ideal", advice.space.two_queues() ? in::all : 0).keyed("fraction_of_ideal"));
  for (const std::string& queue : {advice.space.compute, advice.space.comm})
    table.columns.push_back(right(queue, pair));
  const Time as_written = advice.tried.front().result.time;
  for (const std::size_t number : advice.ranking) {
    const Tried& one = advice.tried[number];
    Cell::Record parameters;
    for (const config::Override& set : one.schedule.changes)
      parameters.push_back({config::join(set.path, "."), report::value_of(set.value)});
    std::vector<Cell> cells = {one.schedule.name, std::move(parameters), in_us(one.result.time),
                               number == 0 ? Cell() : Cell(report::signed_share(change(one.result.time, as_written)))};
    for (const study::QueueResult& queue : one.result.queues) cells.emplace_back(in_us(queue.end));
    cells.push_back(one.fraction_of_ideal ? Cell(share(*one.fraction_of_ideal)) : Cell());
    for (const std::string& queue : {advice.space.compute, advice.space.comm})
      cells.emplace_back(in_us(end_of(one.result, queue)));
    table.row(std::move(cells));
  }
  if (std::any_of(advice.tried.begin(), advice.tried.end(),
                  [](const Tried& one) { return one.fraction_of_ideal.value_or(0) > 1; }))
    table.footnotes.emplace_back(
        "more than 100 % of ideal: the ideal is the time of the longest queue alone with the settings in the scenario; "
        "this schedule makes that queue faster");
  for (const std::string& reason : advice.space.left_out) table.footnotes.push_back("left out: " + reason);
  return table;
}

report::Table split_table(const Advice& advice) {
  const auto alone = [](const std::string& queue) {
    return right(queue + " alone").keyed(study::metric_word(queue) + "_alone_us");
  };
  report::Table table{
      .key = "splits",
      .columns = {right("CUs reserved").keyed("cus"), alone(advice.space.compute), alone(advice.space.comm)}};
  for (const Split& split : advice.splits) table.row({split.cus, in_us(split.compute), in_us(split.comm)});
  return table;
}

std::string text_of(const config::Node& value) {
  if (!value.is_sequence()) return value.text;
  std::vector<std::string> items;
  for (const config::Node& item : value.items) items.push_back(item.text);
  return "[" + config::join(items) + "]";
}

std::string best_text(const Advice& advice) {
  const Tried& best = advice.tried[advice.best()];
  const Time time = best.result.time;
  std::vector<std::string> lines = {fmt::format("Best: {}, {}", best.schedule.name, shown(in_us(time)))};
  const auto say = [&lines](const std::string& line) { lines.push_back("  " + line); };
  for (const config::Override& set : best.schedule.changes)
    say(fmt::format("{}: {}", config::join(set.path, "."), text_of(set.value)));
  if (advice.best() != 0) say(against(time, advice.tried.front().result.time) + " as written");
  if (advice.space.two_queues()) {
    say(fmt::format("{} running one after the other ({})", against(time, advice.serial), shown(in_us(advice.serial))));
    say(fmt::format("{} the ideal ({})", against(time, advice.ideal), shown(in_us(advice.ideal))));
  }
  if (advice.as_good() > 1)
    say(fmt::format("{} within {} of the best",
                    advice.as_good() == 2 ? "1 other is" : fmt::format("{} others are", advice.as_good() - 1),
                    shown(share(good_enough))));
  if (const auto next = advice.next())
    say(fmt::format("the next best, {}, takes {} more", advice.tried[*next].schedule.name,
                    shown(share(advice.over_best(*next)))));
  return config::join(lines, "\n");
}

// Returns the lines of the report about rules of thumb; an empty text if no rule applies.
std::string rules_text(const Advice& advice) {
  std::vector<std::string> lines = {"Rules of thumb"};
  const auto rule = [&](const std::string& words, std::optional<std::size_t> chosen) {
    if (!chosen) return;
    const Tried& one = advice.tried[*chosen];
    const double over = change(one.result.time, advice.tried[advice.best()].result.time);
    lines.push_back(fmt::format("  {}: {}, {} ({} against the best)", words, one.schedule.name,
                                shown(in_us(one.result.time)), shown(report::signed_share(over))));
  };
  rule("launch the queue with fewer workgroups first", advice.by_workgroups);
  rule("reserve CUs so that the slower of the two queues, each alone, is fastest", advice.by_split);
  return lines.size() == 1 ? "" : config::join(lines, "\n");
}

std::string why_text(const Advice& advice) {
  std::vector<std::string> lines = {"Why"};
  for (const Account& account : advice.accounts) {
    const Tried& one = advice.tried[account.tried];
    lines.push_back("  " + one.schedule.name);
    for (std::size_t q = 0; q < account.blame.size(); ++q)
      lines.push_back("    " + lost_text(account.blame[q], account.lost[q], one.result.time));
    for (const Stretch& stretch : account.stretches) {
      std::vector<std::string> busy;
      for (const auto& [kind, part] : stretch.busy)
        if (part >= 0.01) busy.push_back(fmt::format("{} {:.0f} %", kind, 100 * part));
      lines.push_back(fmt::format("    {}, {:.0f} to {:.0f} us: {}", stretch.name, stretch.begin.us(), stretch.end.us(),
                                  config::join(busy)));
    }
  }
  return config::join(lines, "\n");
}

Cell::Record rules(const Advice& advice) {
  Cell::Record record;
  const auto rule = [&](const char* name, std::optional<std::size_t> chosen) {
    if (chosen) record.push_back({name, advice.tried[*chosen].schedule.name});
  };
  rule("ascending_workgroups", advice.by_workgroups);
  rule("smallest_larger_of_both", advice.by_split);
  return record;
}

Cell::Record account(const Advice& advice, const Account& account) {
  Cell::Record queues;
  for (std::size_t q = 0; q < account.blame.size(); ++q) {
    Cell::Record lost = {{"sum", in_us(account.lost[q])}};
    for (std::size_t part = 0; part < study::lost_parts().size(); ++part)
      lost.push_back({std::string(study::lost_parts()[part].name), in_us(account.blame[q].lost[part])});
    queues.push_back({account.blame[q].queue, std::move(lost)});
  }
  Cell::List busy;
  for (const Stretch& stretch : account.stretches) {
    Cell::Record shares;
    for (const auto& [kind, part] : stretch.busy) shares.push_back({kind, to_a_billionth(100 * part)});
    Cell::Record one = {{"stretch", stretch.name}, {"begin_us", in_us(stretch.begin)}, {"end_us", in_us(stretch.end)}};
    if (!shares.empty()) one.push_back({"percent", std::move(shares)});
    busy.emplace_back(std::move(one));
  }
  return {{"schedule", advice.tried[account.tried].schedule.name},
          {"lost_us", std::move(queues)},
          {"busy", std::move(busy)}};
}

}  // namespace

report::Document document_of(const study::Scenario& scenario, const Advice& advice) {
  report::Document document;
  document.title = scenario.description;
  report::Table tried = tried_table(advice);
  document.add(Field{"scenario", scenario.name});
  document.add(Field{"description", scenario.description});
  document.add(Field{"best", tried.record(0)});  // first in the ranking
  document.add(Field{"as_written_us", in_us(advice.tried.front().result.time)});
  if (advice.space.two_queues()) {
    document.add(Field{"serial_us", in_us(advice.serial)});
    document.add(Field{"ideal_us", in_us(advice.ideal)});
  }
  document.add(Field{"as_good", advice.as_good()});
  if (const auto next = advice.next()) {
    document.add(Field{"next", advice.tried[*next].schedule.name});
    document.add(Field{"margin_percent", to_a_billionth(100 * advice.over_best(*next))});
  }
  document.add(std::move(tried), in::all);
  document.add(Field{"left_out", advice.space.left_out});
  document.add(split_table(advice), advice.splits.empty() ? in::json : in::people | in::json);
  if (Cell::Record chosen = rules(advice); !chosen.empty()) document.add(Field{"rules", std::move(chosen)});
  Cell::List accounts;
  for (const Account& one : advice.accounts) accounts.emplace_back(account(advice, one));
  document.add(Field{"accounts", std::move(accounts)});
  document.add(report::Note{best_text(advice)});
  if (const std::string text = rules_text(advice); !text.empty()) document.add(report::Note{text});
  if (!advice.accounts.empty()) document.add(report::Note{why_text(advice)});
  return document;
}

}  // namespace moire::advise
