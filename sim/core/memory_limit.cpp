#include "sim/core/memory_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

#include "sim/core/failure.hpp"

namespace moire::core {

namespace {

std::optional<double> number_in(const char* file) {
  double value = 0;
  if (std::ifstream in(file); in >> value) return value;
  return std::nullopt;  // the file does not exist, or contains "max" (no limit)
}

double spare_memory() {
  double spare = std::numeric_limits<double>::infinity();
  std::ifstream in("/proc/meminfo");
  for (std::string word; in >> word;) {
    double kib = 0;
    if (word == "MemAvailable:" && in >> kib) spare = kib * 1024;
  }
  // In a container, the control group may leave less memory.
  const auto most = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (most && used) spare = std::min(spare, *most - *used);
  return spare;
}

std::optional<double> limit;

}  // namespace

double memory_limit() {
  if (!limit) limit = spare_memory();
  return *limit;
}

void set_memory_limit(double bytes) { limit = bytes; }

void need_memory(double bytes, const std::string& what, const std::string& remedy) {
  if (bytes <= memory_limit()) return;
  throw TooLarge(fmt::format("{} need about {:.3g} GB of memory, but only {:.3g} GB may be used (--memory-limit)", what,
                             bytes * 1e-9, memory_limit() * 1e-9),
                 remedy);
}

}  // namespace moire::core
