// All-to-All: every rank sends a share of the same size to every other rank and keeps one of its own. Two engines: a
// library's kernel of channels (README.md), or copies by the GPUs' DMA engines.
#pragma once

#include <optional>
#include <string>

#include "models/builder/builder.hpp"
#include "models/collective/library_spec.hpp"

namespace moire::models::collective {

enum class Engine { cu, dma };

// The operator `all_to_all`.
struct AllToAllSpec {
  Bytes bytes_per_peer;
  Engine engine = Engine::cu;
  std::optional<LibrarySpec> library;  // for engine cu
  static void describe(config::Describer<AllToAllSpec>& d);
};

// Says why a machine cannot run it and what would be right.
std::optional<std::string> check_all_to_all(Engine engine, bool has_library, const machine::SystemSpec& system);
std::optional<std::string> check_all_to_all(const AllToAllSpec& spec, const machine::SystemSpec& system);

void append_all_to_all(builder::Builder& build, const AllToAllSpec& spec, const std::string& name);
void append_all_to_all(builder::Builder& build, const AllToAllSpec& spec);

// One of the engines: a kernel of the library, copies in rotated order and the own share last.
void append_library_all_to_all(builder::Builder& build, const LibrarySpec& library, Bytes bytes_per_peer,
                               const std::string& name = "all_to_all");
void append_copied_all_to_all(builder::Builder& build, Bytes bytes_per_peer, const std::string& name = "all_to_all");

}  // namespace moire::models::collective
