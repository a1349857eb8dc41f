// The operators: fused kernels, and libraries one behind the other.
#pragma once

#include <cuda_bf16.h>

#include <memory>
#include <vector>

#include "cases.hpp"
#include "gemm.hpp"
#include "moire_record.hpp"
#include "nccl_communicators.hpp"

// What fused operators need beside A, B and C, on every GPU. `Operands` has those: A[m][k], B[n][k], C[m][n]; where A
// is gathered, every rank owns its block of the rows.
class FusedMemory {
 public:
  struct Gpu {
    int sms = 0;
    __nv_bfloat16* parts = nullptr;  // [source][m / ranks][n]
    __nv_bfloat16* out = nullptr;    // [m / ranks][n]
    uint32_t* counters = nullptr;    // a tile each
    uint32_t* flags = nullptr;       // a chunk of rows of A each
    int* gave_up = nullptr;
    uint64_t* clock = nullptr;  // cycles and ns of a fused kernel
    cudaStream_t copies = nullptr;
    cudaEvent_t begin = nullptr, end = nullptr;
  };

  FusedMemory(int gpus, const std::vector<Case>& cases);
  ~FusedMemory();
  FusedMemory(const FusedMemory&) = delete;
  FusedMemory& operator=(const FusedMemory&) = delete;

  int gpus() const { return int(gpu_.size()); }
  const Gpu& of(int gpu) const { return gpu_[size_t(gpu)]; }

 private:
  std::vector<Gpu> gpu_;
};

class Operator : public Work {
 public:
  Operator(const Case& c, const Operands& operands, const FusedMemory& memory)
      : case_(c), operands_(operands), memory_(memory) {}

  // Before every run, outside its time: counters and flags back to zero, sums too where they are added to.
  virtual void prepare() {}
  // Before a run that is checked: outputs, staging buffers and rows that are to come get values that are no numbers.
  void poison();
  // Behind it: some elements of every GPU's output against a simple kernel; no output may be left out. What is wrong is
  // printed.
  bool right();
  // Whether a kernel gave up waiting since the last call.
  bool gave_up();
  // Mean SM clock of the last run's GEMM kernel, of the slower GPU; 0 where a library's kernel ran.
  double kernel_mhz();
  // The operator with the kernel that records.
  virtual void record(moire_record::Recorder*) {}
  virtual int workgroups() const { return 0; }
  virtual moire_record::Kernel description() const { return {}; }

  const Case& what() const { return case_; }
  int gpus() const { return operands_.gpus(); }

 protected:
  int block_rows() const { return case_.m / gpus(); }
  __nv_bfloat16* a(int gpu) const { return static_cast<__nv_bfloat16*>(operands_.a(gpu)); }
  __nv_bfloat16* b(int gpu) const { return static_cast<__nv_bfloat16*>(operands_.b(gpu)); }
  __nv_bfloat16* c(int gpu) const { return static_cast<__nv_bfloat16*>(operands_.c(gpu)); }
  bool scatters() const;
  bool gathers() const;

  const Case case_;
  const Operands& operands_;
  const FusedMemory& memory_;
};

// `comms` may be null where no mode needs NCCL.
std::unique_ptr<Operator> make_operator(const Case& c, const Operands& operands, const FusedMemory& memory,
                                        const NcclCommunicators* comms);
