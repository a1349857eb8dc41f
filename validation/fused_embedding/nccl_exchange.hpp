// The All-to-All by NCCL: one process with all GPUs, and grouped sends and receives that include a rank's own share.
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

  // Enqueues on streams[rank]: share p of send[rank] to rank p, from rank p into share p of receive[rank].
  virtual bool all_to_all(const std::vector<const void*>& send, const std::vector<void*>& receive, size_t share_bytes,
                          const std::vector<cudaStream_t>& streams) = 0;

  static std::string version();  // "none" if not built in
};
