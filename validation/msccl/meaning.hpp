// The values that every rank's output must hold after a plan has run.
#pragma once

#include <vector>

#include "block_program.hpp"
#include "plan.hpp"

// A contribution: `times` x the chunk of that rank's input.
struct Term {
  int32_t rank, chunk, times;
};
// For one rank: the terms of every output chunk. A chunk without terms is not checked.
using Expected = std::vector<std::vector<Term>>;

// The post-condition of the collective. A custom plan has none; its expected result is that of its steps on whole
// chunks, run one after the other. Ends the program if those steps cannot be run to the end.
std::vector<Expected> expected_of(const Plan& plan);

// Number `i` of a rank's input buffer in run `seed`: an integer from -512 to 511, so that sums are exact in fp32.
HOST_DEVICE inline int input_value(int rank, int64_t i, uint32_t seed) {
  uint32_t x =
      (uint32_t(i) ^ uint32_t(i >> 32) * 0x85ebca77U ^ (seed << 4 | uint32_t(rank)) * 0xc2b2ae3dU) * 0x9e3779b1U;
  x ^= x >> 15;
  x *= 0x85ebca77U;
  x ^= x >> 13;
  return int(x & 1023) - 512;
}
