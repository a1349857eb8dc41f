// NCCL communicators over the first GPUs of this process, one per GPU. Only for programs that are built with NCCL.
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

class NcclCommunicators {
 public:
  // At most `max_ctas` workgroups per GPU; 0: NCCL's choice.
  NcclCommunicators(int gpus, int max_ctas);
  ~NcclCommunicators();
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;

  int gpus() const { return int(comms_.size()); }
  ncclComm_t operator[](size_t rank) const { return comms_[rank]; }

 private:
  std::vector<ncclComm_t> comms_;
};

// Call it before the first communicator is made: it disables the switch's multicast (NVLS).
void nccl_without_multicast();

std::string nccl_version();
