// Creates a tensor map: the description of a matrix for Hopper's tensor copy engine (TMA). Needs CUDA 12.5.
#pragma once

#include <cuda.h>

#include <cstdint>

// A row-major bf16 matrix that is copied in boxes of `box_rows` x `box_columns`. Rows of a box have at most 64 elements
// and lie in shared memory with the 128-byte swizzle. `row_elements` is the distance from one row to the next. The part
// of a box outside the matrix reads as zero and is not written.
CUtensorMap tensor_map(const void* base, int64_t rows, int64_t columns, int64_t row_elements, int box_rows,
                       int box_columns);

// Returns a function of the driver by its name; its parameters are those of this CUDA version (12050 is 12.5).
void* driver_function(const char* name, unsigned version);
