#include "sim/formats/file.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "sim/formats/zstd_stream.hpp"

namespace moire::formats {

namespace fs = std::filesystem;

namespace {

std::nullptr_t refuse(const FileAsked& asked, const std::string& what, const std::string& remedy,
                      config::Diagnostics& diagnostics) {
  if (asked.place) {
    diagnostics.error(*asked.place, config::in_quotes(asked.file.string()) + " " + what, remedy);
  } else {
    const auto source = std::make_shared<const config::Source>(config::Source{asked.file.string(), {}, false, {}});
    diagnostics.error({source, 0, 0}, what, remedy);
  }
  return nullptr;
}

std::string or_else(const std::string& remedy, const char* general) { return remedy.empty() ? general : remedy; }

}  // namespace

std::unique_ptr<std::istream> open_file(const FileAsked& asked, config::Diagnostics& diagnostics) {
  std::error_code error;
  const fs::file_status status = fs::status(asked.file, error);
  if (!fs::exists(status)) {
    const char* general = asked.place ? "a path is relative to the file it is written in" : "name a file that is there";
    return refuse(asked, "does not exist", or_else(asked.remedy, general), diagnostics);
  }
  if (fs::is_directory(status)) {
    return refuse(asked, "is a folder", or_else(asked.remedy, "name a file in it"), diagnostics);
  }
  errno = 0;
  auto in = std::make_unique<std::ifstream>(asked.file, std::ios::binary);
  if (*in) {
    std::array<char, 2> first{};
    in->read(first.data(), first.size());
    const bool gzip = in->gcount() == 2 && first == std::array{'\x1f', '\x8b'};
    in->clear();
    in->seekg(0);
    if (!gzip) return in;
    return refuse(asked, "is compressed with gzip, which is not read", "unpack it (gunzip), or compress it with zstd",
                  diagnostics);
  }
  return refuse(asked, fmt::format("cannot be read: {}", std::strerror(errno == 0 ? EIO : errno)),
                "check its permissions", diagnostics);
}

std::optional<std::string> read_file(const FileAsked& asked, std::uintmax_t most, config::Diagnostics& diagnostics) {
  const std::unique_ptr<std::istream> in = open_file(asked, diagnostics);
  if (!in) return std::nullopt;
  std::optional<ZstdDecoder> decoder;
  if (asked.file.extension() == ".zst") decoder.emplace(*in);
  std::string text;
  std::error_code unknown;
  if (const std::uintmax_t size = fs::file_size(asked.file, unknown); !decoder && !unknown && size <= most) {
    text.reserve(static_cast<std::size_t>(size));
  }
  std::array<char, 65536> block{};
  const auto read = [&]() -> std::size_t {
    if (decoder) return decoder->read(block.data(), block.size());
    in->read(block.data(), block.size());
    return static_cast<std::size_t>(in->gcount());
  };
  while (const std::size_t got = read()) {
    text.append(block.data(), got);
    if (text.size() > most) {
      refuse(asked, fmt::format("is larger than {} MiB", most >> 20), "no file of this kind is", diagnostics);
      return std::nullopt;
    }
  }
  if (decoder && decoder->problem() != ZstdDecoder::Problem::none &&
      decoder->problem() != ZstdDecoder::Problem::unreadable) {
    refuse(asked, "is no whole zstd file", "compress it again, or give the plain file", diagnostics);
    return std::nullopt;
  }
  if (in->bad()) {
    refuse(asked, "cannot be read on", "check the disk or the connection", diagnostics);
    return std::nullopt;
  }
  return text;
}

}  // namespace moire::formats
