#include "app/study/prepare.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "app/study/metrics.hpp"
#include "app/study/notes.hpp"
#include "app/study/operating.hpp"
#include "app/study/spread.hpp"
#include "models/hardware/machine/machine.hpp"
#include "models/hardware/machine/parts.hpp"
#include "models/hardware/perturb/draw.hpp"
#include "models/workload/operators/registry.hpp"
#include "sim/config/suggest.hpp"
#include "sim/core/failure.hpp"
#include "sim/core/invariant.hpp"
#include "sim/core/log.hpp"
#include "sim/core/memory_limit.hpp"
#include "sim/program/work.hpp"

namespace moire::study {

namespace {

bool apply_changes(const Scenario& scenario, const Run& run, config::Node& tree, config::Diagnostics& diagnostics) {
  bool good = true;
  for (const Choice* choice : run.choices) {
    for (const config::Override& change : choice->changes) {
      good = apply_change(change, tree, diagnostics) && good;
      // The change has replaced what a --set below its path had set, so the --set is applied again.
      for (const config::Override& set : scenario.sets) {
        if (replaces(change, set)) good = apply_change(set, tree, diagnostics) && good;
      }
    }
  }
  return good;
}

// Builds the first node without SimGrid's engine, because a process can have only one such engine. Building checks all
// other parts.
std::unique_ptr<machine::Machine> first_node(machine::SystemSpec system, config::Problem& error) {
  system.network.model = machine::NetworkModel::queue;
  return machine::Machine::build(system, error, {}, static_cast<program::Rank>(system.nodes));
}

std::optional<config::Problem> too_much_memory(double bytes, const std::string& what) {
  try {
    core::need_memory(bytes, what, "simulate fewer nodes");
  } catch (const core::TooLarge& problem) {
    return config::Problem{problem.what_is_wrong, problem.remedy};
  }
  return std::nullopt;
}

constexpr double rank_bytes = 50e3;  // memory of a simulated rank, apart from its workgroups and flags

// Returns a problem for a run that would take days or fill the memory, for example because of a mistyped size. The
// memory per rank, strand of a resident workgroup and flag was measured (docs/explanation/performance.md).
std::optional<config::Problem> too_large(const program::Program& program, const machine::SystemSpec& system,
                                         program::Rank images, double steps) {
  constexpr double most = 1e10;  // steps of workgroups, which take hours
  constexpr double strand_bytes = 800;
  const auto& cus = system.node.gpu.compute;
  const program::Rank ranks = program.ranks() / images;
  double memory = rank_bytes * ranks + core::flag_bytes * program.flag_count() / images;
  for (const program::Queue& queue : program.queues) {
    double most_resident = 0;
    for (const program::Operation& operation : queue.operations) {
      const auto* kernel = std::get_if<program::Kernel>(&operation);
      if (kernel == nullptr) continue;
      const double places =
          static_cast<double>(cus.total_cus()) *
          std::min(static_cast<double>(cus.workgroups_per_cu),
                   static_cast<double>(cus.threads_per_cu) / static_cast<double>(kernel->resources.threads));
      double resident = 0;
      for (program::Rank rank = 0; rank < ranks; ++rank) {
        resident += std::min(static_cast<double>(kernel->body->workgroups(rank)), places) * kernel->body->strands(rank);
      }
      most_resident = std::max(most_resident, resident);
    }
    memory += strand_bytes * most_resident;
  }
  if (steps > most)
    return config::Problem{fmt::format("the workgroups of the program take about {:.1e} steps, but at most {:.0e} can "
                                       "be simulated, which takes hours",
                                       steps, most),
                           "make its sizes smaller, or simulate fewer nodes"};
  return too_much_memory(memory, fmt::format("{} ranks and their workgroups", ranks));
}

// Appends a text that is equal for equal nodes of scenarios. It contains all values and the folders of the files that
// state them, because names of files are relative to these folders. For a system it also marks values that --set, a
// variant or an axis has overridden, because other values scale with these.
enum class Overrides { count, ignore };
void add_text(const config::Node& node, Overrides overrides, std::string& text) {
  const auto add = [&text](const std::string& word) {
    text.append(std::to_string(word.size())).append(1, ' ').append(word);
  };
  text += static_cast<char>('0' + static_cast<int>(node.kind));
  text += node.quoted ? 'q' : ' ';
  if (overrides == Overrides::count && node.override_text) text += 'o';
  if (node.is_scalar()) {
    add(node.text);
    add(node.place.source ? node.place.source->folder.native() : std::string());
  }
  for (const config::Node& item : node.items) add_text(item, overrides, text);
  for (const config::Node::Entry& entry : node.entries) {
    add(entry.key);
    add_text(entry.value, overrides, text);
  }
  text += ';';
}

std::string text_of(const config::Node& node, Overrides overrides) {
  std::string text;
  add_text(node, overrides, text);
  return text;
}

// Checks the words that stand for queues in names of metrics. They have only letters, digits and underscores. They must
// be unique, and the metric of a queue's time must differ from other metrics, such as serial_us.
void check_queue_words(const config::Node& program, config::Diagnostics& diagnostics) {
  const config::Node* queues = program.find("queues");
  std::map<std::string, std::string> known;
  if (!queues) return;  // reported when the program is parsed
  for (const config::Node::Entry& entry : queues->entries) {
    const std::string word = metric_word(entry.key);
    const auto [same, fresh] = known.emplace(word, entry.key);
    if (!fresh) {
      diagnostics.error(entry.key_place,
                        fmt::format("queues {} and {} both become '{}' in the names of metrics",
                                    config::in_quotes(same->second), config::in_quotes(entry.key), word),
                        "rename one of them");
    }
    const auto taken = [&](const MetricInfo& info) { return info.name == word + "_us"; };
    if (queues->entries.size() > 1 && std::any_of(metric_infos().begin(), metric_infos().end(), taken)) {
      diagnostics.error(entry.key_place,
                        fmt::format("queue {} would have the same name as a metric of the run: {}_us",
                                    config::in_quotes(entry.key), word),
                        "rename it");
    }
  }
}

// Returns the resident memory of this process in bytes.
std::size_t memory_in_use() {
  std::size_t pages_in_all = 0;
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages_in_all >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Limit of the memory for prepared runs, in bytes. A fork copies the page table of the process; this takes about 10 us
// per MiB of resident memory.
constexpr std::size_t most_kept = std::size_t{128} << 20;

}  // namespace

PreparedRun PreparedRun::only(std::uint32_t queue) const {
  auto alone = std::make_shared<program::Program>(program->only(queue));
  const double own_steps = program::work_of(*alone).steps / fold.images;
  PreparedRun own{system, std::move(alone), {}, {}, {}, own_steps, fold, machine};
  own.operating = operating;
  return own;
}

std::unique_ptr<machine::Machine> check_system(const machine::SystemSpec& system, const config::Node& node,
                                               config::Diagnostics& diagnostics) {
  const bool engine = system.network.model == machine::NetworkModel::flow;
  config::Problem error;
  auto machine = first_node(system, error);
  if (!machine) diagnostics.error(node.place, error);
  return engine ? nullptr : std::move(machine);
}

Preparer::Preparer(Purpose purpose, Folding folding)
    : purpose_(purpose), folding_(folding), memory_before_(memory_in_use()) {}

bool Preparer::has_room() const { return memory_in_use() < memory_before_ + most_kept; }

Preparer::System Preparer::system_of(const config::Node& node, config::Diagnostics& diagnostics) {
  std::string text = text_of(node, Overrides::count);
  if (const auto known = systems_.find(text); known != systems_.end()) return known->second;
  const std::size_t before = diagnostics.size();
  auto parsed = libraries::read_system(node, diagnostics, nullptr, "system");
  if (!parsed) return {};
  System system{std::make_shared<const libraries::EquippedSystem>(std::move(*parsed)), nullptr};
  auto machine = check_system(*system.spec, node, diagnostics);
  const bool first = systems_.empty();
  if (first || has_room()) system.machine = std::make_shared<std::unique_ptr<machine::Machine>>(std::move(machine));
  machine.reset();
  if (first) memory_before_ = memory_in_use();
  if (diagnostics.size() == before && has_room()) systems_.emplace(std::move(text), system);
  return system;
}

replay::Fold Preparer::fold_of(const System& system, const program::Program& program) const {
  const machine::SystemSpec& spec = *system.spec;
  if (spec.network.model == machine::NetworkModel::flow && spec.fabric)
    return {1, folding_ == Folding::off ? "--fold off" : "the flows of SimGrid need the whole network"};
  std::unique_ptr<machine::Machine> built;
  if (!system.machine || !*system.machine) {
    config::Problem error;
    built = machine::Machine::build(spec, error, {}, static_cast<program::Rank>(spec.nodes));
    MOIRE_INVARIANT(built != nullptr, "a checked system was not built: " + error.str());
  }
  replay::Fold fold = replay::fold_of(built ? *built : **system.machine, program);
  // All ranks are simulated, in the order that a folded run has.
  if (folding_ == Folding::off) fold = {.why_not = "--fold off", .circle = fold.circle};
  return fold;
}

std::optional<config::Problem> Preparer::cannot_run(const program::Program& program, const machine::SystemSpec& system,
                                                    const replay::Fold& fold, double steps) const {
  if (folding_ == Folding::require && fold.images == 1 && system.nodes > 1)
    return config::Problem{"--fold require: " + fold.why_not, "use --fold auto, which simulates all ranks"};
  return too_large(program, system, fold.images, steps);
}

// Returns the run `even` with the late and slow parts that `perturb` draws, or `even` itself if there are none. Its
// program stays that of `even`, because a collective library does not know which parts are late or slow.
PreparedRunPtr Preparer::perturbed(const PreparedRunPtr& even, const System& system, const config::Node& perturb,
                                   const config::Node& program, config::Diagnostics& diagnostics) const {
  std::unique_ptr<machine::Machine> built;
  config::Problem error;
  if (!system.machine || !*system.machine) built = first_node(*even->system, error);
  const auto& networks = (built ? *built : **system.machine).service<part::Networks>();
  auto drawn =
      perturb::draw(perturb, *even->system, networks.networks() > 0 ? &networks.topology() : nullptr, diagnostics);
  if (!drawn) return nullptr;
  if (!drawn->uneven) return even;
  auto uneven = std::make_shared<libraries::EquippedSystem>(*even->system);
  uneven->uneven = std::move(drawn->uneven);
  PreparedRun run = *even;
  run.system = std::move(uneven);
  run.machine = nullptr;
  run.fold = fold_of({run.system, nullptr}, *run.program);
  run.steps = even->steps * even->fold.images / run.fold.images;
  run.notes.insert(run.notes.end(), drawn->notes.begin(), drawn->notes.end());
  run.unperturbed = even;
  if (const auto problem = cannot_run(*run.program, *run.system, run.fold, run.steps)) {
    diagnostics.error(program.place, *problem);
    return nullptr;
  }
  return std::make_shared<const PreparedRun>(std::move(run));
}

PreparedRunPtr Preparer::prepare(const Scenario& scenario, const Run& run, config::Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.size();
  config::Node tree = scenario.tree;
  if (core::logs(core::LogLevel::info)) core::log_info("run {}", run.label().empty() ? scenario.name : run.label());
  if (!apply_changes(scenario, run, tree, diagnostics)) return nullptr;
  const config::Node* system_node = tree.find("system");
  const config::Node* program_node = tree.find("program");
  if (!system_node || !program_node) return nullptr;  // reported when the scenario was loaded
  const System checked = system_of(*system_node, diagnostics);
  const auto& [system, machine] = checked;
  if (!system) return nullptr;
  std::pair same{system.get(), text_of(*program_node, Overrides::ignore)};
  const auto known = runs_.find(same);
  PreparedRunPtr prepared = known == runs_.end() ? nullptr : known->second;
  if (!prepared) {
    check_queue_words(*program_node, diagnostics);
    operators::BuiltProgram built = operators::build_program(*program_node, *system, traces_, diagnostics,
                                                             purpose_ == Purpose::check ? &untried_ : nullptr);
    if (!built.program || diagnostics.size() > before) return nullptr;
    auto problem = machine::does_not_fit(*built.program, *system);
    const replay::Fold fold = problem ? replay::Fold{} : fold_of(checked, *built.program);
    const double steps = program::work_of(*built.program).steps / fold.images;
    if (!problem) problem = cannot_run(*built.program, *system, fold, steps);
    if (problem) {
      diagnostics.error(program_node->place, *problem);
      return nullptr;
    }
    prepared = std::make_shared<const PreparedRun>(PreparedRun{system, std::move(built.program),
                                                               std::move(built.recorded), std::move(built.exchanges),
                                                               std::move(built.notes), steps, fold, machine});
    if (has_room()) runs_.emplace(std::move(same), prepared);
  }
  if (const config::Node* node = tree.find("perturb")) {
    prepared = perturbed(prepared, checked, *node, *program_node, diagnostics);
    if (!prepared) return nullptr;
  }
  prepared = with_operating_point(std::move(prepared), tree.find("operating_point"), diagnostics);
  if (!prepared) return nullptr;
  if (scenario.spread) prepared = with_spread(*prepared, *scenario.spread, diagnostics);
  if (!prepared) return nullptr;
  if (scenario.ideal == Ideal::overlap && run.variant == scenario.compare_to && prepared->program->families() < 2) {
    diagnostics.error(scenario.ideal_place, "'ideal: overlap' is set, but the program has one queue",
                      "remove it, or write two or more queues");
    return nullptr;
  }
  return prepared;
}

PreparedRunPtr PreparedStudy::run(std::size_t number) const {
  if (runs[number]) return runs[number];
  config::Diagnostics diagnostics;
  PreparedRunPtr prepared =
      Preparer(Preparer::Purpose::run, folding).prepare(scenario, run_of(scenario, number), diagnostics);
  MOIRE_INVARIANT(prepared != nullptr, "a checked run was refused: " + diagnostics.str());
  return prepared;
}

std::optional<PreparedStudy> prepare_runs(Scenario scenario, Preparer& preparer, config::Diagnostics& diagnostics) {
  struct Seen {
    config::Diagnostic error;
    std::size_t runs = 0;
    std::size_t first = 0;
  };
  std::map<std::string, Seen> seen;
  std::vector<std::string> order;
  PreparedStudy study;
  study.folding = preparer.folding();
  const std::size_t before = diagnostics.size();
  check_overwrites(scenario, diagnostics);
  const std::size_t runs = scenario.runs();
  for (std::size_t number = 0; number < runs; ++number) {
    config::Diagnostics own;
    PreparedRunPtr prepared = preparer.prepare(scenario, run_of(scenario, number), own);
    study.notes.push_back(prepared ? notes_of(scenario, run_of(scenario, number), *prepared)
                                   : std::vector<std::string>());
    study.steps.push_back(prepared ? prepared->steps : 0);
    study.runs.push_back(preparer.has_room() ? std::move(prepared) : nullptr);
    for (const config::Diagnostic& error : own.sorted()) {
      const auto [it, fresh] = seen.try_emplace(error.str(), Seen{error, 0, number});
      if (fresh) order.push_back(error.str());
      ++it->second.runs;
    }
  }
  for (const std::string& text : order) {
    const Seen& one = seen.at(text);
    std::string what = one.error.what;
    if (one.runs < runs) {
      const std::string label = config::in_quotes(run_of(scenario, one.first).label());
      what += one.runs == 1 ? fmt::format(" (in run {})", label)
                            : fmt::format(" (in {} of {} runs, first {})", one.runs, runs, label);
    }
    diagnostics.error(one.error.place, what, one.error.remedy);
  }
  if (diagnostics.size() > before) return std::nullopt;
  study.scenario = std::move(scenario);
  return study;
}

std::vector<std::pair<std::string, config::Node>> parameters_of(const Scenario& scenario, const Run& run) {
  std::vector<std::pair<std::string, config::Node>> parameters;
  const auto add = [&parameters](const config::Override& change) {
    const std::string path = config::join(change.path, ".");
    const auto known =
        std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.first == path; });
    if (known != parameters.end()) {
      known->second = change.value;
    } else {
      parameters.emplace_back(path, change.value);
    }
  };
  for (const Choice* choice : run.choices) {
    for (const config::Override& change : choice->changes) add(change);
  }
  for (const config::Override& set : scenario.sets) {
    if (varies_runs(set)) add(set);
  }
  return parameters;
}

}  // namespace moire::study
