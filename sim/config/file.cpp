#include "sim/config/file.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "sim/process/input_files.hpp"

namespace moire::config {

namespace fs = std::filesystem;

namespace {

std::string or_else(const std::string& remedy, const char* general) { return remedy.empty() ? general : remedy; }

// Returns the problem of a name that is neither a regular file nor a folder. Pipes are refused because Moire opens a
// file more than once (to detect its kind and to read it), but a pipe can be read only once.
Problem no_file(fs::file_type type) {
  switch (type) {
    case fs::file_type::fifo:
      return {"is a pipe, not a file", "write it to a file first"};
    case fs::file_type::socket:
      return {"is a socket, not a file", "name a file"};
    default:
      return {"is a device, not a file", "name a file"};
  }
}

// True if the stream begins with `magic`. The stream is at its beginning again afterwards.
bool begins_with(std::istream& in, std::string_view magic) {
  std::string first(magic.size(), '\0');
  in.read(first.data(), static_cast<std::streamsize>(first.size()));
  const bool same = in.gcount() == static_cast<std::streamsize>(magic.size()) && first == magic;
  in.clear();
  in.seekg(0);
  return same;
}

}  // namespace

void refuse(const FileAsked& asked, const std::string& what, const std::string& remedy, Diagnostics& diagnostics) {
  if (asked.place) {
    diagnostics.error(*asked.place, in_quotes(asked.file.string()) + " " + what, remedy);
  } else {
    const auto source = std::make_shared<const Source>(Source{asked.file.string(), {}, false, {}});
    diagnostics.error({source, 0, 0}, what, remedy);
  }
}

std::unique_ptr<std::istream> open_file(const FileAsked& asked, Diagnostics& diagnostics) {
  std::error_code error;
  const fs::file_status status = fs::status(asked.file, error);
  if (error == std::errc::too_many_symbolic_link_levels) {
    refuse(asked, "is a symbolic link that leads back to itself", "let it lead to a file", diagnostics);
    return nullptr;
  }
  if (!fs::exists(status)) {
    if (asked.place) {
      diagnostics.error(*asked.place, "no such file " + in_quotes(asked.file.string()),
                        or_else(asked.remedy, "a path is relative to the file it is written in"));
    } else {
      refuse(asked, "does not exist", or_else(asked.remedy, "name an existing file"), diagnostics);
    }
    return nullptr;
  }
  if (fs::is_directory(status)) {
    refuse(asked, "is a folder", asked.place ? "name a file in it" : or_else(asked.remedy, "name a file in it"),
           diagnostics);
    return nullptr;
  }
  if (!fs::is_regular_file(status)) {
    const Problem problem = no_file(status.type());
    refuse(asked, problem.what, problem.remedy, diagnostics);
    return nullptr;
  }
  errno = 0;
  auto in = std::make_unique<std::ifstream>(asked.file, std::ios::binary);
  if (*in) {
    if (!begins_with(*in, "\x1f\x8b")) {
      process::note_input(asked.file);
      return in;
    }
    refuse(asked, "is compressed with gzip, which Moire cannot read", "unpack it (gunzip), or compress it with zstd",
           diagnostics);
    return nullptr;
  }
  refuse(asked, fmt::format("cannot be read: {}", std::strerror(errno == 0 ? EIO : errno)), "check its permissions",
         diagnostics);
  return nullptr;
}

std::optional<std::string> read_plain(const FileAsked& asked, std::uintmax_t most, Diagnostics& diagnostics) {
  const std::unique_ptr<std::istream> in = open_file(asked, diagnostics);
  if (!in) return std::nullopt;
  if (begins_with(*in, "\x28\xb5\x2f\xfd")) {
    refuse(asked, "is compressed with zstd, which Moire reads only in traces and tables (.csv.zst)",
           "unpack it (unzstd)", diagnostics);
    return std::nullopt;
  }
  const auto next = [&in](char* block, std::size_t size) {
    in->read(block, static_cast<std::streamsize>(size));
    return static_cast<std::size_t>(in->gcount());
  };
  return read_blocks(asked, *in, most, next, diagnostics);
}

std::optional<std::string> read_blocks(const FileAsked& asked, std::istream& in, std::uintmax_t most,
                                       const std::function<std::size_t(char*, std::size_t)>& next,
                                       Diagnostics& diagnostics) {
  std::string text;
  std::array<char, 65536> block{};
  while (const std::size_t got = next(block.data(), block.size())) {
    text.append(block.data(), got);
    if (text.size() <= most) continue;
    refuse(asked, fmt::format("is larger than {} MiB", most >> 20), asked.when_large, diagnostics);
    return std::nullopt;
  }
  if (in.bad()) {
    refuse(asked, "cannot be read to its end", "check the disk or the connection", diagnostics);
    return std::nullopt;
  }
  if (const std::size_t end = valid_utf8(text); end < text.size()) {
    const auto source = std::make_shared<const Source>(Source{asked.file.string(), {}, true, {}});
    diagnostics.error(place_in(source, text, end),
                      fmt::format("the byte {} is not valid UTF-8", in_quotes(std::string_view(text).substr(end, 1))),
                      "save the file as UTF-8");
    return std::nullopt;
  }
  return text;
}

}  // namespace moire::config
