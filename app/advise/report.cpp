#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/advise/advise.hpp"
#include "app/report/table.hpp"
#include "sim/config/suggest.hpp"

namespace moire::advise {

namespace {

using Json = nlohmann::ordered_json;
using Align = report::Table::Align;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share + 0.0); }
std::string us(Time time) { return fmt::format("{:.2f} us", time.us()); }

double change(Time time, Time from) { return time.us() / from.us() - 1; }

// "22.2 % less than", "as long as", "3.1 % more than"
std::string against(Time time, Time other) {
  const double more = change(time, other);
  if (std::abs(more) < 0.0005) return "as long as";
  return fmt::format("{} {} than", percent(std::abs(more)), more < 0 ? "less" : "more");
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

// Parts by size, the largest first; what is less than a thousandth of the run says nothing.
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
  if (parts.empty()) return fmt::format("{} ends as it does alone", queue.queue);
  std::vector<std::string> list;
  for (const auto& [name, time] : parts) list.push_back(fmt::format("{} {:.2f}", name, time.us()));
  return fmt::format("{} ends {:.2f} us {} than alone: {}", queue.queue, std::abs(lost.us()),
                     lost.ps < 0 ? "earlier" : "later", config::join(list));
}

std::string tried_table(const Advice& advice) {
  report::Table table;
  table.column("schedule", Align::left);
  for (const char* heading : {"time", "as written", "of ideal"}) table.column(heading, Align::right);
  table.column(advice.space.compute, Align::right);
  table.column(advice.space.comm, Align::right);
  const Time as_written = advice.tried.front().result.time;
  for (const std::size_t number : advice.ranking) {
    const Tried& one = advice.tried[number];
    table.row({one.schedule.name, us(one.result.time),
               number == 0 ? "" : fmt::format("{:+.1f} %", 100 * change(one.result.time, as_written) + 0.0),
               one.fraction_of_ideal ? percent(*one.fraction_of_ideal) : "",
               us(end_of(one.result, advice.space.compute)), us(end_of(one.result, advice.space.comm))});
  }
  return table.str();
}

std::string split_table(const Advice& advice) {
  report::Table table;
  table.column("CUs reserved", Align::right);
  table.column(advice.space.compute + " alone", Align::right);
  table.column(advice.space.comm + " alone", Align::right);
  for (const Split& split : advice.splits) {
    table.row({std::to_string(split.cus), us(split.compute), us(split.comm)});
  }
  return table.str();
}

std::string text_of(const config::Node& value) {
  if (!value.is_sequence()) return value.text;
  std::vector<std::string> items;
  for (const config::Node& item : value.items) items.push_back(item.text);
  return "[" + config::join(items) + "]";
}

std::string best_text(const Advice& advice) {
  const Tried& best = advice.tried[advice.best()];
  const Time as_written = advice.tried.front().result.time;
  std::string out = fmt::format("Best: {}, {}\n", best.schedule.name, us(best.result.time));
  for (const config::Override& set : best.schedule.changes) {
    out += fmt::format("  {}: {}\n", config::join(set.path, "."), text_of(set.value));
  }
  if (advice.best() != 0) out += fmt::format("  {} as written\n", against(best.result.time, as_written));
  out += fmt::format("  {} one after the other ({})\n", against(best.result.time, advice.serial), us(advice.serial));
  out += fmt::format("  {} the ideal ({})\n", against(best.result.time, advice.ideal), us(advice.ideal));
  if (advice.as_good() > 1) {
    out += fmt::format("  {} within {} of it\n",
                       advice.as_good() == 2 ? "1 other is" : fmt::format("{} others are", advice.as_good() - 1),
                       percent(good_enough));
  }
  if (const auto next = advice.next()) {
    out += fmt::format("  the next one, {}, takes {} more\n", advice.tried[*next].schedule.name,
                       percent(advice.over_best(*next)));
  }
  return out;
}

std::string rules_text(const Advice& advice) {
  std::string out;
  const auto rule = [&](const std::string& words, std::optional<std::size_t> chosen) {
    if (!chosen) return;
    const Tried& one = advice.tried[*chosen];
    out += fmt::format("  {}: {}, {} ({:+.1f} % over the best)\n", words, one.schedule.name, us(one.result.time),
                       100 * change(one.result.time, advice.tried[advice.best()].result.time) + 0.0);
  };
  rule("launch in ascending number of workgroups", advice.by_workgroups);
  rule("split by the larger of both alone", advice.by_split);
  return out.empty() ? "" : "\nRules of thumb\n" + out;
}

