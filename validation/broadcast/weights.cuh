// Values like the weights of a model: normally distributed with a standard deviation of 0.02.
#pragma once

#include <cstdint>

__device__ inline float normal(uint64_t i, uint32_t seed) {
  uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL + seed;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  x ^= x >> 31;
  const float u = (float(uint32_t(x) >> 8) + 0.5f) / 16777216.0f;
  const float v = float(uint32_t(x >> 32) >> 8) / 16777216.0f;
  return 0.02f * sqrtf(-2 * logf(u)) * cosf(6.2831853f * v);
}
