// Reads the header of a .npy: its magic number, its version, its length, and a Python dictionary with three keys.
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <map>
#include <string_view>

#include "app/import/tensor/tensor_file.hpp"
#include "sim/formats/number.hpp"

namespace moire::importing {

namespace {

// Largest accepted length of a header, in bytes. The header of an array without named fields has about a hundred.
constexpr std::uint64_t longest_npy_header = 1 << 16;

// Reads the dictionary of a header, such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. Stops at the
// first error.
class NpyHeader {
 public:
  NpyHeader(const TensorFile& file, std::uint64_t begin, std::string text, config::Diagnostics& diagnostics)
      : file_(file), begin_(begin), text_(std::move(text)), diagnostics_(diagnostics) {}

  bool read() {
    if (!take('{')) return fail("the header is not a dictionary", "give the file as numpy wrote it");
    while (!take('}')) {
      skip();
      const std::size_t at = at_;
      const auto key = word();
      if (!key || !take(':')) return fail("a key and a colon are missing here", "give the file as numpy wrote it");
      if (!places_.emplace(*key, begin_ + at).second)
        return fail(at, fmt::format("the key {} appears twice", config::in_quotes(*key)), "keep one of them");
      skip();
      if (*key == "descr") {
        descr_at = begin_ + at_;
        if (at_ < text_.size() && text_[at_] == '[')
          return fail("the array has named fields", "save the field that is to be measured as an array of its own");
        const auto value = word();
        if (!value) return fail("the value of descr is not a text", "give the file as numpy wrote it");
        descr = *value;
      } else if (*key == "fortran_order") {
        if (!take("True") && !take("False"))
          return fail("fortran_order is neither True nor False", "write one of them");
      } else if (*key == "shape") {
        shape_at = begin_ + at_;
        if (!read_shape()) return false;
      } else {
        return fail(at, fmt::format("the key {} is not known", config::in_quotes(*key)),
                    "the keys are descr, fortran_order and shape");
      }
      if (!take(',') && !(skip(), at_ < text_.size() && text_[at_] == '}'))
        return fail("there is neither a comma nor the end of the dictionary here", "give the file as numpy wrote it");
    }
    skip();
    if (at_ != text_.size())
      return fail("something follows the dictionary", "only spaces and one end of line may follow");
    for (const char* key : {"descr", "fortran_order", "shape"})
      if (!places_.contains(key))
        return fail(0, fmt::format("the header has no key {}", key), "give the file as numpy wrote it");
    return true;
  }

  std::string descr;
  std::uint64_t descr_at = 0, shape_at = 0;
  std::vector<std::uint64_t> shape;

 private:
  bool fail(std::size_t at, const std::string& what, const std::string& remedy) {
    file_.refuse(begin_ + at, what, remedy, diagnostics_);
    return false;
  }
  bool fail(const std::string& what, const std::string& remedy) { return fail(at_, what, remedy); }

  void skip() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool take(char what) { return take(std::string_view(&what, 1)); }
  bool take(std::string_view what) {
    skip();
    if (std::string_view(text_).substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }
  std::optional<std::string> word() {
    skip();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string::npos) return std::nullopt;
    std::string found = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return found;
  }
  bool read_shape() {
    if (!take('(')) return fail("shape is not a tuple", "give the file as numpy wrote it");
    while (!take(')')) {
      const std::size_t begin = at_;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
      const auto length = formats::number_in<std::uint64_t>(std::string_view(text_).substr(begin, at_ - begin));
      if (!length)
        return fail(begin, "a length of the shape is not a whole number below 2^64", "give the file as numpy wrote it");
      shape.push_back(*length);
      take('L');  // Python 2 writes 3L for a long
      if (!take(',') && !(skip(), at_ < text_.size() && text_[at_] == ')'))
        return fail("there is neither a comma nor the end of the shape here", "give the file as numpy wrote it");
      skip();
    }
    return true;
  }

