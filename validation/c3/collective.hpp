// Collectives between all GPUs of the process, by NCCL or by copy engines, whose results can be checked.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>
#include <vector>

#include "work.hpp"

// Input and output of every rank. The input holds small integers in bf16, so that sums are exact in any order.
class CollectiveMemory {
 public:
  CollectiveMemory(int gpus, int64_t most_bytes_per_rank);
  ~CollectiveMemory();
  CollectiveMemory(const CollectiveMemory&) = delete;
  CollectiveMemory& operator=(const CollectiveMemory&) = delete;

  int gpus() const { return int(input_.size()); }
  char* input(int rank) const { return input_[rank]; }
  char* output(int rank) const { return output_[rank]; }  // as large as all inputs together

 private:
  std::vector<char*> input_, output_;
};

struct CollectiveShape {
  Kind kind = Kind::all_gather;
  int64_t bytes_per_rank = 0;  // size of a rank's input
  int gpus = 0;                // number of GPUs that take part, from GPU 0 on
};

class Collective : public Work {
 public:
  Collective(const CollectiveMemory& memory, const CollectiveShape& shape) : memory_(memory), shape_(shape) {}
  const CollectiveShape& shape() const { return shape_; }
  // poison() overwrites the output before a run. verify() compares every element of the output with the expected value
  // after the run, and ends the program if one differs; `engine` is the name in its message.
  void poison();
  void verify(const std::string& engine);

 protected:
  virtual bool moves_own_share() const { return true; }
  int64_t output_elements() const;
  const CollectiveMemory& memory_;
  const CollectiveShape shape_;
};

// NCCL's communicators over the first `gpus` GPUs, with at most `max_ctas` workgroups per GPU (0: NCCL's choice).
class NcclGroup {
 public:
  virtual ~NcclGroup() = default;
  static std::unique_ptr<NcclGroup> create(int gpus, int max_ctas);
  // Returns a collective on bf16 values whose output is another buffer than its input.
  virtual std::unique_ptr<Collective> collective(const CollectiveMemory& memory, Kind kind, int64_t bytes_per_rank) = 0;

  // Sets NCCL's environment variables; must be called before the first communicator is made. Multicast (NVLS) is always
  // off. If `direct` is true, NCCL may write into a peer's output, as it does between GPUs of one process. If it is
  // false, NCCL uses its FIFOs, as it does between processes.
  static void configure(bool direct);
  static std::string version();
};

// Streams for copies that run at the same time. By the events, the caller's stream starts these streams and waits for
// them. They must be created early, because streams after the first 32 of a process share the GPU's hardware queues.
class CopyLanes {
 public:
  explicit CopyLanes(int gpus);
  ~CopyLanes();
  CopyLanes(const CopyLanes&) = delete;
  CopyLanes& operator=(const CopyLanes&) = delete;

  struct Gpu {
    cudaEvent_t begin = nullptr;
    std::vector<cudaStream_t> stream;  // one per peer except the first peer, whose copy uses the caller's stream
    std::vector<cudaEvent_t> end;
  };
  const Gpu& of(int gpu) const { return gpu_[size_t(gpu)]; }

 private:
  std::vector<Gpu> gpu_;
};

// Returns an all-gather or all-to-all by direct copies. Each GPU starts with another peer, so that no two senders send
// to one receiver. With streams = 1 the copies of a GPU run one after the other; with 0 each peer has its own stream. A
// GPU's share for itself is not copied.
std::unique_ptr<Collective> make_copies(const CollectiveMemory& memory, const CopyLanes& lanes,
                                        const CollectiveShape& shape, int streams);
