// DietGPU's codec for bf16: it compresses the exponents by asymmetric numeral systems and copies sign and mantissa.
#include "codec.hpp"

#ifdef WITH_DIETGPU
#include <cassert>

#include "cuda_check.hpp"
#include "dietgpu/float/GpuFloatCodec.h"
#include "dietgpu/utils/StackDeviceMemory.h"

namespace {

class Ans : public Codec {
 public:
  explicit Ans(int64_t bytes) : memory_(0, size_t(3 * bytes + (64 << 20))) {
    CUDA_CHECK(cudaMalloc(&size_, sizeof(uint32_t)));
    CUDA_CHECK(cudaMallocHost(&on_host_, sizeof(uint32_t)));
  }
  ~Ans() override {
    cudaFree(size_);
    cudaFreeHost(on_host_);
  }
  Ans(const Ans&) = delete;
  Ans& operator=(const Ans&) = delete;

  void compress(const void* plain, void* coded, int64_t bytes, cudaStream_t stream) override {
    const uint32_t values = uint32_t(bytes / 2);
    dietgpu::floatCompress(memory_, config(), 1, &plain, &values, &coded, size_, stream);
  }
  void decompress(const void* coded, void* plain, int64_t bytes, cudaStream_t stream) override {
    const uint32_t values = uint32_t(bytes / 2);
    dietgpu::floatDecompress(memory_, config(), 1, &coded, &plain, &values, nullptr, nullptr, stream);
  }
  int64_t size(int64_t, cudaStream_t stream) override {
    CUDA_CHECK(cudaMemcpyAsync(on_host_, size_, sizeof(uint32_t), cudaMemcpyDeviceToHost, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    return *on_host_;
  }
  int64_t most_coded_bytes(int64_t bytes) const override {
    return dietgpu::getMaxFloatCompressedSize(dietgpu::FloatType::kBFloat16, uint32_t(bytes / 2));
  }
  bool lossless() const override { return true; }
  int value_bytes() const override { return 2; }
  std::vector<KernelFacts> facts() const override { return {}; }  // several kernels, inside the library

 private:
  static dietgpu::FloatCodecConfig config() {
    return {dietgpu::FloatType::kBFloat16, dietgpu::ANSCodecConfig(10), true};
  }
  dietgpu::StackDeviceMemory memory_;
  uint32_t* size_ = nullptr;
  uint32_t* on_host_ = nullptr;
};

}  // namespace

std::unique_ptr<Codec> make_ans(int64_t bytes) { return std::make_unique<Ans>(bytes); }
#else
std::unique_ptr<Codec> make_ans(int64_t) { return nullptr; }
#endif
