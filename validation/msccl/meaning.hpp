// Computes the values that every rank's output must hold after a plan (a collective algorithm) has run.
#pragma once

#include <vector>

#include "block_program.hpp"
#include "plan.hpp"

// A summand of an output chunk: `times` x chunk number `chunk` of the input of `rank`.
struct Term {
  int32_t rank, chunk, times;
};
// The terms of every output chunk of one rank. A chunk without terms is not checked.
using Expected = std::vector<std::vector<Term>>;

// Returns what every rank's output must hold according to the definition of the collective. A custom plan has no such
// definition; its steps are run on whole chunks, one after the other, and their result is expected. Ends the program if
// these steps wait for each other forever.
std::vector<Expected> expected_of(const Plan& plan);

// Returns element `i` of a rank's input buffer in run `seed`: an integer from -512 to 511, so that sums are exact in
// fp32.
HOST_DEVICE inline int input_value(int rank, int64_t i, uint32_t seed) {
  uint32_t x =
      (uint32_t(i) ^ uint32_t(i >> 32) * 0x85ebca77U ^ (seed << 4 | uint32_t(rank)) * 0xc2b2ae3dU) * 0x9e3779b1U;
  x ^= x >> 15;
  x *= 0x85ebca77U;
  x ^= x >> 13;
  return int(x & 1023) - 512;
}
