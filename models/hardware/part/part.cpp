#include "models/hardware/part/part.hpp"

#include "models/hardware/part/services.hpp"

namespace moire::part {

void Site::add(std::unique_ptr<Part> part) {
  if (const auto* shared = dynamic_cast<const Shared*>(part.get())) shared_.push_back(shared);
  parts_.push_back(std::move(part));
}

}  // namespace moire::part
