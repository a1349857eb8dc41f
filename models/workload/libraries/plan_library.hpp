// How a library's executor runs execution plans, in which threads load and store where they like and no FIFO lies
// between (MSCCL++): a profile with sources, configs/libraries/mscclpp.yaml.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::libraries {

struct PlanLibrarySpec {
  std::string name;
  std::int64_t registers_per_thread = 0;
  Bytes lds;               // of a workgroup: its part of the plan
  Time setup;              // in the kernel before the first operation
  Time operation;          // to read an operation of the plan
  Time meet;               // of the threads of a workgroup
  Time fence;              // to make stores visible to other GPUs, stores to a peer under way
  Time expect;             // to count the signal that is waited for
  Bytes vector;            // of data that a thread loads at once
  Bytes packet_data;       // of data in a packet
  double packet_wire = 1;  // bytes of packets for one of data
  // Ports: a host thread passes requests of threads on, inside a node to the GPU's DMA engine.
  Time proxy_latency;  // from the request to the host thread that sees it
  Time copy_call;      // until that thread has put a copy into the engine's queue
  static void describe(config::Describer<PlanLibrarySpec>& d);
};

}  // namespace moire::libraries
