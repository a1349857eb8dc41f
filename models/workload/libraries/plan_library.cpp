#include "models/workload/libraries/plan_library.hpp"

#include "sim/config/spec.hpp"

namespace moire::libraries {

void PlanLibrarySpec::describe(config::Describer<PlanLibrarySpec>& d) {
  d.component("plan_library", "How a library's executor runs execution plans (MSCCL++): a file of configs/libraries.");
  d.sourced();
  d.field("name", &PlanLibrarySpec::name, "Library and version");
  d.field("registers_per_thread", &PlanLibrarySpec::registers_per_thread, "Registers of one thread").range(1, 1024);
  d.field("lds", &PlanLibrarySpec::lds, "Shared memory (LDS) of a workgroup; less on a GPU that has less").or_default();
  d.field("setup", &PlanLibrarySpec::setup, "Time in the kernel before the first operation: the plan is loaded");
  d.field("operation", &PlanLibrarySpec::operation, "Time to read one operation of the plan");
  d.field("meet", &PlanLibrarySpec::meet, "Barrier of the threads of a workgroup");
  d.field("fence", &PlanLibrarySpec::fence,
          "Of a signal: until stores to a peer that are under way can be seen there, before it is sent");
  d.field("expect", &PlanLibrarySpec::expect,
          "Of a wait: the count of signals is raised before it looks for the signal");
  d.field("vector", &PlanLibrarySpec::vector, "Bytes of data that a thread loads at once").positive();
  d.field("packet_data", &PlanLibrarySpec::packet_data, "Bytes of data in a packet, which a thread stores at once")
      .positive();
  d.field("packet_wire", &PlanLibrarySpec::packet_wire, "Bytes of a packet for one byte of data").range(1, 4);
  d.field(
      "proxy_latency", &PlanLibrarySpec::proxy_latency,
      "Of a port: from a thread's request to the host thread that sees it; the NIC's spec says the same for its own");
  d.field("copy_call", &PlanLibrarySpec::copy_call,
          "Of a port inside a node: until the host thread has put a copy into the queue of the DMA engine");
}

}  // namespace moire::libraries
