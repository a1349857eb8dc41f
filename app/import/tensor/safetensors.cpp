// Reads the header of a .safetensors: its length in 8 bytes, and a JSON map from the names of the tensors to their
// types, shapes and offsets.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "app/import/tensor/tensor_file.hpp"
#include "sim/formats/json.hpp"

namespace moire::importing {

namespace {

using formats::JsonValue;

constexpr std::uint64_t begin_of_header = 8;
constexpr std::uint64_t longest_safetensors_header = 100'000'000;  // the format's own limit

struct Kind {
  std::uint64_t bits;
  std::optional<Float> values = {};
};
const std::map<std::string, Kind, std::less<>> kinds = {{"F64", {64, Float::fp64}},
                                                        {"F32", {32, Float::fp32}},
                                                        {"F16", {16, Float::fp16}},
                                                        {"BF16", {16, Float::bf16}},
                                                        {"BOOL", {8}},
                                                        {"U8", {8}},
                                                        {"I8", {8}},
                                                        {"F8_E4M3", {8}},
                                                        {"F8_E5M2", {8}},
                                                        {"F8_E8M0", {8}},
                                                        {"F6_E2M3", {6}},
                                                        {"F6_E3M2", {6}},
                                                        {"F4", {4}},
                                                        {"U16", {16}},
                                                        {"I16", {16}},
                                                        {"U32", {32}},
                                                        {"I32", {32}},
                                                        {"U64", {64}},
                                                        {"I64", {64}},
                                                        {"C64", {64}}};

class SafetensorsHeader {
 public:
  SafetensorsHeader(const TensorFile& file, const std::string& text, config::Diagnostics& diagnostics)
      : file_(file), text_(text), data_(begin_of_header + text.size()), diagnostics_(diagnostics) {}

  std::optional<std::vector<Tensor>> read() {
    config::Diagnostics of_text;
    const auto json = formats::read_json(file_.name, text_, of_text, text_.size());
    for (const config::Diagnostic& error : of_text.sorted())
      file_.refuse(offset(error.place.line, error.place.col), error.what, error.remedy, diagnostics_);
    if (!json) return std::nullopt;
    if (json->root.kind != JsonValue::Kind::map) {
      fail(json->root, "the header is " + formats::found(json->root), "give a map from names to tensors");
      return std::nullopt;
    }
    for (const JsonValue::Entry& entry : json->root.entries)
      if (entry.key != "__metadata__" && !read_tensor(entry)) return std::nullopt;
    if (!in_order(json->root)) return std::nullopt;
    return std::move(tensors_);
  }

 private:
  bool fail(const JsonValue& value, const std::string& what, const std::string& remedy) {
    file_.refuse(offset(value.line, value.col), what, remedy, diagnostics_);
    return false;
  }

  // Returns the offset in the file of a line and column of the header.
  std::uint64_t offset(int line, int col) const {
    std::size_t at = 0;
    for (int before = 1; before < line && at < text_.size(); ++before) at = text_.find('\n', at) + 1;
    return begin_of_header + at + static_cast<std::uint64_t>(std::max(col, 1)) - 1;
  }