  const TensorFile& file_;
  std::uint64_t begin_;
  std::string text_;
  config::Diagnostics& diagnostics_;
  std::size_t at_ = 0;
  std::map<std::string, std::uint64_t> places_;
};

std::optional<Float> values_of(const TensorFile& file, const NpyHeader& header, std::optional<Float> words_of_two,
                               config::Diagnostics& diagnostics) {
  const std::string& descr = header.descr;
  const std::string kind = descr.empty() ? "" : descr.substr(1);
  const auto refuse = [&](const std::string& what, const std::string& remedy) {
    file.refuse(header.descr_at, what, remedy, diagnostics);
    return std::nullopt;
  };
  const std::string shown = config::in_quotes(descr);
  if (descr.starts_with('>')) return refuse(fmt::format("{} is big-endian", shown), "save array.astype('<f4')");
  if (kind.starts_with('O'))
    return refuse(fmt::format("{} is an array of Python objects", shown), "save an array of numbers");
  if (!descr.starts_with('<') && !descr.starts_with('|') && !descr.starts_with('='))
    return refuse(fmt::format("{} is not a type of an array", shown), "use '<f2', '<f4' or '<f8'");
  if (kind == "f2") return Float::fp16;
  if (kind == "f4") return Float::fp32;
  if (kind == "f8") return Float::fp64;
  if (kind == "V2" || kind == "u2") {
    if (words_of_two) return words_of_two;
    return refuse(fmt::format("{} states that a value has two bytes, but not its type", shown),
                  "add --dtype bf16, or save '<f2' or '<f4'");
  }
  return refuse(fmt::format("{} is not floating-point of 16, 32 or 64 bits", shown), "save '<f2', '<f4' or '<f8'");
}

}  // namespace

std::optional<std::vector<Tensor>> read_npy(const TensorFile& file, std::optional<Float> words_of_two,
                                            config::Diagnostics& diagnostics) {
  const auto refuse = [&](std::uint64_t at, const std::string& what, const std::string& remedy) {
    file.refuse(at, what, remedy, diagnostics);
    return std::nullopt;
  };
  const std::string whole = "give the whole file, as numpy wrote it";
  std::array<char, 12> first{};
  constexpr std::string_view magic = "\x93NUMPY";
  if (!file.read(0, first.data(), 8) || std::string_view(first.data(), magic.size()) != magic)
    return refuse(0, "the file does not begin like a .npy file", whole);
  const auto byte = [&first](std::size_t i) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(first[i]));
  };
  if (byte(6) < 1 || byte(6) > 3)
    return refuse(6, fmt::format("the version is {}.{}", byte(6), byte(7)), "versions 1.0, 2.0 and 3.0 are known");
  const std::uint64_t of_length = byte(6) == 1 ? 2 : 4;
  if (!file.read(8, first.data() + 8, of_length)) return refuse(8, "the file ends within its header", whole);
  std::uint64_t length = 0;
  for (std::uint64_t i = of_length; i-- > 0;) length = length * 256 + byte(8 + i);
  const std::uint64_t begin = 8 + of_length;
  if (length > file.size - begin)
    return refuse(
        8, fmt::format("the length states a header of {} bytes, but only {} follow", length, file.size - begin), whole);
  if (length > longest_npy_header)
    return refuse(8, fmt::format("the header has {} bytes", length),
                  "the header of an array of numbers has about a hundred bytes");
  std::string text(length, ' ');
  if (!file.read(begin, text.data(), length)) return refuse(begin, "the header cannot be read", whole);
  NpyHeader header(file, begin, std::move(text), diagnostics);
  if (!header.read()) return std::nullopt;
  const auto values = values_of(file, header, words_of_two, diagnostics);
  if (!values) return std::nullopt;

  const std::uint64_t data = begin + length;
  std::uint64_t bytes = bytes_of(*values);
  bool empty = false, overflow = false;
  for (const std::uint64_t extent : header.shape) {
    empty = empty || extent == 0;
    overflow = overflow || (extent != 0 && bytes > (std::uint64_t{1} << 62) / extent);
    if (!overflow && extent != 0) bytes *= extent;
  }
  if (empty) return refuse(header.shape_at, "the array has no value", "give an array with values");
  if (overflow || bytes != file.size - data)
    return refuse(header.shape_at,
                  overflow
                      ? fmt::format("the shape needs more than 2^62 bytes, but {} follow the header", file.size - data)
                      : fmt::format("the shape needs {} bytes, but {} follow the header", bytes, file.size - data),
                  "give the whole file, with one array");
  return std::vector<Tensor>{{"", header.descr, values, data, bytes}};
}

}  // namespace moire::importing
