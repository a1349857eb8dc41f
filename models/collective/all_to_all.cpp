#include "models/collective/all_to_all.hpp"

#include "sim/config/spec.hpp"

namespace moire::models::collective {

void AllToAllSpec::describe(config::Describer<AllToAllSpec>& d) {
  d.component("all_to_all", "Every rank sends a share to every other rank and keeps one of its own.");
  d.field("bytes_per_peer", &AllToAllSpec::bytes_per_peer, "Bytes of one share").positive();
  d.field("engine", &AllToAllSpec::engine,
          "cu: a kernel of the collective library; dma: copies by the DMA engines, the peers in turn")
      .choices({{"cu", Engine::cu}, {"dma", Engine::dma}})
      .or_default();
  d.field("library", &AllToAllSpec::library, "Engine cu: the collective library, a file of configs/libraries")
      .optional();
}

std::optional<std::string> check_all_to_all(Engine engine, bool has_library, const machine::SystemSpec& system) {
  if (system.ranks() < 2) return "an All-to-All needs at least 2 ranks; raise system.nodes or system.node.gpus";
  if (engine == Engine::cu) {
    if (has_library) return std::nullopt;
    return "engine cu needs a collective library; write library: ../libraries/rccl.yaml";
  }
  if (system.nodes > 1) return "DMA engines copy only between GPUs of one node; write engine: cu or system.nodes: 1";
  if (system.node.wiring == link::Wiring::none) {
    return "DMA engines copy only over links between GPUs, and system.node.wiring is none; write engine: cu";
  }
  return std::nullopt;
}

std::optional<std::string> check_all_to_all(const AllToAllSpec& spec, const machine::SystemSpec& system) {
  return check_all_to_all(spec.engine, spec.library.has_value(), system);
}

void append_all_to_all(builder::Builder& build, const AllToAllSpec& spec, const std::string& name) {
  if (spec.engine == Engine::dma) {
    append_copied_all_to_all(build, spec.bytes_per_peer, name);
  } else {
    append_library_all_to_all(build, *spec.library, spec.bytes_per_peer, name);
  }
}

void append_all_to_all(builder::Builder& build, const AllToAllSpec& spec) {
  append_all_to_all(build, spec, "all_to_all");
}

}  // namespace moire::models::collective
