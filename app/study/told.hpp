// Operations as results tell them: those that an operator gave one name are parts of one.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/hardware/replay/replay.hpp"

namespace moire::study {

struct Told {
  replay::OperationTimes times;
  int parts = 1;
  std::int64_t ranks = 0;  // most that have a part
};
std::vector<Told> told(const replay::Result& result);

// The word of every name in metrics; parts have that of the whole.
using Words = std::unordered_map<std::string, std::string>;
Words words_of(const std::vector<Told>& operations);

}  // namespace moire::study
