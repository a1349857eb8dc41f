// The header of every measurements file: on which machine, when and how its values were measured.
#pragma once

#include <cstdio>
#include <string>

// "# key: value" lines: gpu, gpus, driver, date, command, cuda, clocks.
void write_provenance(std::FILE* file, int gpus, const std::string& command);
