// The operators that are timed: fused kernels, and library calls one after the other.
#pragma once

#include <cuda_bf16.h>

#include <memory>
#include <vector>

#include "cases.hpp"
#include "gemm.hpp"
#include "moire_record.hpp"
#include "nccl_communicators.hpp"

// The memory that fused operators need on every GPU besides A[m][k], B[n][k] and C[m][n], which `Operands` holds.
class FusedMemory {
 public:
  struct Gpu {
    int sms = 0;
    __nv_bfloat16* parts = nullptr;  // [source][m / ranks][n]
    __nv_bfloat16* out = nullptr;    // [m / ranks][n]
    uint32_t* counters = nullptr;    // one per tile
    uint32_t* flags = nullptr;       // one per chunk of rows of A
    int* gave_up = nullptr;
    uint64_t* clock = nullptr;  // how long the fused kernel ran: [0] in cycles, [1] in ns
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

  // Resets counters, flags, and the outputs to which tiles are added. Called before every run, outside the measured
  // time.
  virtual void prepare() {}
  // Fills outputs, staging buffers and the rows that peers send with NaN. Called before a run whose result is checked.
  void poison();
  // Returns true if the result of a run after poison() is right. Compares some elements of every GPU's output with
  // those of a simple kernel, and searches the whole output for NaN. Prints what is wrong.
  bool right();
  // Returns true if a wait in a kernel has timed out since the last call of this function.
  bool gave_up();
  // Returns the mean SM clock during the last run's GEMM kernel in MHz, of the GPU with the lowest clock. Returns 0 if
  // a library's kernel ran.
  double kernel_mhz();
  // From the next run on, uses the kernel variant that records a trace; a null pointer ends this.
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

// Returns the operator that runs case `c`. `comms` may be null if the case does not use NCCL.
std::unique_ptr<Operator> make_operator(const Case& c, const Operands& operands, const FusedMemory& memory,
                                        const NcclCommunicators* comms);
