// The log explains why a result is what it is: each decision of the simulator is one line. Results are never written to
// the log.
//
// A line whose level is not enabled costs one comparison. Call logs() first if the text of a line is expensive to
// build. Nothing that happens for each event is logged at any level. sim/process/log_output.hpp decides where the lines
// are written.
#pragma once

#include <fmt/core.h>

#include <string>

namespace moire::core {

// Each level includes the levels before it.
enum class LogLevel { off, error, warn, info, debug };

struct Log {
  LogLevel level = LogLevel::off;
  void (*write)(LogLevel level, const std::string& text) = nullptr;
};
inline Log log_state;  // one per process, set by log_output.hpp

inline bool logs(LogLevel level) { return level <= log_state.level; }

template <class... Args>
void log_line(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (logs(level)) log_state.write(level, fmt::vformat(format, fmt::make_format_args(args...)));
}

template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::error, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::warn, format, std::forward<Args>(args)...);
}
// Logs a decision that affects what is simulated.
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::info, format, std::forward<Args>(args)...);
}
// Logs how the simulation is carried out.
template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::debug, format, std::forward<Args>(args)...);
}

}  // namespace moire::core
