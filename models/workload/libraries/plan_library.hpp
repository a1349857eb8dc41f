// The profile of MSCCL++, a library whose executor runs execution plans: for each workgroup, a list of operations.
// Threads load from and store to any buffer, without FIFOs. The values and their sources are in
// configs/libraries/mscclpp.yaml.
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
  Bytes lds;               // per workgroup, for its part of the plan
  Time setup;              // time in the kernel before the first operation, in which the plan is loaded
  Time operation;          // time to read an operation of the plan
  Time meet;               // barrier of the threads of a workgroup
  Time fence;              // time that a signal waits until stores in flight are visible to the peer
  Time expect;             // time that a wait takes to increment the expected count of signals
  Bytes vector;            // data that a thread loads at once
  Bytes packet_data;       // data in a packet
  double packet_wire = 1;  // bytes of packets per byte of data
  // Port channels: a host thread (proxy) carries out the GPU's requests. Inside a node, it does this with the GPU's DMA
  // engine.
  Time proxy_latency;  // from a request until the host thread sees it
  Time copy_call;      // time of the host thread to enqueue a copy at the engine
  static void describe(config::Describer<PlanLibrarySpec>& d);
};

}  // namespace moire::libraries
