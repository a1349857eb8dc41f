// The header of every measurements file: on which machine, when and how its values were measured.
#pragma once

#include <cstdio>
#include <string>

// Writes lines "# key: value" with the keys gpu, gpus, driver, date, command, cuda and clocks.
void write_provenance(std::FILE* file, int gpus, const std::string& command);
