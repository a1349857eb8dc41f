// Declares a collective among all ranks. A library's kernel, DMA engines, or puts that the GPUs issue can run it.
#pragma once

#include <optional>
#include <string>

#include "models/workload/builder/builder.hpp"
#include "models/workload/collective/kind.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

// States whether a rank copies its own share to the output, or leaves the share because it is already in place.
enum class OwnShare : std::uint8_t { automatic, copied, left };

// States how a collective of any kind runs.
struct Method {
  Engine engine = Engine::cu;
  Algorithm algorithm = Algorithm::automatic;
  Protocol protocol = Protocol::automatic;
  std::optional<std::int64_t> channels{};  // largest number of channels
  Streams streams = Streams::one;
  Order order = Order::rotated;
  bool flags = false;                               // engine dma: each copy raises a flag at its receiver
  OwnShare own_share = OwnShare::automatic;         // automatic: engine cu copies the share, the others leave it
  std::optional<libraries::LibrarySpec> library{};  // absent: the library of the system
};

struct Collective {
  Kind kind = Kind::all_gather;
  Bytes bytes{};  // input of a rank; for a broadcast, the buffer
  Method method{};
  double element_bytes = 2;  // size of an element that is reduced
  program::Rank root = 0;    // broadcast only
  program::Rank offset = 1;  // send_recv: rank r sends to r + offset
  bool wraps = true;         // send_recv: the last ranks send to the first ones; false: they send nothing
};

// check() returns the problem and its remedy if the system cannot run the collective, and otherwise nothing.
// check_memory() does the same if a buffer of `bytes` does not fit into a rank's memory.
std::optional<config::Problem> check_memory(Bytes bytes, const machine::SystemSpec& system);
std::optional<config::Problem> check(const Collective& collective, const libraries::EquippedSystem& system);

void append(builder::Builder& build, const Collective& collective, const std::string& name);

// Append the copies of DMA engines, or the puts of workgroups, for a collective that passed check().
void append_copies(builder::Builder& build, const Collective& collective, const std::string& name);
void append_puts(builder::Builder& build, const Collective& collective, const std::string& name);

}  // namespace moire::collective
