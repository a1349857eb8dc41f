// The kernels of a codec, on memory of one GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// A kernel as the compiler made it.
struct KernelFacts {
  std::string kernel;
  int threads = 0, registers = 0, shared_bytes = 0, local_bytes = 0;
  int workgroups_per_sm = 0;
};

class Codec {
 public:
  virtual ~Codec() = default;
  // A call as a program makes it: all that it enqueues, which is clearing the output, taking statistics and coding.
  virtual void compress(const void* plain, void* coded, int64_t bytes, cudaStream_t stream) = 0;
  virtual void decompress(const void* coded, void* plain, int64_t bytes, cudaStream_t stream) = 0;
  // coded = code of (values of coded + own), in one kernel; false where the codec has none.
  virtual bool reduce(const void*, const void*, void*, int64_t, cudaStream_t) { return false; }
  // Compressed bytes of the last call that has ended. Copies the size from the GPU where it is not known ahead.
  virtual int64_t size(int64_t bytes, cudaStream_t stream) = 0;
  virtual int64_t most_coded_bytes(int64_t bytes) const = 0;
  virtual bool lossless() const = 0;
  virtual int value_bytes() const = 0;
  virtual std::vector<KernelFacts> facts() const = 0;
};

// ZFP's kernels for arrays of fp32 of one dimension, at `rate` bits a value; null without its sources.
std::unique_ptr<Codec> make_zfp(int rate);
// DietGPU's codec of bf16; null without its sources. `bytes`: the most of a call.
std::unique_ptr<Codec> make_ans(int64_t bytes);
