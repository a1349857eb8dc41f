// What the program decides, for whoever wants to know why a result is what it is: one line a decision, never a result.
//
// A line costs one comparison where its level is off; ask logs() first where its words are dear to make. Nothing that
// happens once an event is told at any level. Where lines go is log_output.hpp's.
#pragma once

#include <fmt/core.h>

#include <string>

namespace moire::core {

// Each includes those before it.
enum class LogLevel { off, error, warn, info, debug };

struct Log {
  LogLevel level = LogLevel::off;
  void (*write)(LogLevel level, const std::string& text) = nullptr;
};
inline Log log_state;  // of this process; set by log_output.hpp

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
// A choice that decides what is simulated.
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::info, format, std::forward<Args>(args)...);
}
// How the program goes about it.
template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::debug, format, std::forward<Args>(args)...);
}

}  // namespace moire::core
