// The interface of a codec that works on the memory of one GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// The resources of a kernel, as CUDA reports them for the compiled code.
struct KernelFacts {
  std::string kernel;
  int threads = 0, registers = 0, shared_bytes = 0, local_bytes = 0;
  int workgroups_per_sm = 0;
};

class Codec {
 public:
  virtual ~Codec() = default;
  // Enqueue all work of a call, as a program would: clearing the output, collecting statistics and coding.
  virtual void compress(const void* plain, void* coded, int64_t bytes, cudaStream_t stream) = 0;
  virtual void decompress(const void* coded, void* plain, int64_t bytes, cudaStream_t stream) = 0;
  // Enqueues one kernel that computes sum = compress(decompress(coded) + own); the arguments are coded, own, sum, bytes
  // and stream. Returns false if the codec has no such kernel.
  virtual bool reduce(const void*, const void*, void*, int64_t, cudaStream_t) { return false; }
  // Returns the compressed size of the last call that has ended, in bytes. If the size depends on the data, it is
  // copied from the GPU.
  virtual int64_t size(int64_t bytes, cudaStream_t stream) = 0;
  virtual int64_t most_coded_bytes(int64_t bytes) const = 0;
  virtual bool lossless() const = 0;
  virtual int value_bytes() const = 0;
  virtual std::vector<KernelFacts> facts() const = 0;
};

// Returns ZFP's kernels for one-dimensional arrays of fp32 with `rate` bits per value; null if ZFP was not built in.
std::unique_ptr<Codec> make_zfp(int rate);
// Returns DietGPU's codec for bf16; null if DietGPU was not built in. `bytes` is the largest size of a call.
std::unique_ptr<Codec> make_ans(int64_t bytes);