  bool read_tensor(const JsonValue::Entry& entry) {
    const std::string name = "tensor " + config::in_quotes(entry.key);
    const auto typed = [&](const char* key, JsonValue::Kind kind, const char* what) -> const JsonValue* {
      const JsonValue* found = entry.value.find(key);
      if (found && found->kind == kind) return found;
      fail(found ? *found : entry.value,
           found ? fmt::format("{} of {} is {}", key, name, formats::found(*found))
                 : fmt::format("{} has no {}", name, key),
           what);
      return nullptr;
    };
    const JsonValue* dtype = typed("dtype", JsonValue::Kind::text, "write a type such as \"BF16\"");
    const JsonValue* shape = dtype ? typed("shape", JsonValue::Kind::list, "write a list of whole numbers") : nullptr;
    const JsonValue* offsets =
        shape ? typed("data_offsets", JsonValue::Kind::list, "write a list of begin and end") : nullptr;
    if (!offsets) return false;
    const auto kind = kinds.find(dtype->text);
    if (kind == kinds.end())
      return fail(*dtype, fmt::format("{} has the unknown type {}", name, config::in_quotes(dtype->text)),
                  "write a type of the format, such as F32, F16 or BF16");
    std::uint64_t bits = kind->second.bits;
    for (const JsonValue& length : shape->items) {
      if (!whole(length))
        return fail(length, fmt::format("{} has a length that is {}", name, formats::found(length)),
                    "write a whole number");
      if (length.number != 0 && bits > (std::uint64_t{1} << 62) / length.number)
        return fail(length, fmt::format("{} has more than 2^62 bits", name), "give the file as it was written");
      bits *= length.number;
    }
    const auto& items = offsets->items;
    const std::uint64_t most = file_.size - data_;
    if (items.size() != 2 || !whole(items[0]) || !whole(items[1]) || items[0].number > items[1].number ||
        items[1].number > most)
      return fail(*offsets,
                  fmt::format("the data_offsets of {} are not within the {} bytes after the header", name, most),
                  "give the whole file, as it was written");
    const std::uint64_t bytes = items[1].number - items[0].number;
    if (bits % 8 != 0 || bits / 8 != bytes)
      return fail(
          *offsets,
          fmt::format("{} has {} bytes by its data_offsets, but {} bits by its type and shape", name, bytes, bits),
          "give the file as it was written");
    tensors_.push_back({entry.key, dtype->text, kind->second.values, data_ + items[0].number, bytes});
    return true;
  }

  // True if the tensors fill the rest of the file without gaps or overlaps. Otherwise reports an error.
  bool in_order(const JsonValue& root) {
    std::stable_sort(tensors_.begin(), tensors_.end(), [](const Tensor& a, const Tensor& b) {
      return std::pair(a.begin, a.bytes) < std::pair(b.begin, b.bytes);
    });
    std::uint64_t end = data_;
    for (const Tensor& tensor : tensors_) {
      if (tensor.begin != end)
        return fail(
            *root.find(tensor.name),
            fmt::format("tensor {} begins {} bytes {} the end of the previous tensor", config::in_quotes(tensor.name),
                        tensor.begin > end ? tensor.begin - end : end - tensor.begin,
                        tensor.begin > end ? "after" : "before"),
            "give the file as it was written: tensors follow each other without gaps");
      end += tensor.bytes;
    }
    if (end == file_.size) return true;
    file_.refuse(end, fmt::format("{} bytes belong to no tensor", file_.size - end), "give the file as it was written",
                 diagnostics_);
    return false;
  }

  static bool whole(const JsonValue& value) { return value.kind == JsonValue::Kind::integer && !value.negative; }

  const TensorFile& file_;
  const std::string& text_;
  std::uint64_t data_;  // offset in the file at which the tensors' bytes begin
  config::Diagnostics& diagnostics_;
  std::vector<Tensor> tensors_;
};

}  // namespace

std::optional<std::vector<Tensor>> read_safetensors(const TensorFile& file, config::Diagnostics& diagnostics) {
  std::array<char, begin_of_header> first{};
  if (!file.read(0, first.data(), first.size())) {
    file.refuse(0, fmt::format("a header begins with its length in 8 bytes, but the file has only {}", file.size),
                "give a .safetensors file", diagnostics);
    return std::nullopt;
  }
  std::uint64_t length = 0;
  for (std::size_t i = first.size(); i-- > 0;) length = length * 256 + static_cast<unsigned char>(first[i]);
  const std::uint64_t rest = file.size - begin_of_header;
  if (length > rest || length > longest_safetensors_header) {
    file.refuse(0,
                length > rest ? fmt::format("the length states a header of {} bytes, but only {} follow", length, rest)
                              : fmt::format("the length states a header of {} bytes, but the format allows {}", length,
                                            longest_safetensors_header),
                "give the whole file, as it was written", diagnostics);
    return std::nullopt;
  }
  std::string text(length, ' ');
  if (!file.read(begin_of_header, text.data(), length)) {
    file.refuse(begin_of_header, "the header cannot be read", "give the whole file", diagnostics);
    return std::nullopt;
  }
  return SafetensorsHeader(file, text, diagnostics).read();
}

}  // namespace moire::importing
