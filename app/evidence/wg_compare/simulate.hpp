// Runs the simulation of a comparison in a child process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/evidence/wg_compare/record.hpp"
#include "app/study/prepare.hpp"

namespace moire::wg_compare {

struct Recorded {
  std::optional<Record> record;      // empty after a deadlock, or if the kernel cannot be identified
  std::string deadlock;              // the report of a deadlock; empty if every operation ended
  std::vector<std::string> kernels;  // names of the kernels that did work
};

// Simulates a run and returns the record of the kernel with the name `kernel`, or of the only kernel that did work.
Recorded simulate_recorded(const study::PreparedRun& run, const std::string& kernel);

}  // namespace moire::wg_compare
