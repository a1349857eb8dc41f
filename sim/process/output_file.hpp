// A file that a command writes. It appears completely or not at all: the bytes of a file NAME go to a temporary file
// `.NAME.partial` in the same folder, and the temporary file is renamed when all bytes are on disk. Until then, the
// command holds a lock on the temporary file, so that no other command writes to it. The lock ends with the process. So
// the temporary file of a killed process stays without a lock, and the next command that writes NAME overwrites it.
//
// A pipe, a terminal or a device such as /dev/null is written to directly.
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
  // Throws RunFailure if the file cannot be written, is an input of this command, or is being written by another
  // command.
  explicit OutputFile(std::filesystem::path path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // removes the temporary file if commit() was not called

  // Throws RunFailure if bytes cannot be written; commit() then throws as well.
  std::ostream& stream() { return stream_; }
  // Puts the file on disk under its name. If this fails, throws RunFailure, and an old file of this name still exists.
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
  std::filesystem::path target_;     // path_ with symbolic links resolved
  std::filesystem::path temporary_;  // empty if path_ is written to directly
  pid_t process_;
  int descriptor_ = -1;
  int error_ = 0;
  Buffer buffer_{*this};
  std::ostream stream_{&buffer_};
};

// Writes a text as the whole content of an OutputFile. Throws RunFailure if this fails.
void write_file(const std::filesystem::path& path, std::string_view text);

// Throws RunFailure if an OutputFile of this name cannot be written. Call it before long work, so that the result can
// be stored afterwards.
void check_can_write(const std::filesystem::path& path);

// Removes the temporary files of this process before a signal ends it. It may be called in a signal handler.
void remove_temporary_files();

}  // namespace moire::process
