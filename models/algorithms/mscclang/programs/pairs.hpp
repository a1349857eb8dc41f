// The phases of all-pairs algorithms, in which every GPU of a node exchanges data with every other GPU of that node. A
// program may treat all GPUs as one node. GPU g of a node sums chunks [g * size, (g + 1) * size).
#pragma once

#include <functional>

#include "models/algorithms/mscclang/programs/entry.hpp"

namespace moire::mscclang {

struct PairsInNodes {
  Program& p;
  Ranks ranks;
  std::int32_t size;
  std::function<Placement(std::int32_t from, std::int32_t to)> placed;

  // Returns the phases for all GPUs as one node, on the thread blocks that the spec chooses.
  static PairsInNodes among_all(Program& p, const Ranks& ranks, std::int32_t size, const PeersSpec& spec) {
    const std::int32_t n = ranks.all();
    return {p, {1, n}, size, [=](std::int32_t from, std::int32_t to) { return spec.with_peer(from, to, n); }};
  }

  template <class Visit>
  void each(Visit&& visit) const {
    for (std::int32_t n = 0; n < ranks.nodes; ++n) {
      for (std::int32_t from = 0; from < ranks.gpus; ++from) {
        for (std::int32_t to = 0; to < ranks.gpus; ++to) {
          if (from != to) visit(n, from, to);
        }
      }
    }
  }

  void scatter(Buffer parts) const {
    each([&](std::int32_t n, std::int32_t from, std::int32_t to) {
      p.chunk(ranks.of(n, from), input, to * size, size).copy(ranks.of(n, to), parts, placed(from, to));
    });
  }
  void reduce(Buffer parts, std::int32_t blocks) const {
    for (std::int32_t r = 0; r < ranks.all(); ++r) {
      const std::int32_t first = r % ranks.gpus * size;
      for (std::int32_t i = 0; i < size * (ranks.gpus - 1); ++i) {
        p.chunk(r, input, first + i % size).reduce(p.chunk(r, parts, i), {.send_block = i % blocks});
      }
    }
  }
  void gather(Buffer buffer = input) const {
    each([&](std::int32_t n, std::int32_t from, std::int32_t to) {
      p.chunk(ranks.of(n, from), buffer, from * size, size).copy(ranks.of(n, to), placed(from, to));
    });
  }
};

}  // namespace moire::mscclang
