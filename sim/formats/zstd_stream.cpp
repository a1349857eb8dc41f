#include "sim/formats/zstd_stream.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <new>

#include "sim/core/invariant.hpp"

namespace moire::formats {

void ZstdDecoder::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }
void ZstdEncoder::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

ZstdDecoder::ZstdDecoder(std::istream& in) : in_(in), context_(ZSTD_createDCtx()), block_(ZSTD_DStreamInSize()) {
  if (!context_) throw std::bad_alloc();
}

bool ZstdDecoder::refill() {
  in_.read(block_.data(), static_cast<std::streamsize>(block_.size()));
  filled_ = static_cast<std::size_t>(in_.gcount());
  used_ = 0;
  return filled_ > 0;
}

std::size_t ZstdDecoder::fail(Problem problem, std::string detail) {
  problem_ = problem;
  detail_ = std::move(detail);
  return 0;
}

std::size_t ZstdDecoder::read(char* to, std::size_t size) {
  if (problem_ != Problem::none) return 0;
  ZSTD_outBuffer out{to, size, 0};
  while (out.pos == 0) {
    if (used_ == filled_ && !refill()) {
      if (in_.bad()) return fail(Problem::unreadable);
      // The decoder may still have output of a frame whose input was read completely. If it has none, the frame is
      // truncated.
      if (!inside_frame_) return 0;
    }
    ZSTD_inBuffer in{block_.data(), filled_, used_};
    const std::size_t before = used_;
    const std::size_t left = ZSTD_decompressStream(context_.get(), &out, &in);
    used_ = in.pos;
    if (ZSTD_isError(left) != 0) {
      if (ZSTD_getErrorCode(left) == ZSTD_error_prefix_unknown) {
        return fail(any_frame_ ? Problem::trailing_garbage : Problem::not_zstd);
      }
      return fail(Problem::corrupt, ZSTD_getErrorName(left));
    }
    if (left == 0) {
      inside_frame_ = false;
      any_frame_ = true;
    } else if (used_ > before) {
      inside_frame_ = true;
    } else if (out.pos == 0) {
      return fail(Problem::truncated);
    }
  }
  return out.pos;
}

ZstdEncoder::ZstdEncoder(std::ostream& out) : out_(out), context_(ZSTD_createCCtx()), block_(ZSTD_CStreamOutSize()) {
  if (!context_) throw std::bad_alloc();
  // With a checksum, readers can detect damaged files.
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

void ZstdEncoder::compress(std::string_view text, bool last) {
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  bool done = false;
  while (!done) {
    ZSTD_outBuffer out{block_.data(), block_.size(), 0};
    const std::size_t left = ZSTD_compressStream2(context_.get(), &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
    MOIRE_INVARIANT(ZSTD_isError(left) == 0, ZSTD_getErrorName(left));
    out_.write(block_.data(), static_cast<std::streamsize>(out.pos));
    done = last ? left == 0 : in.pos == in.size;
  }
}

void ZstdEncoder::write(std::string_view text) { compress(text, false); }
void ZstdEncoder::finish() { compress({}, true); }

}  // namespace moire::formats
