// NCCL communicators over the first GPUs of this process, one per GPU. Only for programs that are built with NCCL.
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

class NcclCommunicators {
 public:
  // Makes communicators that use at most `max_ctas` workgroups per GPU; 0: NCCL chooses.
  NcclCommunicators(int gpus, int max_ctas);
  ~NcclCommunicators();
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;

  int gpus() const { return int(comms_.size()); }
  ncclComm_t operator[](size_t rank) const { return comms_[rank]; }

 private:
  std::vector<ncclComm_t> comms_;
};

// Disables NCCL's use of multicast in the switch (NVLS). Must be called before the first communicator is made.
void nccl_without_multicast();

std::string nccl_version();
