#include "app/import/tensor/tensor_file.hpp"

#include <fmt/format.h>

namespace moire::importing {

TensorFile::TensorFile(std::string of, std::istream& from) : name(std::move(of)), in(from) {
  in.seekg(0, std::ios::end);
  const auto end = static_cast<std::streamoff>(in.tellg());
  size = end > 0 ? static_cast<std::uint64_t>(end) : 0;
}

bool TensorFile::read(std::uint64_t at, char* to, std::uint64_t bytes) const {
  if (at > size || bytes > size - at) return false;
  in.clear();
  in.seekg(static_cast<std::streamoff>(at));
  in.read(to, static_cast<std::streamsize>(bytes));
  return static_cast<std::uint64_t>(in.gcount()) == bytes;
}

void TensorFile::refuse(std::uint64_t at, const std::string& what, const std::string& remedy,
                        config::Diagnostics& diagnostics) const {
  const auto source = std::make_shared<const config::Source>(config::Source{name, {}, false, {}});
  diagnostics.error({source, 0, 0}, fmt::format("byte {}: {}", at, what), remedy);
}

}  // namespace moire::importing
