#include "app/import/tensor/coders.hpp"

#include <fmt/format.h>
#include <lz4.h>
#include <zfp.h>
#include <zstd.h>

#include <array>
#include <cmath>
#include <cstring>

#include "sim/core/invariant.hpp"

namespace moire::importing {

namespace {

struct Free {
  void operator()(zfp_stream* stream) const { zfp_stream_close(stream); }
  void operator()(zfp_field* field) const { zfp_field_free(field); }
  void operator()(bitstream* bits) const { stream_close(bits); }
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

zfp_type type_of(Float values) { return values == Float::fp64 ? zfp_type_double : zfp_type_float; }

class Zfp final : public Coder {
 public:
  explicit Zfp(double rate) : rate_(rate) {}
  std::string name() const override { return "zfp"; }
  std::string meaning() const override {
    return fmt::format(
        "zfp: libzfp {}, {:g} bits per value, each chunk as a one-dimensional array. The rate determines the ratio, "
        "and the data determine the error",
        ZFP_VERSION_STRING, rate_);
  }
  bool fits(Float values) const override { return values == Float::fp32 || values == Float::fp64; }
  std::string takes() const override { return "fp32 and fp64"; }
  std::optional<double> fixed_ratio(Float values) const override {
    return static_cast<double>(bytes_of(values)) * 8 / rate_;
  }
  std::optional<Coded> code(Float values, std::span<const char> chunk) override {
    return values == Float::fp64 ? code<double>(values, chunk) : code<float>(values, chunk);
  }

 private:
  template <class Value>
  std::optional<Coded> code(Float values, std::span<const char> chunk) {
    const std::size_t count = chunk.size() / sizeof(Value);
    std::vector<Value> plain(count), decoded(count);
    std::memcpy(plain.data(), chunk.data(), count * sizeof(Value));
    Coded coded;
    for (const Value value : plain) {
      if (!std::isfinite(value)) return std::nullopt;
      coded.largest = std::max(coded.largest, std::abs(static_cast<double>(value)));
    }
    const std::unique_ptr<zfp_stream, Free> stream(zfp_stream_open(nullptr));
    zfp_stream_set_rate(stream.get(), rate_, type_of(values), 1, zfp_false);
    const auto pass = [&](std::vector<Value>& data, auto&& run) {
      const std::unique_ptr<zfp_field, Free> field(zfp_field_1d(data.data(), type_of(values), count));
      buffer_.resize(std::max(buffer_.size(), zfp_stream_maximum_size(stream.get(), field.get())));
      const std::unique_ptr<bitstream, Free> bits(stream_open(buffer_.data(), buffer_.size()));
      zfp_stream_set_bit_stream(stream.get(), bits.get());
      zfp_stream_rewind(stream.get());
      const std::size_t bytes = run(stream.get(), field.get());
      MOIRE_INVARIANT(bytes > 0, "zfp failed although its buffer is large enough");
      return bytes;
    };
    coded.bytes = static_cast<double>(pass(plain, zfp_compress));
    pass(decoded, zfp_decompress);
    for (std::size_t i = 0; i < count; ++i)
      coded.error = std::max(coded.error, std::abs(static_cast<double>(plain[i]) - static_cast<double>(decoded[i])));
    return coded;
  }

