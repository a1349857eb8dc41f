// The specification of a GPU's compute units: CUs (AMD) or SMs (NVIDIA) in groups (shader engines, XCDs, GPCs).
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

// `count` equal groups. A cluster of workgroups is placed within one group.
struct CuGroupSpec {
  std::int64_t cus = 0;
  std::int64_t count = 1;
  // Number of CUs of the group that the dispatcher fills first when the GPU is empty (H200: the ninth TPC of some
  // GPCs).
  std::int64_t filled_first = 0;
  static void describe(config::Describer<CuGroupSpec>& d);
};

struct CuArraySpec {
  std::vector<CuGroupSpec> groups;
  std::int64_t wavefront = 0;  // threads that execute together (warp, wavefront)
  std::int64_t threads_per_cu = 0;
  std::int64_t workgroups_per_cu = 0;
  std::int64_t registers_per_cu = 0;  // number of 32-bit registers
  std::int64_t register_granularity = 8;
  Bytes lds_per_cu;
  std::int64_t cluster_max = 1;
  std::int64_t partition_step = 1;  // queues reserve CUs in multiples of this
  PerSecond clock;
  FlopPerSecond vector_fp32;   // of the whole GPU at `clock`
  FlopPerSecond matrix_16bit;  // of the whole GPU at `clock`, for dense bf16 or fp16
  double matrix_efficiency = 1;
  std::optional<double> issue_per_clock;    // wavefront instructions that a CU issues per clock; absent: no limit
  std::optional<double> integer_per_clock;  // of them, those of integer arithmetic; absent: no limit of their own
  std::optional<double> issue_interval;  // clocks from an instruction of a wavefront to its next one; absent: no limit
  // Matrix rate of a workgroup relative to that of the next older workgroup on the CU: wavefronts of older workgroups
  // issue first. 1: equal rates.
  double younger_matrix_share = 1;
  // Standard deviation of the time of a task of a persistent kernel that fills the links, relative to its mean.
  double progress_spread = 0;
  // Rounds of tasks that they are in at the same time, beyond one, relative to the rounds that they have done: 1 / sum
  // of the squared shares of the workgroups that are in each round.
  double progress_window = 0;
  std::optional<PerSecond> matrix_clock;  // clock while all CUs do matrix arithmetic on random data; absent: `clock`
  // How much more a watt of traffic of memory and links lowers that clock than a watt of matrix arithmetic.
  double traffic_weight = 1;
  // While any CU does matrix arithmetic, the clock at which all CUs load and do other arithmetic, relative to the clock
  // of the matrix rate. (matrix_16bit x matrix_efficiency holds at this lower clock.)
  double clock_beside_matrix = 1;
  // By how much the clock falls after matrix arithmetic has begun, how long after, and for how long. Before, the
  // traffic of the memory does not lower the full clock.
  double clock_dip = 0;
  Time clock_dip_delay;
  Time clock_dip_time;
  Bytes bytes_in_flight_per_cu;
  // Number of CUs behind each port to the memory system, in the order of the CUs (H200: CPCs of three and of two TPCs).
  // A port may serve CUs of several groups. Empty: no port limits its CUs.
  std::vector<std::int64_t> ports;
  std::optional<Bytes> port_queue;  // a saturated memory counts at most this many of the bytes in flight at a port
  std::optional<BytesPerSecond> load_per_group;  // load rate of all CUs of a group
  BytesPerSecond load_store_per_cu;              // load rate of one CU
  // Load rate of a wavefront that waits for a batch of loads. Absent: load_store_per_cu / wavefronts of the workgroup.
  std::optional<BytesPerSecond> load_per_wavefront;
  // Part of the latency of every load, hit or miss, that grows as the clock falls at an operating point; absent: the
  // whole latency of a hit.
  std::optional<Time> load_path;
  // Clocks in which a CU requests one random row, however short the row is; absent: only its bytes count.
  std::optional<double> clocks_per_row;
  double store_cost = 1;                  // CU time per stored byte, relative to a loaded byte
  std::optional<double> peer_store_cost;  // the same for bytes stored to a peer; absent: store_cost
  Time launch_interval;                   // between two launches of workgroups or clusters to one group
  Time slot_refill;                       // from a workgroup's end to the start of the next workgroup in its slot
  Time refill_interval;                   // between the starts of two workgroups in slots of one CU
  static void describe(config::Describer<CuArraySpec>& d);

  std::int64_t total_cus() const;
  // Returns the number of wavefronts of a workgroup with so many threads.
  std::int64_t wavefronts(std::int64_t threads) const { return (threads + wavefront - 1) / wavefront; }
  // Returns the spec of the same CUs at `share` of their clock. Scales all values that cu::declaration() lets follow
  // the clock.
  CuArraySpec at_clock(double share) const;
};

}  // namespace moire::cu
