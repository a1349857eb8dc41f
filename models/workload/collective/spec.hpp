// The operators of scenarios.
#pragma once

#include <optional>
#include <string>

#include "models/workload/collective/collective.hpp"

namespace moire::collective {

struct AllGatherSpec : Way {
  Bytes bytes_per_rank;
  static void describe(config::Describer<AllGatherSpec>& d);
};

struct ReduceScatterSpec : Way {
  Bytes bytes_per_rank;
  builder::DataType dtype = builder::DataType::bf16;
  static void describe(config::Describer<ReduceScatterSpec>& d);
};

struct AllReduceSpec : Way {
  Bytes bytes_per_rank;
  builder::DataType dtype = builder::DataType::bf16;
  static void describe(config::Describer<AllReduceSpec>& d);
};

struct AllToAllSpec : Way {
  std::optional<Bytes> bytes_per_rank;
  std::optional<Bytes> bytes_per_peer;
  static void describe(config::Describer<AllToAllSpec>& d);
};

struct BroadcastSpec : Way {
  Bytes bytes_per_rank;
  std::int64_t root = 0;
  static void describe(config::Describer<BroadcastSpec>& d);
};

struct SendRecvSpec : Way {
  Bytes bytes_per_rank;
  std::int64_t peer_offset = 1;
  static void describe(config::Describer<SendRecvSpec>& d);
};

Collective collective_of(const AllGatherSpec& spec, const machine::SystemSpec& system);
Collective collective_of(const ReduceScatterSpec& spec, const machine::SystemSpec& system);
Collective collective_of(const AllReduceSpec& spec, const machine::SystemSpec& system);
Collective collective_of(const AllToAllSpec& spec, const machine::SystemSpec& system);
Collective collective_of(const BroadcastSpec& spec, const machine::SystemSpec& system);
Collective collective_of(const SendRecvSpec& spec, const machine::SystemSpec& system);

// As operators: a check against the machine, and what they append.
template <class Spec>
std::optional<config::Problem> check_collective(const Spec& spec, const machine::SystemSpec& system) {
  return check(collective_of(spec, system), system);
}
template <class Spec>
void append_collective(builder::Builder& build, const Spec& spec) {
  const Collective collective = collective_of(spec, build.system);
  append(build, collective, name_of(collective.kind));
}

}  // namespace moire::collective
