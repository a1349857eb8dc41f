// Creates a tensor map: the description of a matrix for Hopper's tensor copy engine (TMA). Needs CUDA 12.5.
#pragma once

#include <cuda.h>

#include <cstdint>

// Returns the tensor map of a row-major bf16 matrix that is copied in boxes of `box_rows` x `box_columns`. Rows of a
// box have at most 64 elements and lie in shared memory with the 128-byte swizzle. `row_elements` is the distance
// between neighbouring rows of the matrix. Elements of a box outside the matrix are read as zero and are not written.
CUtensorMap tensor_map(const void* base, int64_t rows, int64_t columns, int64_t row_elements, int box_rows,
                       int box_columns);

// Returns a function of the driver by its name. `version` (12050 is CUDA 12.5) selects the variant of the function with
// the parameters of this CUDA version.
void* driver_function(const char* name, unsigned version);
