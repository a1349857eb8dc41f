// The split schedule, as in the user buffers of TransformerEngine: a rank runs one GEMM for each rank's block of rows,
// while blocks are copied around a ring of the node's GPUs. The GEMMs of an all-gather alternate between two streams.
// The GEMMs of a reduce-scatter are on one stream, which also adds the partial sums.
#include <fmt/format.h>

#include "models/workload/kernel/stream.hpp"
#include "models/workload/tensor_parallel/spec.hpp"

namespace moire::tensor_parallel {

namespace {

// Returns a function that gives the flag of a rank for a step of the ring.
std::function<program::FlagRef(Rank)> at(const program::FlagBlock& flags, std::uint32_t step) {
  return [flags, step](Rank rank) { return flags.at(rank, step); };
}

program::FlagBlock steps_of(builder::Builder& build, const std::string& name) {
  const Rank ranks = build.ranks();
  return build.program.add_flags({build.unique(name), ranks, [name, ranks](Rank rank, std::uint32_t) {
                                    return std::pair{(rank + ranks - 1) % ranks, name};
                                  }});
}

// Appends a copy to the next rank of the ring. Its end raises a flag there.
void append_copy(const builder::Builder& build, program::Queue& stream, Bytes bytes, const program::FlagBlock& arrived,
                 std::uint32_t step) {
  const Rank ranks = build.ranks();
  stream.operations.emplace_back(program::Copy{build.unique("rows"), [=](Rank rank) {
                                                 const Rank next = (rank + 1) % ranks;
                                                 return program::Transfer{next, bytes, arrived.at(next, step)};
                                               }});
}

}  // namespace

kernel::GemmSpec part_of(kernel::GemmSpec product, Rank ranks) {
  product.m = (product.m + ranks - 1) / ranks;
  return product;
}

builder::Builder of_stream(const builder::Builder& build, program::Queue& stream) {
  return {build.system, build.program, stream, build.path, build.traces, build.recorded, build.notes, build.untried};
}

// In step s, rank r computes with the rows of rank r - s and forwards them to rank r + 1. From step 1 on, these rows
// have come from rank r - 1. Ranks are counted modulo the number of ranks.
void append_split(builder::Builder& build, const AllGatherGemmSpec& spec) {
  const Rank ranks = build.ranks();
  const kernel::GemmSpec part = part_of(own_product(spec, ranks), ranks);
  const Bytes bytes = exchange_of(spec, ranks).bytes;
  const program::FlagBlock arrived = steps_of(build, "ring_rows");
  program::Queue& ring = build.fork("ring");
  program::Queue& second = build.fork("second");
  builder::Builder beside = of_stream(build, second);
  for (std::uint32_t step = 0; step < ranks; ++step) {
    builder::Builder& own = step % 2 == 0 ? build : beside;
    if (step > 0) own.queue.operations.emplace_back(program::Wait{build.unique("rows_there"), at(arrived, step)});
    kernel::append_gemm(own, part);
    if (step > 0 && step + 1 < ranks)
      ring.operations.emplace_back(program::Wait{build.unique("rows_to_send"), at(arrived, step)});
    if (step + 1 < ranks) append_copy(build, ring, bytes, arrived, step + 1);
  }
  build.join(ring, build.unique(ring.name + "_joins"));
  build.join(second, build.unique(second.name + "_joins"));
}

// In step s, rank r computes its part of the rows of rank r - 1 - s. From step 1 on, it adds the partial sum that rank
// r - 1 has sent. It sends the result to rank r + 1, except in the last step, when the rows are its own. Ranks are
// counted modulo the number of ranks.
void append_split(builder::Builder& build, const GemmReduceScatterSpec& spec) {
  const Rank ranks = build.ranks();
  const kernel::GemmSpec part = part_of(own_product(spec, ranks), ranks);
  const Bytes bytes{static_cast<double>(part.m) * static_cast<double>(part.n) * builder::bytes_of(part.dtype)};
  const program::FlagBlock arrived = steps_of(build, "ring_sums");
  const program::FlagBlock summed = steps_of(build, "summed");
  program::Queue& ring = build.fork("ring");
  for (std::uint32_t step = 0; step < ranks; ++step) {
    kernel::append_gemm(build, part);
    if (step > 0) {
      build.queue.operations.emplace_back(program::Wait{build.unique("sums_there"), at(arrived, step)});
      kernel::append_stream(build, {.inputs = 2, .bytes = bytes}, "add");
    }
    if (step + 1 == ranks) break;
    build.queue.operations.emplace_back(program::Signal{build.unique("sums_done"), at(summed, step)});
    ring.operations.emplace_back(program::Wait{build.unique("sums_to_send"), at(summed, step)});
    append_copy(build, ring, bytes, arrived, step + 1);
  }
  build.join(ring, build.unique(ring.name + "_joins"));
}

}  // namespace moire::tensor_parallel
