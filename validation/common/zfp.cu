// ZFP's own kernels (src/cuda_zfp of its sources), launched with its own grids and blocks, but on a given stream.
#include "codec.hpp"

#ifdef WITH_ZFP
#include <climits>
#include <cmath>
#include <cstdio>

#include "cuda_check.hpp"
// ZFP needs its headers in this order, because they depend on each other.
#include "encode1.cuh"
// clang-format off
#include "decode1.cuh"
// clang-format on

namespace {

constexpr int kThreads = 128;
constexpr int kValues = 4;  // values in a block

// One hop of a compressed sum: each thread decodes a block, adds the rank's values (`own`) and codes the sum.
__global__ void reduce_kernel(Word* coded, const float* own, Word* out, uint values, uint blocks, uint bits) {
  const uint block = blockIdx.x * blockDim.x + threadIdx.x;
  if (block >= blocks) return;
  cuZFP::BlockReader<kValues> reader(coded, int(bits), block, int(blocks));
  float sum[kValues] = {0, 0, 0, 0};
  cuZFP::zfp_decode(reader, sum, bits);
  for (uint i = 0; i < kValues; ++i)
    if (block * kValues + i < values) sum[i] += own[block * kValues + i];
  cuZFP::zfp_encode_block<float, kValues>(sum, int(bits), block, out);
}

template <class Kernel>
KernelFacts facts_of(const char* name, Kernel kernel) {
  KernelFacts facts;
  facts.kernel = name;
  facts.threads = kThreads;
  cudaFuncAttributes attributes{};
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)));
  facts.registers = attributes.numRegs;
  facts.shared_bytes = int(attributes.sharedSizeBytes);
  facts.local_bytes = int(attributes.localSizeBytes);
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&facts.workgroups_per_sm, kernel, kThreads, 0));
  return facts;
}

class Zfp : public Codec {
 public:
  explicit Zfp(int rate) : bits_(uint(rate) * kValues) {}

  void compress(const void* plain, void* coded, int64_t bytes, cudaStream_t stream) override {
    CUDA_CHECK(cudaMemsetAsync(coded, 0, size_t(most_coded_bytes(bytes)), stream));
    cuZFP::cudaEncode1<float><<<grid(bytes), kThreads, 0, stream>>>(bits_, static_cast<const float*>(plain),
                                                                    static_cast<Word*>(coded), values(bytes), 1,
                                                                    padded(bytes), blocks(bytes));
    CUDA_CHECK(cudaGetLastError());
  }
  void decompress(const void* coded, void* plain, int64_t bytes, cudaStream_t stream) override {
    cuZFP::cudaDecode1<float><<<grid(bytes), kThreads, 0, stream>>>(const_cast<Word*>(static_cast<const Word*>(coded)),
                                                                    static_cast<float*>(plain), values(bytes), 1,
                                                                    padded(bytes), blocks(bytes), bits_);
    CUDA_CHECK(cudaGetLastError());
  }
  bool reduce(const void* coded, const void* own, void* out, int64_t bytes, cudaStream_t stream) override {
    CUDA_CHECK(cudaMemsetAsync(out, 0, size_t(most_coded_bytes(bytes)), stream));
    reduce_kernel<<<grid(bytes), kThreads, 0, stream>>>(const_cast<Word*>(static_cast<const Word*>(coded)),
                                                        static_cast<const float*>(own), static_cast<Word*>(out),
                                                        values(bytes), blocks(bytes), bits_);
    CUDA_CHECK(cudaGetLastError());
    return true;
  }
  int64_t size(int64_t bytes, cudaStream_t stream) override {
    CUDA_CHECK(cudaStreamSynchronize(stream));
    return most_coded_bytes(bytes);
  }
  int64_t most_coded_bytes(int64_t bytes) const override {
    return (int64_t(blocks(bytes)) * bits_ + 63) / 64 * 8;  // whole words
  }
  bool lossless() const override { return false; }
  int value_bytes() const override { return 4; }
  std::vector<KernelFacts> facts() const override {
    return {facts_of("compress", cuZFP::cudaEncode1<float>), facts_of("decompress", cuZFP::cudaDecode1<float>),
            facts_of("decompress_reduce_compress", reduce_kernel)};
  }

 private:
  static uint values(int64_t bytes) { return uint(bytes / 4); }
  static uint padded(int64_t bytes) { return (values(bytes) + kValues - 1) / kValues * kValues; }
  static uint blocks(int64_t bytes) { return padded(bytes) / kValues; }
  static unsigned grid(int64_t bytes) { return (blocks(bytes) + kThreads - 1) / kThreads; }

  uint bits_;  // bits of a coded block
};

}  // namespace

std::unique_ptr<Codec> make_zfp(int rate) { return std::make_unique<Zfp>(rate); }
#else
std::unique_ptr<Codec> make_zfp(int) { return nullptr; }
#endif
