// The specification of a machine: GPUs in nodes, and nodes in a cluster. GPU, NIC and system have one YAML file each.
// Two keys of these files name software, `gemm` of a GPU and `library` of a system; models/workload/libraries reads
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "models/hardware/cu/spec.hpp"
#include "models/hardware/decompressor/spec.hpp"
#include "models/hardware/dma/spec.hpp"
#include "models/hardware/fabric/fabric.hpp"
#include "models/hardware/host/memory_spec.hpp"
#include "models/hardware/host/spec.hpp"
#include "models/hardware/link/spec.hpp"
#include "models/hardware/memory/spec.hpp"
#include "models/hardware/nic/nic_spec.hpp"
#include "models/hardware/part/reach.hpp"
#include "models/hardware/part/uneven.hpp"
#include "models/hardware/power/spec.hpp"

namespace moire::machine {

// How far GPUs of one type differ: half of the range of each rate over several GPUs, relative to the rate in the file.
struct SpreadSpec {
  double matrix_clock = 0;  // of compute.matrix_clock
  double memory = 0;        // of hbm.bandwidth
  double links = 0;         // of port.link_bandwidth
  static void describe(config::Describer<SpreadSpec>& d);
};

struct GpuSpec {
  std::string name;
  cu::CuArraySpec compute;
  memory::CacheSpec l2;
  std::optional<memory::CacheSpec> memory_side_cache;
  memory::HbmSpec hbm;
  dma::DmaSpec dma;
  std::optional<decompressor::DecompressorSpec> decompressor;
  link::PortSpec port;
  host::HostSpec host;
  std::optional<power::PowerSpec> power;
  std::optional<SpreadSpec> spread;
  static void describe(config::Describer<GpuSpec>& d);

  // Returns this spec with its clock multiplied by `share`. The values that depend on the clock scale as they do if
  // --set overrides `compute.clock` (follow.hpp), such as peak rates and the bandwidth and latency of the L2.
  GpuSpec at_clock(double share) const;
  // Returns the spec of this GPU while it runs at `share` of its clock. Rates scale with the clock. Unlike with
  // at_clock(), compute.matrix_clock, to which matrix arithmetic lowers the clock, stays the same in Hz.
  GpuSpec operated_at(double share) const;
  // Returns the spec of a GPU at one end of its spread: all its rates are the highest (`fast`) or the lowest.
  GpuSpec at_end(bool fast) const;
};

struct NodeSpec {
  std::int64_t gpus = 1;
  GpuSpec gpu;
  link::Wiring wiring = link::Wiring::none;
  std::optional<std::int64_t> links_per_pair;  // full mesh only
  std::int64_t nics = 0;                       // GPU g uses NIC g * nics / gpus
  std::optional<nic::NicSpec> nic;
  std::optional<host::MemorySpec> host_memory;
  static void describe(config::Describer<NodeSpec>& d);

  part::Reach reach() const { return {static_cast<program::Rank>(gpus), wiring != link::Wiring::none}; }
};

enum class NetworkModel { queue, flow };

struct NetworkSpec {
  NetworkModel model = NetworkModel::queue;
  std::optional<Bytes> chunk;  // absent: the default of core::QueueNetworkSpec
  static void describe(config::Describer<NetworkSpec>& d);
};

struct SystemSpec {
  std::string description;
  std::int64_t nodes = 1;
  NodeSpec node;
  std::optional<fabric::FabricSpec> fabric;
  NetworkSpec network;
  config::Node operating_point{};       // for scenarios that set none; models/hardware/power reads it
  std::optional<double> operated_at{};  // fraction of their clock at which the GPUs run; if present, energy is counted
  bool repeated = false;                // the run is one of many in a row, so that the GPUs were at work before it
  std::shared_ptr<const part::Uneven> uneven{};  // null: all parts are as specified
  static void describe(config::Describer<SystemSpec>& d);

  // Sets the clock of all GPUs to `share` of the clock in their file, and lets the machine count energy.
  void operate_at(double share);

  std::int64_t ranks() const { return nodes * node.gpus; }
};

}  // namespace moire::machine
