#include "sim/process/log_output.hpp"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "sim/core/failure.hpp"
#include "sim/process/descriptor.hpp"

namespace moire::process {

namespace {

// Writes each line at once, because logs are read while the program runs and after it crashed.
class Sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit Sink(int to) : to_(to) {}
  ~Sink() override {
    if (to_ != STDERR_FILENO) close(to_);
  }
  int error() const { return error_; }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (error_ == 0 && !write_all(to_, {line.data(), line.size()})) error_ = errno;
  }
  void flush_() override {}

  const int to_;
  int error_ = 0;
};

std::shared_ptr<Sink> sink;
std::unique_ptr<spdlog::logger> logger;
std::string to_file;  // empty: stderr
std::string kept;     // one line per message, prefixed with the number of its level

spdlog::level::level_enum level_of(core::LogLevel level) {
  switch (level) {
    case core::LogLevel::error:
      return spdlog::level::err;
    case core::LogLevel::warn:
      return spdlog::level::warn;
    case core::LogLevel::info:
      return spdlog::level::info;
    case core::LogLevel::debug:
      return spdlog::level::debug;
    default:
      return spdlog::level::off;
  }
}

template <class Act>
void for_each_line(const std::string& text, const Act& act) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    act(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

void write(core::LogLevel level, const std::string& text) {
  if (to_file.empty() && level <= core::LogLevel::warn) return;
  for_each_line(text, [level](const std::string& line) { logger->log(level_of(level), line); });
}

void keep(core::LogLevel level, const std::string& text) {
  for_each_line(text, [level](const std::string& line) {
    kept += static_cast<char>('0' + static_cast<int>(level));
    kept += line + '\n';
  });
}

[[noreturn]] void fail(const std::string& why) {
  throw core::RunFailure(fmt::format("cannot write the log '{}': {}", to_file, why));
}

// True if the file is empty or begins like a log.
bool may_begin_anew(int file) {
  std::array<char, 16> first{};
  const ssize_t size = pread(file, first.data(), first.size(), 0);
  const std::string_view text(first.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const std::array<std::string_view, 4> levels = {"error: ", "warning: ", "info: ", "debug: "};
  return size == 0 || std::any_of(levels.begin(), levels.end(), [&](auto level) { return text.starts_with(level); });
}

// Opens and truncates the log file, and returns its descriptor. Throws if the file exists and is not a log: the log is
// opened before the inputs of the command are known, and must not overwrite an input.
int open_log() {
  const int file = open(to_file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) fail(std::strerror(errno));
  struct stat known {};
  if (fstat(file, &known) != 0 || !S_ISREG(known.st_mode)) return file;
  std::string why;
  if (!may_begin_anew(file)) why = "it exists and is not a log; name another file";
  if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    why = "another command is writing to it; name another file";
  if (why.empty() && ftruncate(file, 0) != 0) why = std::strerror(errno);
  if (why.empty()) return file;
  close(file);
  fail(why);
}

}  // namespace

void start_log(core::LogLevel level, const std::string& file) {
  if (level == core::LogLevel::off) return;
  logger.reset();
  sink.reset();
  to_file = file;
  sink = std::make_shared<Sink>(file.empty() ? STDERR_FILENO : open_log());
  logger = std::make_unique<spdlog::logger>("moire", sink);
  logger->set_pattern("%l: %v");
  logger->set_level(level_of(level));
  core::log_state = {level, write};
}

void end_log() {
  if (sink && !to_file.empty() && sink->error() != 0) fail(std::strerror(sink->error()));
}

void keep_log() {
  kept.clear();
  if (core::log_state.write != nullptr) core::log_state.write = keep;
}

std::string kept_log() { return std::move(kept); }

void replay_log(const std::string& text) {
  for_each_line(text, [](const std::string& line) {
    const auto level = static_cast<core::LogLevel>(line.front() - '0');
    if (core::logs(level)) core::log_state.write(level, line.substr(1));
  });
}

}  // namespace moire::process
