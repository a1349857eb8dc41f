// The simulation of a comparison, in a process of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/evidence/wg_compare/record.hpp"
#include "app/study/prepare.hpp"

namespace moire::wg_compare {

struct Recorded {
  std::optional<Record> record;      // nothing where the run deadlocked, or none of its kernels can be told to be it
  std::string deadlock;              // the report; empty where every operation ended
  std::vector<std::string> kernels;  // that did work
};

// Simulates a run and records the kernel of that name, or its only one.
Recorded simulate_recorded(const study::PreparedRun& run, const std::string& kernel);

}  // namespace moire::wg_compare
