#include <cstdlib>

#include "cuda_check.hpp"
#include "nccl_check.hpp"
#include "nccl_communicators.hpp"

NcclCommunicators::NcclCommunicators(int gpus, int max_ctas) : comms_(size_t(gpus)) {
  ncclUniqueId id;
  NCCL_CHECK(ncclGetUniqueId(&id));
  NCCL_CHECK(ncclGroupStart());
  for (int r = 0; r < gpus; ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    if (max_ctas > 0) config.maxCTAs = max_ctas;
    NCCL_CHECK(ncclCommInitRankConfig(&comms_[size_t(r)], gpus, id, r, &config));
  }
  NCCL_CHECK(ncclGroupEnd());
}

NcclCommunicators::~NcclCommunicators() {
  for (ncclComm_t comm : comms_) ncclCommDestroy(comm);
}

void nccl_without_multicast() { setenv("NCCL_NVLS_ENABLE", "0", 1); }

std::string nccl_version() {
  int v = 0;
  if (ncclGetVersion(&v) != ncclSuccess) return "unknown";
  return std::to_string(v / 10000) + "." + std::to_string(v % 10000 / 100) + "." + std::to_string(v % 100);
}
