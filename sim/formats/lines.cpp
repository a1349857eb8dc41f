#include "sim/formats/lines.hpp"

#include <algorithm>
#include <cstring>

#include "sim/core/invariant.hpp"

namespace moire::formats {

namespace {

constexpr std::size_t first_block = 8UL * 1024;  // small, because most texts are short; doubled whenever it is full
constexpr std::size_t most_block = 256UL * 1024;
constexpr std::string_view zstd_magic = "\x28\xb5\x2f\xfd";  // first bytes of a frame (RFC 8878)

}  // namespace

Lines::Lines(std::unique_ptr<std::istream> in, bool compressed, std::size_t longest)
    : in_(std::move(in)), longest_(longest), block_(first_block) {
  static_assert(longest_line < most_block);
  MOIRE_INVARIANT(longest <= longest_line, "lines longer than a block can hold");
  if (compressed) decoder_.emplace(*in_);
}

std::size_t Lines::read(char* to, std::size_t size) {
  if (decoder_) return decoder_->read(to, size);
  in_->read(to, static_cast<std::streamsize>(size));
  return static_cast<std::size_t>(in_->gcount());
}

ZstdDecoder::Problem Lines::problem() const {
  if (decoder_) return decoder_->problem();
  return in_->bad() ? ZstdDecoder::Problem::unreadable : ZstdDecoder::Problem::none;
}

std::string_view Lines::detail() const { return decoder_ ? std::string_view(decoder_->detail()) : ""; }

Lines::Status Lines::next(std::string_view& line) {
  std::size_t searched = begin_;
  for (;;) {
    const void* newline = std::memchr(block_.data() + searched, '\n', end_ - searched);
    const std::size_t stop =
        newline ? static_cast<std::size_t>(static_cast<const char*>(newline) - block_.data()) : end_;
    if (stop - begin_ > longest_) {
      ++number_;
      return Status::too_long;
    }
    if (newline) {
      line = std::string_view(block_.data() + begin_, stop - begin_);
      begin_ = stop + 1;
      ++number_;
      return Status::line;
    }
    // The remaining data are shorter than the longest line, so a block of the largest size can always take more.
    std::memmove(block_.data(), block_.data() + begin_, end_ - begin_);
    if (end_ == block_.size()) block_.resize(std::min(2 * block_.size(), most_block));
    end_ -= begin_;
    begin_ = 0;
    searched = end_;
    const std::size_t got = read(block_.data() + end_, block_.size() - end_);
    const bool first = end_ == 0 && number_ == 0;
    end_ += got;
    if (first && !decoder_ && std::string_view(block_.data(), end_).starts_with(zstd_magic)) return Status::compressed;
    if (got > 0) continue;
    if (problem() != ZstdDecoder::Problem::none) {
      ++number_;
      return Status::failed;
    }
    if (end_ == 0) return Status::end;
    line = std::string_view(block_.data(), end_);
    begin_ = end_;
    ++number_;
    return Status::cut_off;
  }
}

}  // namespace moire::formats
