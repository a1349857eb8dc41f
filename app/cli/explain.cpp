// moire explain: prints the meaning of components, keys, operators and metrics, and writes the reference pages.
#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <set>

#include "app/advise/space.hpp"
#include "app/cli/commands.hpp"
#include "app/cli/errors.hpp"
#include "app/cli/exit_status.hpp"
#include "app/cli/files.hpp"
#include "app/cli/glossary.hpp"
#include "app/evidence/validate/validation.hpp"
#include "app/report/formats.hpp"
#include "app/study/metrics.hpp"
#include "app/study/scenario.hpp"
#include "models/algorithms/mscclang/programs/registry.hpp"
#include "models/hardware/machine/follow.hpp"
#include "models/hardware/perturb/spec.hpp"
#include "models/hardware/power/spec.hpp"
#include "models/workload/operators/registry.hpp"
#include "sim/config/suggest.hpp"
#include "sim/process/standard_streams.hpp"

namespace moire::cli {

namespace {

namespace fs = std::filesystem;

config::Catalogue everything() {
  config::Catalogue catalogue;
  catalogue.add<study::ScenarioSpec>();
  catalogue.add<advise::AdviseSpec>();
  catalogue.add<perturb::PerturbSpec>();
  catalogue.add<power::OperatingPointSpec>();
  validate::describe(catalogue);
  operators::describe(catalogue);
  mscclang::describe(catalogue);
  return catalogue;
}

std::string metrics_text() {
  report::Table table{.columns = {report::left("metric"), report::left("unit"), report::left("meaning")},
                      .headings = false};
  for (const auto& info : study::metric_infos()) table.row({info.name, study::unit_of(info.name), info.meaning});
  return report::text_of(table);
}

std::string metrics_markdown() {
  std::string out = "# Metrics\n\nNames end in their unit.\n\n| metric | unit | meaning |\n|---|---|---|\n";
  for (const auto& info : study::metric_infos()) {
    out += fmt::format("| `{}` | {} | {} |\n", info.name, study::unit_of(info.name), info.meaning);
  }
  return out;
}

std::string operators_text(const config::Catalogue& catalogue) {
  report::Table table{.columns = {report::left("operator"), report::left("meaning")}, .headings = false};
  for (const auto& op : operators::all()) {
    const config::Description* known = catalogue.find(op.name);
    table.row({op.name, known ? known->meaning : ""});
  }
  return report::text_of(table);
}

// Returns a table of the values that change together with another value, and of the reason. A row is, for example:
// "compute.vector_fp32  compute.clock  the operations per CU and clock stay the same".
report::Table follows_table() {
  report::Table table{.columns = {report::left("value"), report::left("goes with"), report::left("because")}};
  for (const part::Follow& follow : machine::follows()) {
    const auto plain = [](std::string_view key) { return key.starts_with("gpu.") ? key.substr(4) : key; };
    table.row({std::string(plain(follow.key)),
               fmt::format("{}{}{}", follow.power < 0 ? "1 / " : "", plain(follow.of),
                           follow.only_where.empty() ? "" : fmt::format(", if {}", plain(follow.only_where))),
               std::string(follow.why)});
  }
  return table;
}

const std::string_view about_follows =
    "If the value on the right is changed (--set, an axis, a variant), the value on the left is multiplied by the same "
    "factor (with 1 /, divided by it), unless the left one is changed as well. compute.cus and compute.group_count are "
    "computed from compute.groups.";

std::string follows_text() {
  return fmt::format("Values that scale with others. {}\n\n{}", about_follows, report::text_of(follows_table()));
}

std::string follows_markdown() {
  std::string out = fmt::format(
      "\n## Values that scale with others\n\n{}\n\n| value | scales with | because |\n|---|---|---|\n", about_follows);
  for (const auto& row : follows_table().rows)
    out += fmt::format("| `{}` | `{}` | {} |\n", shown(row[0]), shown(row[1]), shown(row[2]));
  return out;
}

int write_pages(const std::string& folder) {
  make_folder(folder);
  const config::Catalogue catalogue = everything();
  process::write_file(fs::path(folder) / "components.md", catalogue.markdown());
  for (const std::string& name : catalogue.names()) {
    process::write_file(fs::path(folder) / (name + ".md"),
                        catalogue.markdown(*catalogue.find(name)) + (name == "gpu" ? follows_markdown() : ""));
  }
  process::write_file(fs::path(folder) / "metrics.md", metrics_markdown());
  return done;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// A term, metric, component or key that can be searched for.
struct Entry {
  std::string name;
  std::string meaning;
};

std::vector<Entry> entries(const config::Catalogue& catalogue) {
  std::vector<Entry> all;
  for (const auto& [word, meaning] : glossary()) all.push_back({std::string(word), std::string(meaning)});
  for (const auto& info : study::metric_infos()) all.push_back({info.name, info.meaning});
  for (const std::string& name : catalogue.names()) {
    const config::Description& component = *catalogue.find(name);
    all.push_back({name, component.meaning});
    for (const config::Field& field : component.fields) all.push_back({name + "." + field.key, field.meaning});
  }
  return all;
}

// Returns a list of the entries that contain `word`: first those with it in their names, then those with it in their
// meanings. Empty if no entry contains it.
std::string search(const config::Catalogue& catalogue, const std::string& word) {
  constexpr std::size_t most = 40;
  const std::string wanted = lower(word);
  report::Table found{.columns = {report::left("name"), report::left("meaning")}, .headings = false};
  std::size_t left_out = 0;
  for (const bool in_name : {true, false}) {
    for (const Entry& entry : entries(catalogue)) {
      const bool named = lower(entry.name).find(wanted) != std::string::npos;
      const bool meant = lower(entry.meaning).find(wanted) != std::string::npos;
      if (in_name ? !named : named || !meant) continue;
      if (found.rows.size() < most) {
        found.row({entry.name, entry.meaning});
      } else {
        ++left_out;
      }
    }
  }
  if (found.rows.empty()) return {};
  const std::string more = left_out == 0 ? "" : fmt::format("and {} more; a longer word finds fewer\n", left_out);
  return fmt::format("No component is called {}. These entries contain the word:\n\n{}{}", config::in_quotes(word),
                     report::text_of(found), more);
}

// Returns the words of all names. If the user mistypes a word, the most similar of these words is suggested.
std::vector<std::string> words_of_names(const config::Catalogue& catalogue) {
  std::set<std::string> words;
  for (const Entry& entry : entries(catalogue)) {
    std::string word;
    for (const char c : entry.name + " ") {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
        word += c;
      } else {
        if (word.size() > 2) words.insert(lower(word));
        word.clear();
      }
    }
  }
  return {words.begin(), words.end()};
}

int explain(const std::string& topic) {
  const config::Catalogue catalogue = everything();
  if (topic.empty()) {
    process::print(
        fmt::format("{}\nmoire explain COMPONENT, COMPONENT.KEY, operators or metrics gives details; any other WORD is "
                    "searched for.\n",
                    catalogue.list()));
    return done;
  }
  if (topic == "metrics") {
    process::print(metrics_text());
    return done;
  }
  if (topic == "operators") {
    process::print(operators_text(catalogue));
    return done;
  }
  config::Diagnostics diagnostics;
  if (const auto text = catalogue.explain(topic, diagnostics)) {
    process::print(*text);
    if (topic == "gpu") process::print("\n" + follows_text());
    return done;
  }
  if (catalogue.find(topic.substr(0, topic.find('.'))) == nullptr) {
    const std::string text = search(catalogue, topic);
    if (!text.empty()) {
      process::print(text);
      return done;
    }
    const std::vector<std::string> words = words_of_names(catalogue);
    const auto near = config::nearest(lower(topic), words);
    diagnostics = {};
    diagnostics.error({}, "no component, key, metric or text contains " + config::in_quotes(topic),
                      near ? fmt::format("did you mean '{}'?", *near)
                           : "'moire explain' lists the components, 'moire explain metrics' the metrics");
  }
  print_errors(diagnostics);
  return bad_input;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  struct Arguments {
    std::string topic;
    std::string markdown;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("explain", "What components, keys, operators and metrics mean");
  command
      ->add_option(
          "TOPIC", arguments->topic,
          "COMPONENT, COMPONENT.KEY, operators, metrics, or any word to search for; without it: the list of components")
      ->type_name("");
  command->add_option("--markdown", arguments->markdown, "Write the reference pages of all components into DIR")
      ->check(a_name())
      ->type_name("DIR");
  command->callback([arguments, &action] {
    action = [arguments] {
      return arguments->markdown.empty() ? explain(arguments->topic) : write_pages(arguments->markdown);
    };
  });
}

}  // namespace moire::cli
