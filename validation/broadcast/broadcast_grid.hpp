// Reads from a CSV file which broadcasts to measure.
#pragma once

#include <string>
#include <vector>

#include "chain.hpp"

struct Case {
  Broadcast broadcast;
  std::string use;  // a test case, or calibration of the link through host memory
};

inline constexpr const char* kGridColumns = "link,compression,ratio,ranks,bytes,chunks,streams,use";

// Returns the cases of `use` ("": all cases) that `gpus` GPUs can run; the first and the last rank may share a GPU.
// Prints every error as file:line: what is wrong, and ends the program with status 2 if there was one.
std::vector<Case> read_grid(const std::string& path, const std::string& use, int gpus);
