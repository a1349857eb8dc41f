// libFuzzer: applies `--set` to shipped systems. The first line of the bytes names a system of configs/systems, and
// every other line is PATH=VALUE. It must be possible to prepare the changed scenario, or it must be refused with an
// error message. Large machines are not built, because they would take too long.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sstream>
#include <string>

#include "app/study/prepare.hpp"
#include "sim/core/failure.hpp"
#include "tests/laws/random.hpp"
#include "tests/laws/simulation.hpp"

// libFuzzer's function for default mutations; null in builds without libFuzzer.
extern "C" std::size_t LLVMFuzzerMutate(unsigned char* data, std::size_t size, std::size_t most) __attribute__((weak));

namespace {

using namespace moire;

constexpr const char* simulated =
    "{queues: {main: [{all_reduce: {size: 64 KiB}}, {gemm: {m: 128, n: 128, k: 64}}], side: [{stream: {read: 64 "
    "KiB}}]}}";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

const std::string& system_of(const std::vector<std::string>& lines) {
  static const std::vector<std::string> names = laws::system_names();
  if (!lines.empty()) {
    for (const std::string& name : names)
      if (name == lines[0]) return name;
  }
  return names[0];
}

void add_paths(const config::Node& node, const std::string& path, std::vector<std::string>& out) {
  if (!path.empty()) out.push_back(path);
  const std::string before = path.empty() ? "" : path + ".";
  for (const config::Node::Entry& entry : node.entries) add_paths(entry.value, before + entry.key, out);
  for (std::size_t i = 0; i < node.items.size(); ++i) add_paths(node.items[i], before + std::to_string(i), out);
}

// True if the changed machine is small enough to be built here.
bool small(const config::Node& tree) {
  const config::Node* system = tree.find("system");
  config::Diagnostics diagnostics;
  const auto spec = system ? libraries::read_system(*system, diagnostics) : std::nullopt;
  return !spec || (spec->nodes <= 32 && spec->node.gpus <= 32 && spec->ranks() <= 32);
}

[[noreturn]] void broken(const std::string& text, const std::string& why) {
  std::fprintf(stderr, "%s\n%s\n", why.c_str(), text.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> lines = lines_of(text);
  if (lines.size() > 6) return 0;
  laws::Scenario scenario{.system = system_of(lines), .program = simulated, .changes = {}};
  config::Diagnostics diagnostics;
  const config::LoadOptions options{.includes = false, .nodes = 1'000};
  std::vector<std::string> sets;
  for (std::size_t i = 1; i < lines.size(); ++i) sets.push_back(lines[i]);
  config::Node tree;
  tree.kind = config::Node::Kind::map;
  tree.entries.push_back({"system", {}, laws::system_tree(scenario.system)});
  if (config::Node* nodes = tree.entries.back().value.find("nodes")) nodes->text = "2";
  static const config::Node program_tree = [] {
    config::Diagnostics none;
    return *config::load_text("fuzz.yaml", simulated, {}, none);
  }();
  tree.entries.push_back({"program", {}, program_tree});
  for (const config::Override& set : config::parse_sets(sets, diagnostics, options))
    study::apply_change(set, tree, diagnostics);
  if (!diagnostics.ok() || !small(tree)) return 0;
  try {
    const study::Scenario read = study::read_scenario(std::move(tree), {}, diagnostics);
    if (!diagnostics.ok()) return 0;
    study::Preparer preparer;
    const study::PreparedRunPtr run = preparer.prepare(read, study::run_of(read, 0), diagnostics);
    if ((run != nullptr) != diagnostics.ok()) broken(text, "refused without an error message");
  } catch (const core::TooLarge&) {
  } catch (const std::exception& problem) {
    broken(text, problem.what());
  }
  return 0;
}

// Mutates an input. Half of the mutations are libFuzzer's own; the other half inserts an existing path or one of the
// values below.
extern "C" std::size_t mutate_set(unsigned char* data, std::size_t size, std::size_t most, unsigned seed) {
  constexpr const char* values[] = {"0",      "1",    "-1",        "0.5",   "1e-9 B/s", "1e30", "9223372036854775807",
                                    "null",   "[]",   "{}",        "nan",   ".inf",     "3 B",  "0.1 B",
                                    "2e19 B", "1 ps", "1000000 s", "1 MHz", "true",     "'x'",  "65536"};
  laws::Random random(seed);
  if (random.one_in(2)) return LLVMFuzzerMutate(data, size, most);
  std::vector<std::string> lines = lines_of({reinterpret_cast<const char*>(data), size});
  if (lines.empty() || random.one_in(16)) {
    static const std::vector<std::string> names = laws::system_names();
    lines.resize(std::max<std::size_t>(lines.size(), 1));
    lines[0] = random.of(names);
  }
  if (lines.size() < 2 || (lines.size() < 4 && random.one_in(8))) lines.emplace_back("system.nodes=1");
  std::string& line = lines[1 + random.below(lines.size() - 1)];
  const std::size_t equals = std::min(line.find('='), line.size());
  if (random.one_in(2)) {
    std::vector<std::string> paths;
    add_paths(laws::system_tree(system_of(lines)), "system", paths);
    line = random.of(paths) + line.substr(equals);
  } else {
    line = line.substr(0, equals) + "=" + values[random.below(std::size(values))];
  }
  std::string text;
  for (const std::string& each : lines) text += each + "\n";
  text.resize(std::min(text.size(), most));
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
#ifndef LLVMFuzzerTestOneInput
extern "C" std::size_t LLVMFuzzerCustomMutator(unsigned char* data, std::size_t size, std::size_t most, unsigned seed) {
  return mutate_set(data, size, most, seed);
}
#endif
