#include "models/algorithms/mscclpp/plan.hpp"

#include <fmt/format.h>

namespace moire::mscclpp {

std::string_view to_string(ChannelType type) {
  switch (type) {
    case ChannelType::none:
      return "none";
    case ChannelType::memory:
      return "memory";
    case ChannelType::port:
      return "port";
    case ChannelType::multicast:
      return "switch";
  }
  return "";
}

bool gives_signal(OpType type) {
  return type == OpType::signal || type == OpType::relaxed_signal || type == OpType::put_signal ||
         type == OpType::put_signal_flush;
}

std::string where(std::size_t gpu, std::size_t block, const std::string& op, const Operation& operation) {
  return fmt::format("gpu {} tb {} op {} ({})", gpu, block, op, operation.name);
}

}  // namespace moire::mscclpp
