#include "app/cli/glossary.hpp"

namespace moire::cli {

const std::vector<std::pair<std::string_view, std::string_view>>& glossary() {
  static const std::vector<std::pair<std::string_view, std::string_view>> words = {
      {"algbw", "size of a collective over its time, as nccl-tests; metric <operation>_algbw_gb_per_s"},
      {"axis", "keys of a sweep and the values that they take in turn (docs/reference/scenario.md)"},
      {"blame", "what a queue lost its time to beside the others (docs/explanation/blame.md)"},
      {"bulk-synchronous", "computation ends before the communication of its results begins; the opposite of fused"},
      {"busbw",
       "algbw x what a rank has to send of each byte, to be held against the links; metric "
       "<operation>_busbw_gb_per_s"},
      {"channel", "workgroup of a collective library's kernel, with FIFOs of its own to its peers"},
      {"CU", "compute unit; NVIDIA's streaming multiprocessor (SM)"},
      {"flag", "word in memory that one workgroup raises and others wait for"},
      {"flow", "network model in which messages share links max-min fairly (SimGrid); system.network.model"},
      {"fused", "a kernel sends each of its results as soon as it is there, instead of all behind the last"},
      {"ideal", "queues beside each other as fast as alone: the longest of their times alone"},
      {"LDS", "local data share of a CU; NVIDIA's shared memory"},
      {"LL, LL128",
       "protocols in which data and flags share lines of 8 and 128 bytes, so that nobody waits for a fence"},
      {"MSCCL", "runtime and XML format for collective algorithms of one's own; moire check, operator msccl"},
      {"MSCCL++", "its successor, whose programs are execution plans in JSON; operator mscclpp"},
      {"phase", "part of a workgroup's work with one use of the machine: read, compute, store, wait"},
      {"proxy", "host thread that posts a GPU's messages to the NIC"},
      {"put", "message that writes to the memory of a rank of another node, through the NICs"},
      {"rail", "the NICs of one number of all nodes, under switches of their own"},
      {"rank", "a GPU of the system; rank r is GPU r mod gpus of node r / gpus"},
      {"SM", "streaming multiprocessor of NVIDIA; a CU here"},
      {"scale-out", "between nodes, through NICs and fabric"},
      {"scale-up", "within a node, through the GPUs' own ports (NVLink, xGMI, PCIe)"},
      {"straggler",
       "rank that the others wait for: late, or with a slow GPU, NIC or link; key perturb of a scenario "
       "(docs/explanation/stragglers.md)"},
      {"variant", "named set of changes of a scenario, run at every point of the sweep"},
      {"wave", "as many workgroups as the GPU holds at once"},
      {"WG trace", "recording of what each workgroup of a kernel did and when (docs/reference)"},
      {"workgroup", "NVIDIA's thread block (CTA): what a CU runs as one"},
  };
  return words;
}

}  // namespace moire::cli
