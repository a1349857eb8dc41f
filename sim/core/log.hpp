// Log of decisions, for readers who want to know why a result is what it is: one line per decision. Results never go
// through the log.
//
// A line below the enabled level costs one comparison; call logs() first if its text is expensive to build. Nothing
// that happens per event is logged at any level. log_output.hpp decides where lines go.
#pragma once

#include <fmt/core.h>

#include <string>

namespace moire::core {

// Each level includes those before it.
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
// A decision that affects what is simulated.
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::info, format, std::forward<Args>(args)...);
}
// How the simulation is carried out.
template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::debug, format, std::forward<Args>(args)...);
}

}  // namespace moire::core
