// Checks that every combination of shipped system, library, operator, algorithm and protocol, size and number of nodes
// runs, or is refused with the place of the error. No combination may end with an internal error.
//   moire_grid [EVERY [FIRST]]   checks every EVERY-th combination, beginning with number FIRST; by default all
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "models/algorithms/mscclang/programs/registry.hpp"
#include "tests/laws/workload.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::laws {
namespace {

constexpr std::size_t most_spans = 20'000;  // a run with more steps is stopped and counts as having run

// An operation without its size: the operator and its keys.
struct Way {
  std::string op;
  std::vector<Key> keys;
};

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const char* kind : {"all_reduce", "reduce_scatter", "all_gather", "broadcast"}) {
    for (const char* algorithm :
         {"auto", "ring", "tree", "direct", "recursive", "pat", "nvls", "nvls_tree", "nvls_sharp"}) {
      for (const char* protocol : {"auto", "simple", "ll", "ll128"})
        all.push_back({kind, {{"algorithm", algorithm}, {"protocol", protocol}}});
    }
    all.push_back({kind, {{"algorithm", "best"}}});
  }
  for (const char* kind : {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all", "send_recv"}) {
    for (const char* engine : {"cu", "dma", "nic"}) all.push_back({kind, {{"engine", engine}}});
  }
  const Key codec{"codec", "4 300 6", 1e6};
  for (const mscclang::ProgramEntry& entry : mscclang::programs()) {
    for (const char* protocol : {"simple", "ll"}) {
      all.push_back({"msccl", {{"program", fmt::format("{{{}: {{protocol: {}}}}}", entry.name, protocol)}}});
      if (entry.name.ends_with("_encoded")) all.back().keys.push_back(codec);
    }
  }
  all.push_back({"stream", {}});
  all.push_back({"gemm", {{"m", "512"}, {"n", "1000"}}});
  for (const char* schedule : {"bulk_synchronous", "fused", "unfused_kernel", "all_to_all"})
    all.push_back({"embedding_all_to_all",
                   {{"schedule", schedule},
                    {"global_batch", "64"},
                    {"pooling", "8"},
                    {"dim", "64"},
                    {"rows_per_table", "1000"},
                    {"in_flight", "4 KiB"}}});
  for (const char* schedule : {"bulk_synchronous", "split", "pipelined", "fused"}) {
    const bool fused = std::string(schedule) == "fused";
    const auto product = [&](const char* op, const std::vector<const char*>& movers) {
      for (const char* mover : movers) {
        all.push_back({op, {{"gemm.m", "512"}, {"gemm.n", "1000"}, {"schedule", schedule}, {"mover", mover}}});
        if (!fused) break;
      }
    };
    product("gemm_reduce_scatter", {"store", "add", "pull"});
    product("all_gather_gemm", {"copy_engine", "push", "pull"});
  }
  const Key model{"model", support::source_dir() + "/configs/models/llama2_70b.yaml"};
  for (const char* pass : {"prefill", "decode", "training"}) {
    for (const char* schedule : {"bulk_synchronous", "fused"})
      all.push_back({"transformer", {model, {"sequences", "3"}, {"pass", pass}, {"schedule", schedule}}});
  }
  for (const char* by : {"library", "host"})
    all.push_back({"data_parallel_step", {model, {"sequences", "1"}, {"gradients", fmt::format("{{by: {}}}", by)}}});
  for (const char* op : {"compress", "decompress", "decompress_reduce_compress"}) all.push_back({op, {codec}});
  for (const char* compression : {"off", "every_hop", "root"}) {
    const auto chunked = [&](const char* op, std::vector<Key> keys) {
      keys.push_back({"compression", compression});
      if (std::string(compression) != "off") keys.push_back(codec);
      all.push_back({op, std::move(keys)});
    };
    for (const char* algorithm : {"chain", "binomial", "scatter_all_gather"})
      chunked("chunked_broadcast", {{"algorithm", algorithm}});
    for (const char* op : {"chunked_all_gather", "chunked_reduce_scatter", "chunked_all_reduce"}) chunked(op, {});
  }
  return all;
}

