#include "models/workload/libraries/plan_library.hpp"

#include "sim/config/spec.hpp"

namespace moire::libraries {

void PlanLibrarySpec::describe(config::Describer<PlanLibrarySpec>& d) {
  d.component("plan_library",
              "How the executor of a library runs execution plans (MSCCL++): a file in configs/libraries.");
  d.sourced();
  d.field("name", &PlanLibrarySpec::name, "Library and version");
  d.field("registers_per_thread", &PlanLibrarySpec::registers_per_thread, "Registers per thread").range(1, 1024);
  d.field("lds", &PlanLibrarySpec::lds, "Shared memory (LDS) of a workgroup; on a GPU whose CUs have less: all of it")
      .or_default();
  d.field("setup", &PlanLibrarySpec::setup,
          "Time in the kernel before its first operation, in which the plan is loaded");
  d.field("operation", &PlanLibrarySpec::operation, "Time to read one operation of the plan");
  d.field("meet", &PlanLibrarySpec::meet, "Time of a barrier of the threads of a workgroup");
  d.field("fence", &PlanLibrarySpec::fence,
          "Time that a signal waits before it is sent, until the stores in flight to the peer are visible there");
  d.field("expect", &PlanLibrarySpec::expect,
          "Time in which a wait increments the expected count of signals, before it checks the signal");
  d.field("vector", &PlanLibrarySpec::vector, "Bytes of data that a thread loads at once").positive();
  d.field("packet_data", &PlanLibrarySpec::packet_data, "Bytes of data in a packet, which a thread stores at once")
      .positive();
  d.field("packet_wire", &PlanLibrarySpec::packet_wire, "Bytes on the wire per byte of data in packets").range(1, 4);
  d.field("proxy_latency", &PlanLibrarySpec::proxy_latency,
          "Time from a thread's request to a port until the host thread sees it; for ports that use a NIC, the file of "
          "the NIC states this time");
  d.field("copy_call", &PlanLibrarySpec::copy_call,
          "Time until the host thread of a port inside a node has enqueued a copy to the DMA engine");
}

}  // namespace moire::libraries
