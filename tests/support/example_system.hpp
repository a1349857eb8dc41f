// Makes a machine with round numbers for tests, so that a size over a rate is a whole number of picoseconds.
#pragma once

#include <stdexcept>

#include "models/hardware/machine/machine.hpp"

namespace moire::machine {

// Returns a GPU with 8 CUs in 2 groups. A CU has 1,024 threads: it holds one workgroup of 1,024 threads or eight of
// 128. Launches take no time, so that a test measures only the costs that it sets itself.
inline GpuSpec example_gpu() {
  GpuSpec gpu;
  gpu.name = "example";
  gpu.compute.groups = {{.cus = 4, .count = 2}};
  gpu.compute.wavefront = 32;
  gpu.compute.threads_per_cu = 1024;
  gpu.compute.workgroups_per_cu = 8;
  gpu.compute.registers_per_cu = 65536;
  gpu.compute.lds_per_cu = {65536};
  gpu.compute.cluster_max = 4;
  gpu.compute.clock = {1e9};
  gpu.compute.vector_fp32 = {8e12};    // 1 TFLOP/s per CU
  gpu.compute.matrix_16bit = {80e12};  // 5 TFLOP/s per CU with matrix_efficiency
  gpu.compute.matrix_efficiency = 0.5;
  gpu.compute.bytes_in_flight_per_cu = {40e3};  // allows 100 GB/s at the unloaded latency
  gpu.compute.load_store_per_cu = {200e9};
  gpu.l2 = {.capacity = {1e6}, .bandwidth = {10e12}, .hit_latency = Time::from_ns(100)};
  gpu.hbm.capacity = {10e9};
  gpu.hbm.peak = {2e12};
  gpu.hbm.bandwidth = {1e12};
  gpu.hbm.access_granularity = {64};
  gpu.hbm.unloaded_latency = Time::from_ns(400);
  gpu.dma.engines = 3;
  gpu.dma.peer_concurrency = 1;
  gpu.dma.bandwidth = {100e9};
  gpu.dma.first_command = Time::from_us(10);
  gpu.dma.next_command = Time::from_us(2);
  gpu.dma.bytes_in_flight = {400e3};
  gpu.port.links = 6;
  gpu.port.link_bandwidth = {50e9};  // 300 GB/s for the port
  gpu.port.store_latency = Time::from_ns(500);
  gpu.port.store_window_per_cu = {25e3};  // allows 50 GB/s at the store latency
  return gpu;
}

inline nic::NicSpec example_nic() {
  nic::NicSpec nic;
  nic.bandwidth = {25e9};
  nic.latency = Time::from_ns(200);
  nic.message_rate = {100e6};
  nic.wqe_build = Time::from_ns(300);
  nic.doorbell = Time::from_ns(200);
  nic.pcie_bandwidth = {50e9};
  nic.pcie_latency = Time::from_ns(500);
  nic.flag_latency = Time::from_ns(400);
  nic.proxy_latency = Time::from_ns(800);
  nic.proxy_time = Time::from_ns(300);
  return nic;
}

// Two GPUs fill the memory in either direction, and one GPU in both.
inline host::MemorySpec example_host_memory() {
  host::MemorySpec memory;
  memory.slot_out = {25e9};
  memory.slot_in = {50e9};
  memory.slot = memory.write = memory.read = memory.bandwidth = {100e9};
  memory.cache = {1e6};
  memory.poll_interval = Time{1};
  return memory;
}

// Returns a system with `gpus` GPUs per node. With more than one node, or without links between GPUs, every GPU has a
// NIC, and all NICs are on one switch.
inline SystemSpec example_system(std::int64_t gpus, std::int64_t nodes = 1,
                                 link::Wiring wiring = link::Wiring::nvswitch) {
  SystemSpec system;
  system.nodes = nodes;
  system.node.gpus = gpus;
  system.node.gpu = example_gpu();
  system.node.wiring = gpus > 1 ? wiring : link::Wiring::none;
  if (gpus > 1) system.node.links_per_pair = system.node.gpu.port.links / (gpus - 1);
  if (nodes > 1 || wiring == link::Wiring::none) {
    system.node.nics = gpus;
    system.node.nic = example_nic();
    system.fabric.emplace();
    system.fabric->star.emplace();
    system.fabric->star->switch_latency = Time::from_ns(100);
  }
  return system;
}

inline std::unique_ptr<Machine> build_or_throw(const SystemSpec& system, core::RunLoop& loop) {
  config::Problem error;
  std::unique_ptr<Machine> machine = Machine::build(system, loop, error);
  if (!machine) throw std::runtime_error(error.str());
  return machine;
}

}  // namespace moire::machine
