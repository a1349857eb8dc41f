// Compresses and decompresses streams with zstd, block by block, so that the whole text is never in memory.
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

struct ZSTD_DCtx_s;
struct ZSTD_CCtx_s;

namespace moire::formats {

class ZstdDecoder {
 public:
  explicit ZstdDecoder(std::istream& in);

  // Fills `to` with up to `size` decompressed bytes; returns 0 at the end of the data or after a problem.
  std::size_t read(char* to, std::size_t size);

  enum class Problem { none, not_zstd, truncated, trailing_garbage, corrupt, unreadable };
  Problem problem() const { return problem_; }
  const std::string& detail() const { return detail_; }  // if the problem is `corrupt`: the decompressor's message

 private:
  bool refill();
  std::size_t fail(Problem problem, std::string detail = {});

  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::istream& in_;
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::vector<char> block_;
  std::size_t filled_ = 0;
  std::size_t used_ = 0;
  bool inside_frame_ = false;  // a frame has begun and not ended
  bool any_frame_ = false;     // at least one frame has ended
  Problem problem_ = Problem::none;
  std::string detail_;
};

class ZstdEncoder {
 public:
  explicit ZstdEncoder(std::ostream& out);
  void write(std::string_view text);
  void finish();  // ends the frame; check the stream's state for write errors

 private:
  void compress(std::string_view text, bool last);

  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  std::ostream& out_;
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::vector<char> block_;
};

}  // namespace moire::formats
