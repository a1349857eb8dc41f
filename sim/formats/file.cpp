#include "sim/formats/file.hpp"

#include "sim/formats/zstd_stream.hpp"

namespace moire::formats {

std::optional<std::string> read_file(const FileAsked& asked, std::uintmax_t most, config::Diagnostics& diagnostics) {
  if (asked.file.extension() != ".zst") return config::read_plain(asked, most, diagnostics);
  const std::unique_ptr<std::istream> in = open_file(asked, diagnostics);
  if (!in) return std::nullopt;
  ZstdDecoder decoder(*in);
  const auto next = [&decoder](char* block, std::size_t size) { return decoder.read(block, size); };
  auto text = config::read_blocks(asked, *in, most, next, diagnostics);
  const ZstdDecoder::Problem problem = decoder.problem();
  if (!text || problem == ZstdDecoder::Problem::none || problem == ZstdDecoder::Problem::unreadable) return text;
  refuse(asked, "is not a complete zstd file", "compress it again, or give the plain file", diagnostics);
  return std::nullopt;
}

}  // namespace moire::formats
