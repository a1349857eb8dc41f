// Describes a matrix to the tensor copy engine of Hopper (TMA). Needs CUDA 12.5.
#pragma once

#include <cuda.h>

#include <cstdint>

// A row-major bf16 matrix, copied in boxes of `box_rows` x `box_columns`; rows of a box are 64 elements at most and lie
// in shared memory with the 128-byte swizzle. `row_elements`: from one row to the next. What a box has beyond the
// matrix reads as zero and is not written.
CUtensorMap tensor_map(const void* base, int64_t rows, int64_t columns, int64_t row_elements, int box_rows,
                       int box_columns);

// A function of the driver, by its name and the CUDA version (12050 is 12.5) whose parameters are meant.
void* driver_function(const char* name, unsigned version);
