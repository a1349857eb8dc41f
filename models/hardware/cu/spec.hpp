// What a GPU's compute-unit array is: CUs (AMD) or SMs (NVIDIA) in groups (shader engines, XCDs, GPCs).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::cu {

// `count` equal groups. Clusters of workgroups are placed inside one group.
struct CuGroupSpec {
  std::int64_t cus = 0;
  std::int64_t count = 1;
  // CUs of the group that an empty array fills before all others (H200: the ninth TPC of some GPCs).
  std::int64_t filled_first = 0;
  static void describe(config::Describer<CuGroupSpec>& d);
};

struct CuArraySpec {
  std::vector<CuGroupSpec> groups;
  std::int64_t wavefront = 0;  // threads that advance together (warp, wavefront)
  std::int64_t threads_per_cu = 0;
  std::int64_t workgroups_per_cu = 0;
  std::int64_t registers_per_cu = 0;  // 32-bit
  std::int64_t register_granularity = 8;
  Bytes lds_per_cu;
  std::int64_t cluster_max = 1;
  std::int64_t partition_step = 1;  // CUs are reserved for a queue in multiples of it
  PerSecond clock;
  FlopPerSecond vector_fp32;   // whole GPU at `clock`
  FlopPerSecond matrix_16bit;  // whole GPU, dense bf16 / fp16
  double matrix_efficiency = 1;
  // Matrix rate that a workgroup gets beside the one that has been active on the CU before it, over that one's rate:
  // wavefronts of older workgroups issue first. 1: all get the same.
  double younger_matrix_share = 1;
  std::optional<PerSecond> matrix_clock;  // while all CUs do matrix arithmetic on real data; absent: `clock`
  Bytes bytes_in_flight_per_cu;
  // CUs behind each port to the memory system, by CU number (H200: CPCs of three and of two TPCs); a port may serve CUs
  // of several groups. Empty: no port limits anything.
  std::vector<std::int64_t> ports;
  std::optional<Bytes> port_queue;                   // of one port
  std::optional<BytesPerSecond> load_per_group;      // of all CUs of a group
  BytesPerSecond load_store_per_cu;                  // of loads
  std::optional<BytesPerSecond> load_per_wavefront;  // of a batch that is waited for; absent: as load_store_per_cu
  double store_cost = 1;                             // time of a stored byte over that of a loaded one, in the CU
  std::optional<double> peer_store_cost;             // the same where the byte goes to a peer; absent: as store_cost
  Time launch_interval;                              // between two workgroups that one group's dispatcher starts
  Time slot_refill;      // from a workgroup's end to the start of a pending one in its place
  Time refill_interval;  // between two such starts on one CU
  static void describe(config::Describer<CuArraySpec>& d);

  std::int64_t total_cus() const;
  // At `share` of its clock, with what goes with it (cu::declaration).
  CuArraySpec at_clock(double share) const;
};

}  // namespace moire::cu
