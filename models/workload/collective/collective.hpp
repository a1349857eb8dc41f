// A collective between all ranks, by a library's kernel, by copy engines or by puts of the GPUs.
#pragma once

#include <optional>
#include <string>

#include "models/workload/builder/builder.hpp"
#include "models/workload/collective/kind.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

// Of a rank's own share: left where it is, or copied to the output.
enum class OwnShare : std::uint8_t { automatic, copied, left };

// How a collective is to be run, whatever it is.
struct Method {
  Engine engine = Engine::cu;
  Algorithm algorithm = Algorithm::automatic;
  Protocol protocol = Protocol::automatic;
  std::optional<std::int64_t> channels{};  // at most
  Streams streams = Streams::one;
  Order order = Order::rotated;
  OwnShare own_share = OwnShare::automatic;         // automatic: kernels copy it
  std::optional<libraries::LibrarySpec> library{};  // absent: the system's
};

struct Collective {
  Kind kind = Kind::all_gather;
  Bytes bytes{};  // of a rank's input; broadcast: of the buffer
  Method method{};
  double element_bytes = 2;  // of what is reduced
  program::Rank root = 0;    // of a broadcast
  program::Rank offset = 1;  // send_recv: rank r sends to r + offset
  bool wraps = true;         // send_recv: modulo the ranks; else the last ranks send nothing and the first get nothing
};

// Say why a machine cannot run it and what would be right: a buffer of so many bytes at a rank, the collective.
std::optional<config::Problem> check_memory(Bytes bytes, const machine::SystemSpec& system);
std::optional<config::Problem> check(const Collective& collective, const libraries::EquippedSystem& system);

void append(builder::Builder& build, const Collective& collective, const std::string& name);

// By engine, for a checked collective.
void append_copies(builder::Builder& build, const Collective& collective, const std::string& name);
void append_puts(builder::Builder& build, const Collective& collective, const std::string& name);

}  // namespace moire::collective
