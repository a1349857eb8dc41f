// A file that a command writes. It is there whole or not at all: bytes go to a temporary file beside it,
// `.NAME.partial`, which takes its name when all of them are on the disk. While it is written, nobody else can write
// it: the temporary file is locked. The lock ends with its process, so what a killed one left behind is only written
// over.
//
// What is no file with bytes of its own (a pipe, a terminal, /dev/null) is written to as it is.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace moire::process {

class OutputFile {
 public:
  // Throws RunFailure where the file cannot be written, is an input of this command, or is being written by another
  // one.
  explicit OutputFile(std::filesystem::path path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // leaves nothing of a file that was not committed

  // Throws RunFailure where it does not take all bytes, and commit() does then, too.
  std::ostream& stream() { return stream_; }
  // The file is on the disk, under its name. Throws RunFailure; what had the name before is then still there.
  void commit();

  const std::filesystem::path& path() const { return path_; }

 private:
  friend void remove_temporary_files();
  class Buffer final : public std::streambuf {
   public:
    explicit Buffer(OutputFile& file) : file_(file) {}

   private:
    std::streamsize xsputn(const char* text, std::streamsize size) override;
    int overflow(int c) override;
    OutputFile& file_;
  };

  void open_temporary();
  void close_file();
  [[noreturn]] void fail(const std::string& why) const;
  [[noreturn]] void fail(int error) const;

  const std::filesystem::path path_;
  std::filesystem::path target_;     // where links lead
  std::filesystem::path temporary_;  // none: written to as it is
  pid_t process_;
  int descriptor_ = -1;
  int error_ = 0;
  Buffer buffer_{*this};
  std::ostream stream_{&buffer_};
};

// The same for a text that is there. Throws RunFailure.
void write_file(const std::filesystem::path& path, std::string_view text);

// Throws RunFailure where an OutputFile of this name would: before a long work, so that nobody waits for what cannot be
// kept.
void check_can_write(const std::filesystem::path& path);

// Those of this process, before a signal ends it: safe in a handler.
void remove_temporary_files();

}  // namespace moire::process
