#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "codec.hpp"
#include "coding.hpp"
#include "cuda_check.hpp"

namespace {

constexpr size_t kReadAhead = 64;  // bytes: ZFP's reader also loads the word after the one that it needs

class Coding : public Work {
 public:
  Coding(const Operands& operands, const ComputeShape& shape) : operands_(operands), shape_(shape) {
    codec_ = make_zfp(kCodingBits);
    if (codec_ == nullptr) {
      std::fprintf(stderr, "c3: %s needs ZFP; a build with -DZFP_SOURCE=DIR would be right\n", shape.name.c_str());
      std::exit(2);
    }
    for (int gpu = 0; gpu < operands.gpus(); ++gpu) {
      CUDA_CHECK(cudaSetDevice(gpu));
      void* memory = nullptr;
      CUDA_CHECK(cudaMalloc(&memory, size_t(codec_->most_coded_bytes(bytes())) + kReadAhead));
      coded_.push_back(memory);
      check(gpu);
    }
  }
  ~Coding() override {
    for (size_t r = 0; r < coded_.size(); ++r) {
      cudaSetDevice(int(r));
      cudaFree(coded_[r]);
    }
  }
  Coding(const Coding&) = delete;
  Coding& operator=(const Coding&) = delete;

  void enqueue(const std::vector<cudaStream_t>& streams) override {
    for (size_t r = 0; r < streams.size(); ++r) {
      const int gpu = int(r);
      CUDA_CHECK(cudaSetDevice(gpu));
      if (shape_.codec == "compress")
        codec_->compress(operands_.a(gpu), coded_[r], bytes(), streams[r]);
      else
        codec_->decompress(coded_[r], operands_.c(gpu), bytes(), streams[r]);
    }
  }

 private:
  int64_t bytes() const { return shape_.stream_bytes; }

  // Compresses and decompresses operand a. Ends the program if a value changes by a quarter of the largest value or
  // more. The compressed data stay in coded_.
  void check(int gpu) {
    const size_t values = size_t(bytes()) / sizeof(float);
    CUDA_CHECK(cudaMemset(operands_.c(gpu), 0xff, size_t(bytes())));  // NaN
    codec_->compress(operands_.a(gpu), coded_[size_t(gpu)], bytes(), nullptr);
    codec_->decompress(coded_[size_t(gpu)], operands_.c(gpu), bytes(), nullptr);
    std::vector<float> before(values), after(values);
    CUDA_CHECK(cudaMemcpy(before.data(), operands_.a(gpu), size_t(bytes()), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(after.data(), operands_.c(gpu), size_t(bytes()), cudaMemcpyDeviceToHost));
    double largest = 0, worst = 0;
    for (size_t i = 0; i < values; ++i) {
      largest = std::max(largest, std::abs(double(before[i])));
      const double difference = std::abs(double(before[i]) - double(after[i]));
      worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
    }
    if (worst < largest / 4) return;
    std::fprintf(stderr, "c3: ZFP loses %g of values up to %g\n", worst, largest);
    std::exit(1);
  }

  const Operands& operands_;
  ComputeShape shape_;
  std::unique_ptr<Codec> codec_;
  std::vector<void*> coded_;  // of each GPU
};

}  // namespace

std::unique_ptr<Work> make_coding(const Operands& operands, const ComputeShape& shape) {
  return std::make_unique<Coding>(operands, shape);
}
