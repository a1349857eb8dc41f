// moire explain: what components, keys, operators and metrics mean; also writes the reference pages.
#include <fmt/format.h>

#include <filesystem>

#include "app/advise/space.hpp"
#include "app/cli/commands.hpp"
#include "app/cli/errors.hpp"
#include "app/cli/exit_status.hpp"
#include "app/cli/files.hpp"
#include "app/evidence/validate/validation.hpp"
#include "app/report/formats.hpp"
#include "app/study/metrics.hpp"
#include "app/study/scenario.hpp"
#include "models/algorithms/mscclang/programs/registry.hpp"
#include "models/workload/operators/registry.hpp"

namespace moire::cli {

namespace {

namespace fs = std::filesystem;

config::Catalogue everything() {
  config::Catalogue catalogue;
  catalogue.add<study::ScenarioSpec>();
  catalogue.add<advise::AdviseSpec>();
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

int write_pages(const std::string& folder) {
  make_folder(folder);
  const config::Catalogue catalogue = everything();
  write_quietly(fs::path(folder) / "components.md", catalogue.markdown());
  for (const std::string& name : catalogue.names()) {
    write_quietly(fs::path(folder) / (name + ".md"), catalogue.markdown(*catalogue.find(name)));
  }
  write_quietly(fs::path(folder) / "metrics.md", metrics_markdown());
  return done;
}

int explain(const std::string& topic) {
  const config::Catalogue catalogue = everything();
  if (topic.empty()) {
    fmt::print("{}\nmoire explain COMPONENT, COMPONENT.KEY, operators or metrics tells more.\n", catalogue.list());
    return done;
  }
  if (topic == "metrics") {
    fmt::print("{}", metrics_text());
    return done;
  }
  if (topic == "operators") {
    fmt::print("{}", operators_text(catalogue));
    return done;
  }
  config::Diagnostics diagnostics;
  if (const auto text = catalogue.explain(topic, diagnostics)) {
    fmt::print("{}", *text);
    return done;
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
      ->add_option("TOPIC", arguments->topic,
                   "COMPONENT, COMPONENT.KEY, operators or metrics; none: the list of components")
      ->type_name("");
  command->add_option("--markdown", arguments->markdown, "Write the reference pages of all components into DIR")
      ->type_name("DIR");
  command->callback([arguments, &action] {
    action = [arguments] {
      return arguments->markdown.empty() ? explain(arguments->topic) : write_pages(arguments->markdown);
    };
  });
}

}  // namespace moire::cli
