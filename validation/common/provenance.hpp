// The head that every file of measurements has: which machine, when, how.
#pragma once

#include <cstdio>
#include <string>

// "# key: value" lines: gpu, gpus, driver, date, command, cuda, clocks.
void write_provenance(std::FILE* file, int gpus, const std::string& command);
