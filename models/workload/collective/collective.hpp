// A collective among all ranks, run by a library's kernel, by DMA engines or by puts that the GPUs issue.
#pragma once

#include <optional>
#include <string>

#include "models/workload/builder/builder.hpp"
#include "models/workload/collective/kind.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

// Whether a rank's own share of the output is copied there, or left because it is already in place.
enum class OwnShare : std::uint8_t { automatic, copied, left };

// How a collective is to be run, whatever its kind.
struct Method {
  Engine engine = Engine::cu;
  Algorithm algorithm = Algorithm::automatic;
  Protocol protocol = Protocol::automatic;
  std::optional<std::int64_t> channels{};  // upper limit
  Streams streams = Streams::one;
  Order order = Order::rotated;
  OwnShare own_share = OwnShare::automatic;         // automatic: engine cu copies it, the others leave it
  std::optional<libraries::LibrarySpec> library{};  // absent: the system's
};

struct Collective {
  Kind kind = Kind::all_gather;
  Bytes bytes{};  // input of a rank; for a broadcast, the buffer
  Method method{};
  double element_bytes = 2;  // size of an element that is reduced
  program::Rank root = 0;    // broadcast only
  program::Rank offset = 1;  // send_recv: rank r sends to r + offset
  bool wraps = true;         // send_recv: wrap around; else the last ranks send nothing and the first receive nothing
};

// Return why the machine cannot run it and what would be right; nothing if it can. check_memory() asks whether a buffer
// of `bytes` fits a rank's memory.
std::optional<config::Problem> check_memory(Bytes bytes, const machine::SystemSpec& system);
std::optional<config::Problem> check(const Collective& collective, const libraries::EquippedSystem& system);

void append(builder::Builder& build, const Collective& collective, const std::string& name);

// For a collective that passed check(): copies by DMA engines, and puts by workgroups.
void append_copies(builder::Builder& build, const Collective& collective, const std::string& name);
void append_puts(builder::Builder& build, const Collective& collective, const std::string& name);

}  // namespace moire::collective
