// The simulation of a comparison, in a child process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/evidence/wg_compare/record.hpp"
#include "app/study/prepare.hpp"

namespace moire::wg_compare {

struct Recorded {
  std::optional<Record> record;      // empty if the run deadlocked or it is not clear which kernel is meant
  std::string deadlock;              // the report; empty if every operation ended
  std::vector<std::string> kernels;  // those that did work
};

// Simulates a run and records the kernel of that name, or the only kernel.
Recorded simulate_recorded(const study::PreparedRun& run, const std::string& kernel);

}  // namespace moire::wg_compare
