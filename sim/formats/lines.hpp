// Reads a plain or zstd-compressed stream line by line, for texts that are too large for memory.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/formats/zstd_stream.hpp"

namespace moire::formats {

class Lines {
 public:
  static constexpr std::size_t longest_line = 64UL * 1024;

  // A line may have at most `longest` bytes, without its newline. `longest` must not be above longest_line.
  Lines(std::unique_ptr<std::istream> in, bool compressed, std::size_t longest);

  enum class Status {
    line,        // a line without its newline
    end,         // no more lines
    cut_off,     // the last line has no newline
    too_long,    // longer than `longest`
    compressed,  // zstd data although `compressed` was false
    failed,      // the stream cannot be read; see problem()
  };
  // `line` stays valid until the next call.
  Status next(std::string_view& line);

  std::int64_t number() const { return number_; }  // number of the line that next() returned last, from 1
  ZstdDecoder::Problem problem() const;
  std::string_view detail() const;

 private:
  std::size_t read(char* to, std::size_t size);

  std::unique_ptr<std::istream> in_;
  std::optional<ZstdDecoder> decoder_;
  std::size_t longest_;
  std::vector<char> block_;
  std::size_t begin_ = 0;  // begin of the data in block_ that next() has not returned yet
  std::size_t end_ = 0;
  std::int64_t number_ = 0;
};

}  // namespace moire::formats
