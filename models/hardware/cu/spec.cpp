#include "models/hardware/cu/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/config/spec.hpp"

namespace moire::cu {

void CuGroupSpec::describe(config::Describer<CuGroupSpec>& d) {
  d.component("cu_group", "A group of compute units behind one dispatcher: a GPC, a shader engine or an XCD.");
  d.field("cus", &CuGroupSpec::cus, "Compute units in the group").range(1, 4096);
  d.field("count", &CuGroupSpec::count, "Number of such groups in the GPU").range(1, 1024).or_default();
  d.field("filled_first", &CuGroupSpec::filled_first,
          "CUs of the group that the dispatcher fills first when the GPU is empty")
      .range(0, 4096)
      .or_default();
  d.check([](const CuGroupSpec& s) -> std::optional<config::Problem> {
    if (s.filled_first > s.cus)
      return config::Problem{"filled_first is larger than cus",
                             "write at most cus: filled_first counts CUs of the same group"};
    return std::nullopt;
  });
}

void CuArraySpec::describe(config::Describer<CuArraySpec>& d) {
  d.component("cu_array", "The compute units, what each can hold, and the dispatcher that fills them with workgroups.");
  d.field("groups", &CuArraySpec::groups, "Groups of compute units in hardware order");
  d.field("wavefront", &CuArraySpec::wavefront, "Threads that advance together (warp, wavefront)").range(1, 1024);
  d.field("threads_per_cu", &CuArraySpec::threads_per_cu, "Threads that can be resident on a CU").range(1, 1 << 20);
  d.field("workgroups_per_cu", &CuArraySpec::workgroups_per_cu, "Workgroups that can be resident on a CU")
      .range(1, 1024);
  d.field("registers_per_cu", &CuArraySpec::registers_per_cu, "32-bit registers of a CU").range(1, 1 << 24);
  d.field("register_granularity", &CuArraySpec::register_granularity,
          "Granularity in which registers per thread are allocated")
      .range(1, 256)
      .or_default();
  d.field("lds_per_cu", &CuArraySpec::lds_per_cu, "Local data share (shared memory) of a CU that workgroups can use")
      .positive();
  d.field("cluster_max", &CuArraySpec::cluster_max, "Largest cluster of workgroups placed together in one group")
      .range(1, 64)
      .or_default();
  d.field("partition_step", &CuArraySpec::partition_step,
          "Granularity in which CUs are reserved for a queue (cu_partition): one CU of every XCD, or the SMs of an SM "
          "resource")
      .range(1, 1024)
      .or_default();
  d.field("clock", &CuArraySpec::clock, "Clock at which the arithmetic rates hold").positive();
  d.field("vector_fp32", &CuArraySpec::vector_fp32, "fp32 rate of all CUs together").positive();
  d.field("matrix_16bit", &CuArraySpec::matrix_16bit, "Dense bf16/fp16 matrix rate of all CUs together").positive();
  d.field("matrix_efficiency", &CuArraySpec::matrix_efficiency,
          "Share of the matrix rate that the main loop of a tuned GEMM sustains")
      .range(0.01, 1);
  d.field("younger_matrix_share", &CuArraySpec::younger_matrix_share,
          "If several workgroups on a CU do matrix arithmetic: the rate of one workgroup over the rate of the next "
          "older one. Below 1, their tiles end at different times, so that one workgroup stores while another computes")
      .range(0.1, 1)
      .or_default();
  d.field("progress_spread", &CuArraySpec::progress_spread,
          "Standard deviation of the time of a task of a persistent kernel that fills the links, relative to its mean. "
          "Workgroups behind ports of the same size have done n tasks +- this value x sqrt(n); 0: they do their first, "
          "second, ... tasks at the same time")
      .range(0, 1)
      .or_default();
  d.field("progress_window", &CuArraySpec::progress_window,
          "Number of rounds of tasks that the workgroups of a persistent kernel are in at the same time, beyond one, "
          "relative to the rounds that they have done")
      .range(0, 1)
      .or_default();
  d.field("matrix_clock", &CuArraySpec::matrix_clock,
          "Clock that the power limit allows while all CUs do matrix arithmetic on operands of random digits and the "
          "memory is idle; absent: `clock`")
      .positive()
      .optional();
  d.field(
       "traffic_weight", &CuArraySpec::traffic_weight,
       "How much more a watt of the traffic of memory and links lowers the clock of matrix arithmetic than a watt of "
       "this arithmetic, by the energies of `power`")
      .range(0, 10)
      .or_default();
  d.field("clock_beside_matrix", &CuArraySpec::clock_beside_matrix,
          "Clock at which all CUs load and do other arithmetic while any CU does matrix arithmetic of any digits, "
          "relative to the clock that `matrix_clock` allows; 1 means that it was not measured. matrix_16bit x "
          "matrix_efficiency is the rate at this clock")
      .range(0.1, 1)
      .or_default();
  d.field(
       "clock_dip", &CuArraySpec::clock_dip,
       "Share by which the clock falls for a while after matrix arithmetic has begun on all CUs; 0 means that it was "
       "not measured")
      .range(0, 0.5)
      .or_default();
  d.field("clock_dip_delay", &CuArraySpec::clock_dip_delay,
          "Time from the begin of matrix arithmetic to this dip, in which the traffic of the memory does not lower the "
          "full clock")
      .or_default();
  d.field(
       "clock_dip_time", &CuArraySpec::clock_dip_time,
       "Duration of the dip; if the GPU was without matrix arithmetic for a shorter time before, the dip lasts as long")
      .or_default();
  d.field(
       "issue_per_clock", &CuArraySpec::issue_per_clock,
       "Wavefront instructions that a CU issues per clock, for kernels that state their instructions; absent: no limit")
      .range(0.01, 1024)
      .example("4")
      .optional();
  d.field("integer_per_clock", &CuArraySpec::integer_per_clock,
          "Wavefront instructions of integer arithmetic (additions, comparisons, logic, shifts) that a CU executes per "
          "clock; absent: only issue_per_clock limits them")
      .range(0.01, 1024)
      .example("2")
      .optional();
  d.field("issue_interval", &CuArraySpec::issue_interval,
          "Clocks from an instruction of a wavefront to its next one, which mostly needs its result, for kernels that "
          "state their instructions; absent: no limit")
      .range(0.01, 1024)
      .example("4.5")
      .optional();
  d.field("bytes_in_flight_per_cu", &CuArraySpec::bytes_in_flight_per_cu,
          "Bytes of memory that a CU can have requested but not yet received (the size of its miss queue)")
      .positive()
      .fractional();
  d.field("ports", &CuArraySpec::ports,
          "Number of CUs behind each port to the memory system, in the order of the CUs and across groups: [6, 6, 4, "
          "6, 6, 6]; absent: no port limits the CUs")
      .or_default();
  d.field("port_queue", &CuArraySpec::port_queue,
          "Bytes in flight per port that count when memory is saturated: ports share memory equally, and requests "
          "beyond this number wait at the port")
      .positive()
      .optional();
  d.field("load_per_group", &CuArraySpec::load_per_group,
          "Bytes per second that all CUs of a group together can load; absent: the group is no limit")
      .positive()
      .optional();
  d.field("load_store_per_cu", &CuArraySpec::load_store_per_cu, "Bytes per second that one CU can load").positive();
  d.field("load_per_wavefront", &CuArraySpec::load_per_wavefront,
          "Bytes per second that one wavefront can load in a batch that it waits for, in addition to the latency; "
          "absent: the batch moves at load_store_per_cu")
      .positive()
      .optional();
  d.field(
       "load_path", &CuArraySpec::load_path,
       "Part of l2.hit_latency and hbm.unloaded_latency that follows the clock of an operating point; absent: all of "
       "l2.hit_latency, and nothing of hbm.unloaded_latency")
      .optional();
  d.field(
       "clocks_per_row", &CuArraySpec::clocks_per_row,
       "Clocks in which a CU requests one random row of a gather, however short the row is; absent: only the bytes of "
       "rows count")
      .range(0.01, 1024)
      .optional();
  d.field("store_cost", &CuArraySpec::store_cost, "CU time of a stored byte relative to a loaded byte")
      .range(0.1, 10)
      .or_default();
  d.field("peer_store_cost", &CuArraySpec::peer_store_cost,
          "CU time of a byte stored to a peer relative to a loaded byte; absent: store_cost")
      .range(0.1, 100)
      .optional();
  d.field("launch_interval", &CuArraySpec::launch_interval, "Time between the starts of two workgroups in one group");
  d.field("slot_refill", &CuArraySpec::slot_refill,
          "Time from the end of a workgroup to the start of a pending workgroup in its place")
      .or_default();
  d.field("refill_interval", &CuArraySpec::refill_interval,
          "Time between refilling two places of one CU whose workgroups end together")
      .or_default();
  d.check("groups", [](const CuArraySpec& s) -> std::optional<config::Problem> {
    if (s.groups.empty())
      return config::Problem{"the GPU has no compute units", "write groups: [{cus: 16, count: 8}] with sources"};
    constexpr std::int64_t most = 65536;  // the replay keeps the number of a CU in 16 bits
    if (s.total_cus() > most)
      return config::Problem{fmt::format("the groups have {} CUs, but a GPU may have at most {}", s.total_cus(), most),
                             "write a smaller cus or count"};
    return std::nullopt;
  });
  d.check("ports", [](const CuArraySpec& s) -> std::optional<config::Problem> {
    if (s.ports.empty()) {
      if (!s.port_queue) return std::nullopt;
      return config::Problem{"port_queue is set but ports is not", "write ports: [6, 6, 4] for all CUs"};
    }
    if (!s.port_queue) return config::Problem{"ports are set but port_queue is not", "write port_queue"};
    const std::int64_t behind = std::accumulate(s.ports.begin(), s.ports.end(), std::int64_t{0});
    const bool empty = std::any_of(s.ports.begin(), s.ports.end(), [](std::int64_t cus) { return cus < 1; });
    if (empty || behind != s.total_cus()) {
      return config::Problem{fmt::format("ports name {} CUs, but the groups have {}", behind, s.total_cus()),
                             "put every CU behind exactly one port, and at least one CU behind each"};
    }
    return std::nullopt;
  });
}

std::int64_t CuArraySpec::total_cus() const {
  std::int64_t total = 0;
  for (const CuGroupSpec& group : groups) total += group.cus * group.count;
  return total;
}

CuArraySpec CuArraySpec::at_clock(double share) const {
  CuArraySpec slow = *this;
  slow.clock = clock * share;
  slow.vector_fp32 = vector_fp32 * share;
  slow.matrix_16bit = matrix_16bit * share;
  if (matrix_clock) slow.matrix_clock = *matrix_clock * share;
  slow.load_store_per_cu = load_store_per_cu * share;
  if (load_per_wavefront) slow.load_per_wavefront = *load_per_wavefront * share;
  if (load_per_group) slow.load_per_group = *load_per_group * share;
  slow.launch_interval = Time::from_seconds(launch_interval.seconds() / share);
  if (load_path) slow.load_path = Time::from_seconds(load_path->seconds() / share);
  return slow;
}

}  // namespace moire::cu
