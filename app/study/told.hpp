// Finds the operations of a program as results report them. Operations to which an operator gave the same name are
// reported as one operation; they are its parts.
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
  std::int64_t ranks = 0;  // number of simulated ranks that run a part; the largest over the parts
};
std::vector<Told> told(const replay::Result& result);

// Maps the name of an operation to the word that stands for the operation in names of metrics.
using Words = std::unordered_map<std::string, std::string>;
Words words_of(const std::vector<Told>& operations);

}  // namespace moire::study