  double rate_;
  std::vector<char> buffer_;
};

// Estimates the size in the format of DietGPU, a codec for GPUs, as if its coder reached the entropy. Each exponent
// (for fp16 the upper byte) takes as many bits as its entropy in the chunk. All other bits are uncompressed. The
// headers and tables of the format are added (GpuANSUtils.cuh and GpuFloatUtils.cuh of commit a4d70a14).
class Ans final : public Coder {
 public:
  std::string name() const override { return "ans"; }
  std::string meaning() const override {
    return "ans: an estimate, for which no coder runs. The exponents of bf16 and fp32, or the upper bytes of fp16, "
           "count with their entropy in the chunk, and all other bits uncompressed. The tables and states of "
           "DietGPU's format are added";
  }
  bool fits(Float values) const override { return values != Float::fp64; }
  std::string takes() const override { return "fp16, bf16 and fp32"; }
  std::optional<Coded> code(Float values, std::span<const char> chunk) override {
    constexpr double headers = 16 + 32, table = 256 * 2, block = 4096, of_block = 32 * 4 + 8;
    const std::uint64_t size = bytes_of(values);
    const std::size_t count = chunk.size() / size;
    std::array<std::uint64_t, 256> times{};
    for (std::size_t i = 0; i < count; ++i) {
      std::array<unsigned char, 2> upper{};  // the last two bytes, which are the upper ones (little-endian)
      std::memcpy(upper.data(), chunk.data() + (i + 1) * size - 2, 2);
      const unsigned symbol = values == Float::fp16 ? upper[1] : ((upper[1] << 1) | (upper[0] >> 7)) & 0xffU;
      ++times[symbol];
    }
    const auto all = static_cast<double>(count);
    double bits = 0;
    for (const std::uint64_t of_symbol : times)
      if (of_symbol > 0) bits += static_cast<double>(of_symbol) * std::log2(all / static_cast<double>(of_symbol));
    return Coded{headers + table + std::ceil(all / block) * of_block + std::ceil(bits / 8) +
                 all * static_cast<double>(size - 1)};
  }
};

class Zstd final : public Coder {
 public:
  std::string name() const override { return "zstd"; }
  std::string meaning() const override {
    return fmt::format("zstd: libzstd {}, level {}, each chunk compressed by itself", ZSTD_VERSION_STRING, level);
  }
  bool fits(Float) const override { return true; }
  std::string takes() const override { return "all"; }
  std::optional<Coded> code(Float, std::span<const char> chunk) override {
    buffer_.resize(std::max(buffer_.size(), ZSTD_compressBound(chunk.size())));
    const std::size_t bytes =
        ZSTD_compressCCtx(context_.get(), buffer_.data(), buffer_.size(), chunk.data(), chunk.size(), level);
    MOIRE_INVARIANT(ZSTD_isError(bytes) == 0, "zstd failed although its buffer is large enough");
    return Coded{static_cast<double>(bytes)};
  }

 private:
  static constexpr int level = 3;  // the default of libzstd
  std::unique_ptr<ZSTD_CCtx, Free> context_{ZSTD_createCCtx()};
  std::vector<char> buffer_;
};

class Lz4 final : public Coder {
 public:
  std::string name() const override { return "lz4"; }
  std::string meaning() const override {
    return fmt::format("lz4: liblz4 {}, its default settings, each chunk as one block", LZ4_VERSION_STRING);
  }
  bool fits(Float) const override { return true; }
  std::string takes() const override { return "all"; }
  std::optional<Coded> code(Float, std::span<const char> chunk) override {
    const int size = static_cast<int>(chunk.size());
    buffer_.resize(std::max(buffer_.size(), static_cast<std::size_t>(LZ4_compressBound(size))));
    const int bytes = LZ4_compress_default(chunk.data(), buffer_.data(), size, static_cast<int>(buffer_.size()));
    MOIRE_INVARIANT(bytes > 0, "lz4 failed although its buffer is large enough");
    return Coded{static_cast<double>(bytes)};
  }

 private:
  std::vector<char> buffer_;
};

}  // namespace

std::vector<std::unique_ptr<Coder>> make_coders(double rate) {
  std::vector<std::unique_ptr<Coder>> coders;
  coders.push_back(std::make_unique<Zfp>(rate));
  coders.push_back(std::make_unique<Ans>());
  coders.push_back(std::make_unique<Zstd>());
  coders.push_back(std::make_unique<Lz4>());
  return coders;
}

bool is_zfp_rate(double rate, Float values) {
  const std::unique_ptr<zfp_stream, Free> stream(zfp_stream_open(nullptr));
  return zfp_stream_set_rate(stream.get(), rate, type_of(values), 1, zfp_false) == rate;
}

}  // namespace moire::importing