// Returns the size of an operation for a message of `bytes`. For some operators the size is k of a product, the length
// of sequences or the number of tables of an embedding; it is then the number `bytes`, limited to a maximum.
double size_of(const Way& way, double bytes) {
  if (way.op == "transformer" || way.op == "data_parallel_step") return std::min(bytes, 2048.);
  if (way.op == "gemm" || way.op == "gemm_reduce_scatter" || way.op == "all_gather_gemm") return std::min(bytes, 8192.);
  if (way.op == "embedding_all_to_all") return std::min(bytes, 4.);
  if (way.keys.size() == 1 && way.keys[0].text == "best")
    return std::min(bytes, 65537.);  // `best` simulates every algorithm
  return bytes;
}

// Returns the files of collective libraries; "" stands for the library of the system.
std::vector<std::string> libraries() {
  std::vector<std::string> names{""};
  for (const char* name : {"nccl", "rccl", "rccl_mi300x"})
    names.push_back(support::source_dir() + "/configs/libraries/" + name + ".yaml");
  return names;
}

struct Counts {
  std::map<Outcome::Kind, std::size_t> of;
};

bool has_position(const std::string& text) {
  const std::size_t colon = text.find(':');
  return colon != std::string::npos && colon + 1 < text.size() &&
         (std::isdigit(text[colon + 1]) != 0 || text.starts_with("--set"));
}

int run(std::size_t every, std::size_t first) {
  std::map<std::string, Counts> systems;
  std::size_t number = 0, broken = 0;
  for (const std::string& system : system_names()) {
    const auto gpus = static_cast<std::int64_t>(number_of(system, "system.node.gpus", 1));
    for (const std::string& library : libraries()) {
      for (const Way& way : ways()) {
        for (const double bytes : {1., 1000., 65537., 10485760., 1073741824.}) {
          for (const std::int64_t nodes : {1, 2, 4}) {
            if (number++ % every != first) continue;
            Case one;
            one.op = way.op;
            one.system = system;
            one.nodes = nodes;
            one.gpus = gpus;
            one.work.op = way.op;
            one.work.keys = way.keys;
            one.work.size = size_of(way, bytes);
            Scenario scenario = one.scenario();
            if (!library.empty()) scenario.changes.push_back({"system.library", library});
            const Outcome outcome = simulate(scenario, most_spans);
            ++systems[system].of[outcome.kind];
            // MSCCL algorithms that send before they receive deadlock if their FIFOs are too short. They also do this
            // on a GPU, so such a deadlock is no error.
            const bool hangs = way.op == "msccl" && outcome.kind == Outcome::Kind::deadlocked;
            const bool held = outcome.ran() || hangs || outcome.kind == Outcome::Kind::cut ||
                              (outcome.kind == Outcome::Kind::refused && has_position(outcome.text));
            if (held) continue;
            ++broken;
            fmt::print("combination {}: {}: {}\n{}moire run FILE{}\n\n", number - 1, name_of(outcome.kind),
                       outcome.text, scenario.yaml(), scenario.command());
          }
        }
      }
    }
  }
  fmt::print("{:24}{:>10}{:>10}{:>10}{:>10}\n", "system", "ran", "refused", "cut", "hung");
  for (auto& [name, counts] : systems)
    fmt::print("{:24}{:>10}{:>10}{:>10}{:>10}\n", name, counts.of[Outcome::Kind::ran],
               counts.of[Outcome::Kind::refused], counts.of[Outcome::Kind::cut], counts.of[Outcome::Kind::deadlocked]);
  fmt::print("\n{} combinations, every {} of them from {}: {} broken\n", number, every, first, broken);
  return broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace moire::laws

int main(int argc, char** argv) {
  const auto number = [&](int at, std::size_t absent) {
    return at < argc ? static_cast<std::size_t>(std::strtoull(argv[at], nullptr, 10)) : absent;
  };
  const std::size_t every = std::max<std::size_t>(number(1, 1), 1);
  return moire::laws::run(every, number(2, 0) % every);
}
