// moire check: validates files without simulating them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/advise/space.hpp"
#include "app/cli/checked.hpp"
#include "app/cli/commands.hpp"
#include "app/cli/errors.hpp"
#include "app/cli/file_kind.hpp"
#include "app/evidence/measurements/measurements.hpp"
#include "app/evidence/validate/validation.hpp"
#include "app/import/nccl_graph.hpp"
#include "app/import/nccl_topology.hpp"
#include "app/report/formats.hpp"
#include "app/study/prepare.hpp"
#include "models/algorithms/msccl/xml_reader.hpp"
#include "models/workload/codec/spec.hpp"
#include "models/workload/libraries/plan_library.hpp"
#include "models/workload/libraries/software.hpp"
#include "models/workload/transformer/model.hpp"
#include "sim/config/units.hpp"
#include "sim/formats/file.hpp"
#include "sim/process/standard_streams.hpp"
#include "sim/program/wg_trace_reader.hpp"

namespace moire::cli {

namespace {

struct CheckArguments {
  std::vector<std::string> files;
  std::vector<std::string> sets;
  std::optional<std::uint64_t> bytes;
  std::string format = "table";
};

// Parses a whole number of bytes from 1 B to 1 PB.
std::uint64_t parse_bytes(const std::string& text) {
  Bytes bytes{};
  if (const auto problem = config::parse_quantity(text, bytes)) throw CLI::ValidationError("--bytes", problem->str());
  constexpr double most = 1e15;
  if (!(bytes.value >= 1) || bytes.value > most || bytes.value != std::floor(bytes.value))
    throw CLI::ValidationError("--bytes", "is " + text + ", but must be an integer number of bytes from 1 B to 1 PB");
  return static_cast<std::uint64_t>(bytes.value);
}

// Returns ", about N million steps of workgroups", with the text `of` before "about". Returns an empty text for fewer
// than a million steps. A million steps take about one second to simulate.
std::string large(double steps, std::string_view of = "") {
  constexpr double said_from = 1e6;
  if (steps < said_from) return {};
  return fmt::format(", {}about {:.0f} million steps of workgroups", of, steps * 1e-6);
}

// Returns a text with the number of candidates among which `algorithm: best` chooses. `moire check` builds the
// candidates; only a run simulates them and chooses.
std::string untried(const study::Preparer& preparer) {
  const auto& [candidates, steps] = preparer.untried();
  if (candidates == 0) return {};
  return fmt::format("; 'algorithm: best' has {} candidate{}, which are checked here and timed by the run{}",
                     candidates, candidates == 1 ? "" : "s", large(steps));
}

// Checks a scenario and returns what it would run, such as "scenario, 6 runs". Returns an empty text if there are
// errors.
std::string check_scenario(study::Scenario scenario, config::Diagnostics& diagnostics) {
  study::Preparer preparer(study::Preparer::Purpose::check);
  const auto prepared = study::prepare_runs(std::move(scenario), preparer, diagnostics);
  if (!diagnostics.ok()) return {};
  if (prepared->scenario.tree.find("advise")) advise::space_of(prepared->scenario, preparer, diagnostics);
  const std::size_t runs = prepared->runs.size();
  const double most = *std::max_element(prepared->steps.begin(), prepared->steps.end());
  return fmt::format("scenario, {} run{}{}{}", runs, runs == 1 ? "" : "s",
                     large(most, runs == 1 ? "" : "the largest of "), untried(preparer));
}

std::string check_validation(const std::string& file, const std::vector<std::string>& sets,
                             config::Diagnostics& diagnostics) {
  study::Preparer preparer(study::Preparer::Purpose::check);
  const auto validation = validate::load_validation(file, sets, false, preparer, diagnostics);
  if (!validation) return {};
  return fmt::format("validation, {} case{}{}", validation->cases(), validation->cases() == 1 ? "" : "s",
                     untried(preparer));
}

std::string check_system(const config::Node& tree, config::Diagnostics& diagnostics) {
  const auto spec = libraries::read_system(tree, diagnostics);
  if (!spec) return {};
  study::check_system(*spec, tree, diagnostics);
  return fmt::format("system, {} GPU{}", spec->ranks(), spec->ranks() == 1 ? "" : "s");
}

std::string check_gpu(const config::Node& tree, config::Diagnostics& diagnostics) {
  const auto gpu = libraries::read_gpu(tree, diagnostics);
  return gpu ? "GPU, " + gpu->name : "";
}

template <config::Described Spec>
std::string check_part(FileKind kind, const config::Node& tree, config::Diagnostics& diagnostics) {
  const auto spec = config::parse<Spec>(tree, diagnostics);
  if (!spec) return {};
  if constexpr (requires { spec->name; }) return fmt::format("{}, {}", to_string(kind), spec->name);
  return std::string(to_string(kind));
}

std::string check_trace(const std::string& file, config::Diagnostics& diagnostics) {
  auto reader = program::WgTraceReader::open(file, diagnostics);
  if (!reader) return {};
  std::size_t rows = 0;
  for (program::WgTraceRow row; reader->next(row);) ++rows;
  return fmt::format("WG trace, {} ranks, {} rows", reader->header().ranks, rows);
}

std::string check_measurements(const std::string& file, config::Diagnostics& diagnostics) {
  const auto measurements = measurements::load_measurements(file, diagnostics);
  if (!measurements) return {};
  return fmt::format("measurements of {}x {}, {} values", measurements->gpus, measurements->gpu,
                     measurements->values.size());
}

std::string check_kind(FileKind kind, const config::Node& tree, config::Diagnostics& diagnostics) {
  switch (kind) {
    case FileKind::system:
      return check_system(tree, diagnostics);
    case FileKind::gpu:
      return check_gpu(tree, diagnostics);
    case FileKind::nic:
      return check_part<nic::NicSpec>(kind, tree, diagnostics);
    case FileKind::host_memory:
      return check_part<host::MemorySpec>(kind, tree, diagnostics);
    case FileKind::reduction:
      return check_part<fabric::ReductionSpec>(kind, tree, diagnostics);
    case FileKind::library:
      return check_part<libraries::LibrarySpec>(kind, tree, diagnostics);
    case FileKind::gemm_library:
      return check_part<libraries::GemmLibrarySpec>(kind, tree, diagnostics);
    case FileKind::plan_library:
      return check_part<libraries::PlanLibrarySpec>(kind, tree, diagnostics);
    case FileKind::transformer_model:
      return check_part<transformer::ModelSpec>(kind, tree, diagnostics);
    case FileKind::codec:
      return check_part<codec::CodecSpec>(kind, tree, diagnostics);
    case FileKind::scenario:
    case FileKind::validation:
    case FileKind::wg_trace:
      break;  // check_yaml and check_file handle these kinds
  }
  return {};
}

// True if the file defines runs, which --set then changes. In files of other kinds, --set changes the keys of the file.
bool changes_of_runs(const config::Node& tree) {
  const auto kind = kind_of(tree);
  return kind && (*kind == FileKind::scenario || *kind == FileKind::validation);
}

std::string check_yaml(const std::string& file, const std::vector<std::string>& sets,
                       config::Diagnostics& diagnostics) {
  config::Diagnostics loading;
  auto overrides = config::parse_sets(sets, loading);
  auto tree = config::load(file, {}, loading);
  if (!sets.empty() && !(tree && changes_of_runs(*tree))) {
    loading = {};
    tree = config::load(file, config::parse_sets(sets, loading), loading);
  }
  if (!tree) {
    diagnostics = std::move(loading);
    return {};
  }
  const auto kind = kind_of(*tree);
  if (kind && *kind == FileKind::validation) return check_validation(file, sets, diagnostics);
  diagnostics = std::move(loading);
  if (kind && *kind == FileKind::scenario)
    return check_scenario(study::scenario_of(file, std::move(*tree), std::move(overrides), diagnostics), diagnostics);
  if (kind) return check_kind(*kind, *tree, diagnostics);
  diagnostics.error(tree->place, "the top-level keys do not show what kind of file this is",
                    "a scenario has system and program, a validation file groups, a system nodes and node, a GPU "
                    "compute and hbm; see 'moire explain'");
  return {};
}

// True if the file is a dump of NCCL, which has the root element <system> or <graphs>.
bool is_topology(const std::string& file) {
  if (!msccl::is_xml(file)) return false;
  config::Diagnostics ignored;  // the check of the file reports its errors
  const auto text = formats::read_file({.file = file}, importing::most_dump_bytes, ignored);
  return text && (importing::starts_with_element(*text, "system") || importing::starts_with_element(*text, "graphs"));
}

std::string check_topology(const std::string& file, config::Diagnostics& diagnostics) {
  const auto text = formats::read_file({.file = file}, importing::most_dump_bytes, diagnostics);
  if (!text) return {};
  if (importing::starts_with_element(*text, "graphs")) {
    const auto graphs = importing::read_nccl_graphs(file, *text, diagnostics);
    return graphs ? fmt::format("NCCL graph dump, {} graph{}", graphs->size(), graphs->size() == 1 ? "" : "s") : "";
  }
  const auto topology = importing::read_nccl_topology(file, *text, diagnostics);
  if (!topology) return {};
  return fmt::format("NCCL topology dump, {} GPU{}; 'moire import nccl-topo' converts it into a system",
                     topology->gpus.size(), topology->gpus.size() == 1 ? "" : "s");
}

// Checks one file of any kind; errors go to `diagnostics`.
Checked check_file(const CheckArguments& arguments, const std::string& file, config::Diagnostics& diagnostics) {
  const bool topology = is_topology(file);
  if (!topology && is_plan(file)) return check_plan(file, diagnostics);
  if (!topology && msccl::is_xml(file)) return check_algorithm(file, arguments.bytes, diagnostics);
  const std::string what = topology                              ? check_topology(file, diagnostics)
                           : measurements::is_measurements(file) ? check_measurements(file, diagnostics)
                           : is_wg_trace(file)                   ? check_trace(file, diagnostics)
                                                                 : check_yaml(file, arguments.sets, diagnostics);
  return diagnostics.ok() ? judged(file, what) : refused(file);
}

// Returns the worse of two exit statuses: bad input is worse than a failed check.
int worse(int a, int b) { return a == bad_input || b == done ? a : b; }

int check(const CheckArguments& arguments) {
  const bool as_json = arguments.format == "json";
  int status = done;
  std::vector<report::Document> all;
  for (const std::string& file : arguments.files) {
    config::Diagnostics diagnostics;
    Checked checked = check_file(arguments, file, diagnostics);
    status = worse(status, checked.status);
    if (as_json) {
      all.push_back(std::move(checked.document));
    } else {
      process::print(report::write_text(checked.document));
    }
    print_warnings(diagnostics);
    if (!diagnostics.ok()) print_errors(diagnostics);
  }
  if (as_json) process::print(report::write_json(all));
  return status;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand("check", "Validate files of any kind without simulating them");
  command
      ->add_option("FILE", arguments->files,
                   "Scenarios, validation files, systems, GPUs, NICs, collective and GEMM libraries, WG traces, "
                   "measurements, NCCL topology and graph dumps, MSCCL algorithms and MSCCL++ plans (exit status 1 if "
                   "an algorithm or plan gives a wrong result, races or deadlocks)")
      ->required()
      ->type_name("");
  command->add_option("--set", arguments->sets, "Change a value before the check, path=value; may be repeated")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
  command
      ->add_option_function<std::string>(
          "--bytes", [arguments](const std::string& text) { arguments->bytes = parse_bytes(text); },
          "Check whether algorithms end with a buffer of this size, like '64 MiB'; for all-gather, reduce-scatter and "
          "all-to-all, the size is the sum of the parts of all ranks")
      ->type_name("SIZE");
  command->add_option("--format", arguments->format, "table (the default) or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
  command->callback([arguments, &action] { action = [arguments] { return check(*arguments); }; });
}

}  // namespace moire::cli
