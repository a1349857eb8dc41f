#include "tests/laws/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "app/study/child_run.hpp"
#include "app/study/prepare.hpp"
#include "sim/core/failure.hpp"
#include "sim/core/invariant.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::laws {

namespace {

struct Cut {};

// Records the bytes that ranks send to each other and when each rank ends.
class Ledger final : public program::Observer {
 public:
  Ledger(Outcome& outcome, std::size_t ranks, std::size_t most) : outcome_(outcome), most_(most) {
    outcome.rank_end.resize(ranks);
    outcome.sent.resize(ranks);
    outcome.received.resize(ranks);
    outcome.handed_on.resize(ranks);
  }
  void operation(const program::OperationSpan& span) override {
    count();
    outcome_.rank_end[span.rank] = std::max(outcome_.rank_end[span.rank], span.end);
  }
  void workgroup(const program::WorkgroupSpan& span) override {
    count();
    if (span.work && span.peer != span.rank) moved(span.rank, span.peer, span.peer_bytes.value);
  }
  void put(const program::PutSpan& span) override {
    count();
    if (!span.path.starts_with("NIC")) return;
    const bool relayed = span.relay != program::no_rank;
    moved(relayed ? span.relay : span.source, span.destination, span.bytes.value);
    // Before a relayed put, its source stored the data to the relay. A put of a flag without data (8 B) needs no store.
    if (relayed && span.bytes.value > 8) outcome_.handed_on[span.relay] += span.bytes.value;
  }
  void copy(const program::CopySpan& span) override {
    count();
    if (span.peer != span.rank) moved(span.rank, span.peer, span.bytes.value);
  }

 private:
  void count() {
    if (++outcome_.steps > most_) throw Cut{};
  }
  void moved(program::Rank from, program::Rank to, double bytes) {
    outcome_.sent[from] += bytes;
    outcome_.received[to] += bytes;
  }
  Outcome& outcome_;
  std::size_t most_;
};

std::string folder() { return support::source_dir() + "/configs/"; }

// Returns the tree of a file with all its includes.
config::Node loaded(const std::filesystem::path& file) {
  config::Diagnostics diagnostics;
  auto tree = config::load(file, {}, diagnostics);
  if (!tree || !diagnostics.ok()) throw std::runtime_error(diagnostics.str());
  return *tree;
}

config::Node program_tree(const std::string& text, config::Diagnostics& diagnostics) {
  auto tree = config::load_text(folder() + "scenarios/law.yaml", text, {}, diagnostics);
  return tree ? std::move(*tree) : config::Node{};
}

}  // namespace

std::string Scenario::yaml() const {
  return fmt::format("sources: {{s: a test}}\ndescription: a law\nsystem: ../systems/{}.yaml\nprogram: {}\n", system,
                     program);
}

std::string Scenario::command() const {
  std::string text;
  for (const Change& change : changes) text += fmt::format(" --set '{}={}'", change.path, change.value);
  return text;
}

double Outcome::metric(std::string_view name) const { return study::value_of(result.metrics, name).value_or(0); }

const char* name_of(Outcome::Kind kind) {
  constexpr const char* names[] = {"ran", "refused", "deadlocked", "cut", "broke"};
  return names[static_cast<std::size_t>(kind)];
}

const config::Node& system_tree(const std::string& name) {
  static std::map<std::string, config::Node> trees;
  const auto [at, fresh] = trees.try_emplace(name);
  if (fresh) at->second = loaded(folder() + "systems/" + name + ".yaml");
  return at->second;
}

std::vector<std::string> system_names() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder() + "systems"))
    if (file.path().extension() == ".yaml") names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

const std::vector<Parameter>& all_numbers_of(const std::string& system) {
  static std::map<std::string, std::vector<Parameter>> known;
  const auto [at, fresh] = known.try_emplace(system);
  if (fresh) at->second = parameters_of(system_tree(system), config::description<machine::SystemSpec>(), "system");
  return at->second;
}

const std::vector<Parameter>& hardware_of(const std::string& system) {
  static std::map<std::string, std::vector<Parameter>> known;
  const auto [at, fresh] = known.try_emplace(system);
  if (fresh) {
    for (const Parameter& one : all_numbers_of(system))
      if (direction_of(one.name) != nullptr) at->second.push_back(one);
  }
  return at->second;
}

Outcome simulate(const Scenario& scenario, std::size_t most_spans, study::Folding folding) {
  Outcome outcome;
  config::Diagnostics diagnostics;
  const auto refused = [&] {
    outcome.kind = Outcome::Kind::refused;
    outcome.text = diagnostics.str();
    return outcome;
  };
  try {
    config::Node tree =
        program_tree("sources: {s: a test}\ndescription: a law\nsystem: {}\nprogram: " + scenario.program, diagnostics);
    if (config::Node* system = tree.find("system")) *system = system_tree(scenario.system);
    std::vector<std::string> sets;
    for (const Change& change : scenario.changes) sets.push_back(change.path + "=" + change.value);
    const std::vector<config::Override> overrides = config::parse_sets(sets, diagnostics);
    for (const config::Override& set : overrides) study::apply_change(set, tree, diagnostics);
    const study::Scenario study = study::read_scenario(std::move(tree), {}, diagnostics);
    if (!diagnostics.ok()) return refused();
    study::Preparer preparer(study::Preparer::Purpose::run, folding);
    const study::PreparedRunPtr run = preparer.prepare(study, study::run_of(study, 0), diagnostics);
    if (run == nullptr || !diagnostics.ok()) return refused();
    outcome.ranks = run->program->ranks();
    Ledger ledger(outcome, run->program->ranks(), most_spans);
    outcome.result = study::simulate(*run, most_spans > 0 ? &ledger : nullptr);
    outcome.kind = outcome.result.deadlock.empty() ? Outcome::Kind::ran : Outcome::Kind::deadlocked;
    outcome.text = outcome.result.deadlock;
  } catch (const Cut&) {
    outcome.kind = Outcome::Kind::cut;
  } catch (const std::exception& problem) {
    outcome.kind = Outcome::Kind::broke;
    outcome.text = problem.what();
  }
  return outcome;
}

Outcome simulate_in_child(const Scenario& scenario) {
  Outcome outcome;
  std::cout << std::flush;  // otherwise the child would write the buffered text once more
  try {
    outcome.result = study::simulate_in_child(
        [&] {
          const Outcome own = simulate(scenario, 0);
          if (own.kind == Outcome::Kind::broke) throw core::InvariantError(own.text);
          if (!own.ran()) throw core::RunFailure(own.text);
          return own.result;
        },
        [] {});
    outcome.kind = Outcome::Kind::ran;
  } catch (const core::RunFailure& refused) {
    outcome.kind = Outcome::Kind::refused;
    outcome.text = refused.what();
  } catch (const std::exception& problem) {
    outcome.kind = Outcome::Kind::broke;
    outcome.text = problem.what();
  }
  return outcome;
}

}  // namespace moire::laws
