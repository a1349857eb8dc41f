// The All-to-All by NCCL for all GPUs of one process: grouped sends and receives, of which each rank also has one to
// itself.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>
#include <vector>

class NcclExchange {
 public:
  // Returns null and prints a message to stderr if NCCL is not built in or does not start.
  static std::unique_ptr<NcclExchange> create(int ranks);
  virtual ~NcclExchange() = default;

  // Enqueues on streams[rank] of every rank: sends share p of send[rank] to rank p, and receives from rank p into share
  // p of receive[rank]. Returns false if NCCL fails.
  virtual bool all_to_all(const std::vector<const void*>& send, const std::vector<void*>& receive, size_t share_bytes,
                          const std::vector<cudaStream_t>& streams) = 0;

  static std::string version();  // "none" if not built in
};
