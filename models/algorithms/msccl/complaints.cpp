#include "models/algorithms/msccl/complaints.hpp"

#include <fmt/format.h>

namespace moire::msccl {

std::string name_of(std::int64_t gpu) { return fmt::format("gpu {}", gpu); }
std::string name_of(std::int64_t gpu, std::int64_t block) { return fmt::format("gpu {}, tb {}", gpu, block); }
std::string name_of(std::int64_t gpu, std::int64_t block, std::int64_t step) {
  return fmt::format("gpu {}, tb {}, step {}", gpu, block, step);
}

}  // namespace moire::msccl
