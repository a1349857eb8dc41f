#include "sim/core/log_output.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

#include "sim/core/failure.hpp"

namespace moire::core {

namespace {

std::unique_ptr<spdlog::logger> logger;
bool to_file = false;
std::string kept;  // one line each, the level's number before it

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::debug:
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

void write(LogLevel level, const std::string& text) {
  if (!to_file && level <= LogLevel::warn) return;
  for_each_line(text, [level](const std::string& line) { logger->log(level_of(level), line); });
}

void keep(LogLevel level, const std::string& text) {
  for_each_line(text, [level](const std::string& line) {
    kept += static_cast<char>('0' + static_cast<int>(level));
    kept += line + '\n';
  });
}

}  // namespace

void start_log(LogLevel level, const std::string& file) {
  if (level == LogLevel::off) return;
  to_file = !file.empty();
  try {
    spdlog::sink_ptr sink;
    if (to_file) {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_st>(file, true);
    } else {
      sink = std::make_shared<spdlog::sinks::stderr_sink_st>();
    }
    logger = std::make_unique<spdlog::logger>("moire", std::move(sink));
  } catch (const spdlog::spdlog_ex& problem) {
    throw RunFailure(fmt::format("cannot write the log: {}", problem.what()));
  }
  logger->set_pattern("%l: %v");
  logger->set_level(level_of(level));
  logger->flush_on(spdlog::level::trace);  // every line: a child must not inherit one that waits to be written
  log_state = {level, write};
}

void keep_log() {
  kept.clear();
  if (log_state.write != nullptr) log_state.write = keep;
}

std::string kept_log() { return std::move(kept); }

void replay_log(const std::string& text) {
  for_each_line(text, [](const std::string& line) {
    const auto level = static_cast<LogLevel>(line.front() - '0');
    if (logs(level)) log_state.write(level, line.substr(1));
  });
}

}  // namespace moire::core
