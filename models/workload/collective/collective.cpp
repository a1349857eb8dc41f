#include "models/workload/collective/collective.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/hardware/machine/parts.hpp"
#include "models/workload/collective/algorithms.hpp"
#include "models/workload/collective/channel_kernel.hpp"
#include "models/workload/collective/messages.hpp"
#include "models/workload/collective/nvls.hpp"
#include "models/workload/collective/selection.hpp"
#include "models/workload/collective/shares.hpp"
#include "models/workload/collective/timing.hpp"
#include "sim/config/suggest.hpp"
#include "sim/core/failure.hpp"
#include "sim/program/work.hpp"

namespace moire::collective {

namespace {

using libraries::LibrarySpec;

bool reduces(Kind kind) { return kind == Kind::all_reduce || kind == Kind::reduce_scatter; }
bool is_message(Kind kind) { return kind == Kind::all_to_all || kind == Kind::send_recv; }

const LibrarySpec* library_of(const Collective& collective, const libraries::EquippedSystem& system) {
  if (collective.method.library) return &*collective.method.library;
  return system.software.library ? &*system.software.library : nullptr;
}

std::optional<config::Problem> check_algorithm(const Collective& c, const machine::SystemSpec& system) {
  const Algorithm algorithm = c.method.algorithm;
  if (!chosen(algorithm) || algorithm == Algorithm::direct) return std::nullopt;
  if (c.method.engine != Engine::cu) return std::nullopt;  // engines dma and nic send directly to every peer
  if (is_message(c.kind)) {
    return config::Problem{
        fmt::format("{} sends to peers directly, not by algorithm {}", name_of(c.kind), name_of(algorithm)),
        "write algorithm: direct"};
  }
  const ChannelAlgorithm& asked = algorithm_of(algorithm);
  if (!asked.does(c.kind)) {
    std::vector<std::string> others;
    for (const ChannelAlgorithm* other : algorithms)
      if (other->does(c.kind)) others.emplace_back(other->name);
    const std::string last = others.back();
    others.pop_back();
    return config::Problem{fmt::format("{} {} does not exist", asked.name, name_of(c.kind)),
                           fmt::format("write algorithm: {} or {}", config::join(others), last)};
  }
  const auto wrong = asked.wrong_machine ? asked.wrong_machine(system) : std::nullopt;
  if (wrong) return config::Problem{*wrong, "write algorithm: ring"};
  return std::nullopt;
}

std::optional<config::Problem> check_cu(const Collective& c, const libraries::EquippedSystem& system) {
  const LibrarySpec* library = library_of(c, system);
  if (library == nullptr)
    return config::Problem{"engine cu needs a collective library",
                           "write library: ../libraries/nccl.yaml here or in the system"};
  if (is_message(c.kind)) {
    if (c.method.protocol == Protocol::automatic) return std::nullopt;
    return config::Problem{fmt::format("the protocol of {} follows from the size of its messages", name_of(c.kind)),
                           "leave protocol out"};
  }
  if (!library->channels) {
    return config::Problem{
        fmt::format("library '{}' does not describe channels, so it can only run messages between pairs",
                    library->name),
        "use a profile with channels, such as ../libraries/nccl.yaml"};
  }
  if (is_nvls(c.method.algorithm) && !has_nvls(*library->channels, c.method.algorithm)) {
    return config::Problem{fmt::format("library '{}' does not describe {}", library->name, name_of(c.method.algorithm)),
                           "write algorithm: ring"};
  }
  if (is_nvls(c.method.algorithm) && c.method.protocol != Protocol::automatic &&
      c.method.protocol != Protocol::simple) {
    return config::Problem{
        fmt::format("{} always uses protocol simple (a flag after each chunk)", name_of(c.method.algorithm)),
        "leave protocol out"};
  }
  if (protocol_of(*library->channels, c.method.protocol) == nullptr) {
    return config::Problem{fmt::format("library '{}' has no protocol {}", library->name, name_of(c.method.protocol)),
                           "write protocol: auto"};
  }
  return std::nullopt;
}

std::optional<config::Problem> check_dma(const Collective& c, const machine::SystemSpec& system) {
  if (reduces(c.kind))
    return config::Problem{fmt::format("DMA engines copy and cannot reduce, which {} requires", name_of(c.kind)),
                           "write engine: cu"};
  if (system.nodes > 1)
    return config::Problem{"DMA engines copy only between GPUs of one node", "write engine: cu or system.nodes: 1"};
  if (system.node.wiring == link::Wiring::none) {
    return config::Problem{"DMA engines copy only over links between GPUs, and system.node.wiring is none",
                           "write engine: cu"};
  }
  return std::nullopt;
}

std::optional<config::Problem> check_nic(const Collective& c, const machine::SystemSpec& system) {
  if (reduces(c.kind))
    return config::Problem{fmt::format("puts cannot reduce, which {} requires", name_of(c.kind)), "write engine: cu"};
  if (system.node.nics == 0 || !system.fabric)
    return config::Problem{"engine nic needs NICs and a fabric", "write engine: cu"};
  return std::nullopt;
}

std::string words(const Choice& choice) {
  return fmt::format("{}, {}, {} channel{}", name_of(choice.algorithm), name_of(choice.protocol), choice.channels,
                     choice.channels == 1 ? "" : "s");
}

Collective with(Collective c, const Choice& choice) {
  c.method.algorithm = choice.algorithm;
  c.method.protocol = choice.protocol;
  c.method.channels = choice.channels;
  return c;
}

// True if the workgroups of the choice fit the CUs and the collective is not too large to simulate.
bool can_run(const Choice& choice, const libraries::EquippedSystem& system, const Collective& c) {
  try {
    return !machine::does_not_fit(alone(system, with(c, choice)), system);
  } catch (const core::TooLarge&) {
    return false;
  }
}

// Returns the candidate that ends first if the collective runs alone on the machine, and writes its time to `soonest`.
// Candidates are tried in the order of the lower bounds of their times, until a bound exceeds the best time so far.
Choice fastest(std::vector<Choice> candidates, const libraries::EquippedSystem& system, const Collective& c,
               const libraries::ChannelsSpec& channels, Time& soonest) {
  const auto floor = [&](const Choice& choice) {
    return least_time(*protocol_of(channels, choice.protocol), system, c.kind, choice.algorithm, c.bytes.value);
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Choice& a, const Choice& b) { return floor(a) < floor(b); });
  const Choice* best = nullptr;
  for (const Choice& candidate : candidates) {
    if (best != nullptr && floor(candidate) >= soonest.seconds()) break;
    const Time time = time_of(system, with(c, candidate));
    if (best != nullptr && time >= soonest) continue;
    best = &candidate;
    soonest = time;
  }
  return *best;
}

// Returns the choice in words. The words name PXN if rings leave a node through the NIC by which they enter the node.
std::string words(const Choice& choice, const LibrarySpec& library, const machine::SystemSpec& system) {
  return words(choice) +
         (choice.algorithm == Algorithm::ring && by_one_nic(library, system) ? ", leaving nodes by PXN" : "");
}

Choice decide(const builder::Builder& build, const Collective& c, const LibrarySpec& library) {
  const libraries::ChannelsSpec& channels = *library.channels;
  const Question question{c.kind, c.bytes.value, c.method.algorithm, c.method.protocol, c.method.channels};
  const Choice usual = choose(channels, build.system, question);
  std::string said = words(usual, library, build.system);
  if (usual.expected) said += fmt::format(": {} expects {:.4g} us", library.name, *usual.expected * 1e6);
  const std::string what = fmt::format("{} of {:.0f} B: ", name_of(c.kind), c.bytes.value);
  if (c.method.algorithm != Algorithm::best) {
    const bool decided = c.method.algorithm == Algorithm::automatic || c.method.protocol == Protocol::automatic;
    if (decided && build.notes != nullptr) build.notes->push_back(what + said);
    return usual;
  }
  std::vector<Choice> all = candidates(channels, build.system, question);
  std::erase_if(all, [&](const Choice& choice) { return !can_run(choice, build.system, c); });
  if (all.empty()) return usual;  // the run then reports why the library's choice cannot run
  if (build.untried != nullptr) {
    build.untried->candidates += all.size();
    for (const Choice& choice : all)
      build.untried->steps += program::work_of(alone(build.system, with(c, choice))).steps;
    return all.front();
  }
  Time time;
  const Choice best = fastest(all, build.system, c, channels, time);
  if (build.notes != nullptr) {
    build.notes->push_back(
        fmt::format("{}the best of {} candidates is {}, which takes {:.4g} us alone; the library would choose {}", what,
                    all.size(), words(best, library, build.system), time.us(), said));
  }
  return best;
}

void append_channels(builder::Builder& build, const Collective& c, const LibrarySpec& library,
                     const std::string& name) {
  const libraries::ChannelsSpec& channels = *library.channels;
  const Choice choice = decide(build, c, library);
  if (choice.algorithm == Algorithm::nvls)
    return append_nvls(build, library, c.kind, c.bytes.value, choice.channels, name);
  if (is_nvls(choice.algorithm))
    return append_nvls_between(build, library, choice.algorithm, c.bytes.value, choice.channels, name);
  const libraries::ProtocolSpec protocol =
      fitted(*protocol_of(channels, choice.protocol), build.system, choice, c.bytes.value);
  check_pieces(c.bytes.value / protocol.chunk.value * build.ranks() * static_cast<double>(protocol.slices),
               fmt::format("slices of chunks of {:.0f} B", protocol.chunk.value));
  const Work work{.system = build.system,
                  .kind = c.kind,
                  .bytes = c.bytes.value,
                  .channels = choice.channels,
                  .chunk = protocol.chunk.value,
                  .cell = protocol.cell.value,
                  .copies_own = c.method.own_share != OwnShare::left,
                  .root = c.root,
                  .one_nic = by_one_nic(library, build.system)};
  append_channel_kernel(build, algorithm_of(choice.algorithm).program(work), library, protocol, c.element_bytes, name);
}

}  // namespace

