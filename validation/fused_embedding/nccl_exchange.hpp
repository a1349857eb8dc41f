// The All-to-All of NCCL: one process, all GPUs, grouped sends and receives, the own share included.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>
#include <vector>

class NcclExchange {
 public:
  // Null, and a message on stderr, where NCCL is not built in or does not start.
  static std::unique_ptr<NcclExchange> create(int ranks);
  virtual ~NcclExchange() = default;

  // Enqueues on streams[rank]: share p of send[rank] to rank p, from rank p into share p of receive[rank].
  virtual bool all_to_all(const std::vector<const void*>& send, const std::vector<void*>& receive, size_t share_bytes,
                          const std::vector<cudaStream_t>& streams) = 0;

  static std::string version();  // "none" if not built in
};
