// GEMMs of cuBLASLt with accumulation in fp32. Every GPU computes the same GEMM.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "work.hpp"

// The memory of the GEMMs on every GPU, and the library's handles. All shapes share this memory. The matrices are
// filled once with normally distributed bf16 numbers, because the power depends on the data, and the clock on the
// power.
class Operands {
 public:
  Operands(int gpus, const std::vector<ComputeShape>& shapes);
  ~Operands();
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  int gpus() const { return int(a_.size()); }
  void* a(int gpu) const { return a_[gpu]; }
  void* b(int gpu) const { return b_[gpu]; }
  void* c(int gpu) const { return c_[gpu]; }
  void* workspace(int gpu) const { return workspace_[gpu]; }
  void* handle(int gpu) const { return handle_[gpu]; }

 private:
  std::vector<void*> a_, b_, c_, workspace_, handle_;
};

// The kernel that the library chose; -1 for properties that the library does not report.
struct GemmAlgorithm {
  int id = -1, tile = -1, stages = -1, split_k = -1, swizzle = -1, cluster = -1, custom = -1;
  double waves = 0;
};

class Gemm : public Work {
 public:
  // Returns the GEMM with the kernel that the library chooses. `sms`: the number of SMs that the library may use (0:
  // all).
  static std::unique_ptr<Gemm> create(const Operands& operands, const ComputeShape& shape, int sms);
  virtual GemmAlgorithm algorithm() const = 0;
  // Runs the GEMM and compares 64 elements of C with the results of a simple kernel. Ends the program if they differ.
  virtual void check() = 0;

  static std::string version();
};