std::optional<config::Problem> check_memory(Bytes bytes, const machine::SystemSpec& system) {
  const Bytes memory = system.node.gpu.hbm.capacity;
  if (bytes.value <= memory.value) return std::nullopt;
  return config::Problem{fmt::format("{:.4g} GB per rank do not fit into its memory of {:.4g} GB", bytes.value * 1e-9,
                                     memory.value * 1e-9),
                         "make the collective smaller"};
}

std::optional<config::Problem> check(const Collective& c, const libraries::EquippedSystem& system) {
  if (system.ranks() < 2) {
    return config::Problem{
        fmt::format("{} {} needs at least 2 ranks",
                    c.kind == Kind::all_to_all || c.kind == Kind::all_gather || c.kind == Kind::all_reduce ? "an" : "a",
                    c.kind == Kind::all_to_all ? "All-to-All" : name_of(c.kind)),
        "raise system.nodes or system.node.gpus"};
  }
  if (c.root >= system.ranks())
    return config::Problem{fmt::format("there is no rank {}", c.root),
                           fmt::format("the last one is {}", system.ranks() - 1)};
  if (c.kind == Kind::send_recv && c.offset >= system.ranks()) {
    return config::Problem{fmt::format("the offset is {}, but there are {} ranks", c.offset, system.ranks()),
                           fmt::format("the largest offset is {}", system.ranks() - 1)};
  }
  const double output = c.bytes.value * (c.kind == Kind::all_gather ? static_cast<double>(system.ranks()) : 1);
  if (auto problem = check_memory(Bytes{output}, system)) return problem;
  if (auto problem = check_algorithm(c, system)) return problem;
  switch (c.method.engine) {
    case Engine::cu:
      return check_cu(c, system);
    case Engine::dma:
      return check_dma(c, system);
    case Engine::nic:
      return check_nic(c, system);
  }
  return std::nullopt;
}

void append(builder::Builder& build, const Collective& c, const std::string& name) {
  if (c.method.engine == Engine::dma) return append_copies(build, c, name);
  if (c.method.engine == Engine::nic) return append_puts(build, c, name);
  const LibrarySpec& library = *library_of(c, build.system);
  if (!is_message(c.kind)) return append_channels(build, c, library, name);
  LibrarySpec limited = library;
  if (c.method.channels) limited.max_channels = std::min(limited.max_channels, *c.method.channels);
  if (c.kind == Kind::send_recv)
    return append_messages(build, limited, c.bytes, Turns(build.ranks()), {c.offset}, name, c.wraps);
  append_all_to_all(build, limited, Bytes{cut(c.bytes.value, build.ranks()).each}, c.method.own_share != OwnShare::left,
                    name);
}

}  // namespace moire::collective