std::string why_text(const Advice& advice) {
  std::string out = "\nWhy\n";
  for (const Account& account : advice.accounts) {
    const Tried& one = advice.tried[account.tried];
    out += "  " + one.schedule.name + "\n";
    for (std::size_t q = 0; q < account.blame.size(); ++q) {
      out += "    " + lost_text(account.blame[q], account.lost[q], one.result.time) + "\n";
    }
    for (const Stretch& stretch : account.stretches) {
      std::vector<std::string> busy;
      for (const auto& [kind, share] : stretch.busy) {
        if (share >= 0.01) busy.push_back(fmt::format("{} {:.0f} %", kind, 100 * share));
      }
      out += fmt::format("    {}, {:.0f} to {:.0f} us: {}\n", stretch.name, stretch.begin.us(), stretch.end.us(),
                         config::join(busy));
    }
  }
  return out;
}

double exact_us(Time time) { return study::microseconds(time); }
double rounded(double ratio) { return std::round(ratio * 1e9) / 1e9; }

Json value_json(const config::Node& value) {
  if (value.is_sequence()) {
    Json list = Json::array();
    for (const config::Node& item : value.items) list.push_back(value_json(item));
    return list;
  }
  const bool digits = !value.text.empty() && value.text.find_first_not_of("0123456789") == std::string::npos;
  if (digits && value.text.size() < 18) return std::stoll(value.text);
  return value.text;
}

Json tried_json(const Advice& advice, std::size_t number) {
  const Tried& one = advice.tried[number];
  Json json;
  json["schedule"] = one.schedule.name;
  json["parameters"] = Json::object();
  for (const config::Override& set : one.schedule.changes) {
    json["parameters"][config::join(set.path, ".")] = value_json(set.value);
  }
  json["time_us"] = exact_us(one.result.time);
  for (const study::QueueResult& queue : one.result.queues)
    json[study::metric_word(queue.name) + "_us"] = exact_us(queue.end);
  if (one.fraction_of_ideal) json["fraction_of_ideal"] = *one.fraction_of_ideal;
  return json;
}

Json account_json(const Advice& advice, const Account& account) {
  Json json;
  json["schedule"] = advice.tried[account.tried].schedule.name;
  json["lost_us"] = Json::object();
  for (std::size_t q = 0; q < account.blame.size(); ++q) {
    Json lost;
    lost["sum"] = exact_us(account.lost[q]);
    for (std::size_t part = 0; part < study::lost_parts().size(); ++part) {
      lost[std::string(study::lost_parts()[part].name)] = exact_us(account.blame[q].lost[part]);
    }
    json["lost_us"][account.blame[q].queue] = lost;
  }
  json["busy"] = Json::array();
  for (const Stretch& stretch : account.stretches) {
    Json one = {{"stretch", stretch.name}, {"begin_us", exact_us(stretch.begin)}, {"end_us", exact_us(stretch.end)}};
    for (const auto& [kind, share] : stretch.busy) one["percent"][kind] = rounded(100 * share);
    json["busy"].push_back(one);
  }
  return json;
}

}  // namespace

std::string report_table(const study::Scenario& scenario, const Advice& advice) {
  std::string out = scenario.description + "\n\n" + tried_table(advice);
  for (const std::string& reason : advice.space.left_out) out += "left out: " + reason + "\n";
  if (!advice.splits.empty()) out += "\n" + split_table(advice);
  return out + "\n" + best_text(advice) + rules_text(advice) + why_text(advice);
}

std::string report_json(const study::Scenario& scenario, const Advice& advice) {
  Json json;
  json["scenario"] = scenario.name;
  json["description"] = scenario.description;
  json["best"] = tried_json(advice, advice.best());
  json["as_written_us"] = exact_us(advice.tried.front().result.time);
  json["serial_us"] = exact_us(advice.serial);
  json["ideal_us"] = exact_us(advice.ideal);
  json["as_good"] = advice.as_good();
  if (const auto next = advice.next()) {
    json["next"] = advice.tried[*next].schedule.name;
    json["margin_percent"] = rounded(100 * advice.over_best(*next));
  }
  json["tried"] = Json::array();
  for (const std::size_t number : advice.ranking) json["tried"].push_back(tried_json(advice, number));
  json["left_out"] = advice.space.left_out;
  json["splits"] = Json::array();
  for (const Split& split : advice.splits) {
    json["splits"].push_back({{"cus", split.cus},
                              {study::metric_word(advice.space.compute) + "_alone_us", exact_us(split.compute)},
                              {study::metric_word(advice.space.comm) + "_alone_us", exact_us(split.comm)}});
  }
  const auto rule = [&](const char* name, std::optional<std::size_t> chosen) {
    if (chosen) json["rules"][name] = advice.tried[*chosen].schedule.name;
  };
  rule("ascending_workgroups", advice.by_workgroups);
  rule("smallest_larger_of_both", advice.by_split);
  json["accounts"] = Json::array();
  for (const Account& account : advice.accounts) json["accounts"].push_back(account_json(advice, account));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace moire::advise
