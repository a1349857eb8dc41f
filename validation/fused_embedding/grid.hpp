// Reads from a CSV file which points (named shapes) to measure.
#pragma once

#include <string>
#include <vector>

#include "shape.hpp"

struct Point {
  std::string name;
  Shape shape;
};

inline constexpr const char* kGridColumns =
    "name,tables_per_gpu,global_batch,pooling,dim,dtype,zipf,rows_per_table,bags_per_task,also_on_2_gpus";

// Returns all points for `ranks` GPUs: every row, or on 2 GPUs the rows with also_on_2_gpus = 1. Lines that begin
// with # are comments. Prints every error as file:line: what is wrong, and ends the program with status 2 if there was
// one.
std::vector<Point> read_grid(const std::string& path, int ranks);
