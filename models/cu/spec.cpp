#include "models/cu/spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::models::cu {

void CuGroupSpec::describe(config::Describer<CuGroupSpec>& d) {
  d.component("cu_group", "A group of compute units behind one dispatcher: GPC, shader engine or XCD.");
  d.field("cus", &CuGroupSpec::cus, "Compute units in the group").range(1, 4096);
  d.field("count", &CuGroupSpec::count, "How many such groups the GPU has").range(1, 1024).or_default();
  d.field("filled_first", &CuGroupSpec::filled_first, "CUs of the group that an empty GPU fills before all others")
      .range(0, 4096)
      .or_default();
  d.check([](const CuGroupSpec& s) -> std::optional<std::string> {
    if (s.filled_first > s.cus) return "filled_first is larger than cus; it counts CUs of the same group";
    return std::nullopt;
  });
}

void CuArraySpec::describe(config::Describer<CuArraySpec>& d) {
  d.component("cu_array", "Compute units, what each can hold, and the dispatcher that fills them with workgroups.");
  d.field("groups", &CuArraySpec::groups, "Groups of compute units in hardware order");
  d.field("wavefront", &CuArraySpec::wavefront, "Threads that advance together (warp, wavefront)").range(1, 1024);
  d.field("threads_per_cu", &CuArraySpec::threads_per_cu, "Resident threads a CU can hold").range(1, 1 << 20);
  d.field("workgroups_per_cu", &CuArraySpec::workgroups_per_cu, "Resident workgroups a CU can hold").range(1, 1024);
  d.field("registers_per_cu", &CuArraySpec::registers_per_cu, "32-bit registers of a CU").range(1, 1 << 24);
  d.field("register_granularity", &CuArraySpec::register_granularity,
          "Registers per thread are allocated in steps of this")
      .range(1, 256)
      .or_default();
  d.field("lds_per_cu", &CuArraySpec::lds_per_cu, "Local data share (shared memory) workgroups of a CU can use")
      .positive();
  d.field("cluster_max", &CuArraySpec::cluster_max, "Largest cluster of workgroups placed together in one group")
      .range(1, 64)
      .or_default();
  d.field("clock", &CuArraySpec::clock, "Clock at which the arithmetic rates hold").positive();
  d.field("vector_fp32", &CuArraySpec::vector_fp32, "fp32 rate of all CUs together").positive();
  d.field("matrix_16bit", &CuArraySpec::matrix_16bit, "Dense bf16/fp16 matrix rate of all CUs together").positive();
  d.field("matrix_efficiency", &CuArraySpec::matrix_efficiency,
          "Share of the matrix rate a tuned GEMM main loop sustains")
      .range(0.01, 1);
  d.field("bytes_in_flight_per_cu", &CuArraySpec::bytes_in_flight_per_cu,
          "Memory bytes a CU can have requested and not yet received (its miss queue)")
      .positive();
  d.field("load_store_per_cu", &CuArraySpec::load_store_per_cu, "Bytes per second one CU can load").positive();
  d.field("store_cost", &CuArraySpec::store_cost, "CU time of a stored byte over that of a loaded one")
      .range(0.1, 10)
      .or_default();
  d.field("peer_store_cost", &CuArraySpec::peer_store_cost,
          "The same of a byte stored to a peer; as store_cost if it is not there")
      .range(0.1, 100)
      .optional();
  d.field("launch_interval", &CuArraySpec::launch_interval, "Time between two workgroups started in one group");
  d.field("slot_refill", &CuArraySpec::slot_refill, "From a workgroup's end to the start of a pending one in its place")
      .or_default();
  d.check("groups", [](const CuArraySpec& s) -> std::optional<std::string> {
    if (s.groups.empty()) return "a GPU without compute units; write groups: [{cus: 16, count: 8}] with sources";
    return std::nullopt;
  });
}

std::int64_t CuArraySpec::total_cus() const {
  std::int64_t total = 0;
  for (const CuGroupSpec& group : groups) total += group.cus * group.count;
  return total;
}

}  // namespace moire::models::cu
