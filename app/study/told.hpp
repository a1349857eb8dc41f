// The operations of a program as results report them: operations to which an operator gave the same name count as one.
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
  std::int64_t ranks = 0;  // largest number of ranks that run one of its parts
};
std::vector<Told> told(const replay::Result& result);

// The word that names of metrics have for an operation, by the operation's name. All parts of an operation share it.
using Words = std::unordered_map<std::string, std::string>;
Words words_of(const std::vector<Told>& operations);

}  // namespace moire::study
