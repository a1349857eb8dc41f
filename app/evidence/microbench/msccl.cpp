// Small MSCCL plans, each of which shows one cost of the interpreter that validation/msccl runs on GPUs. They are the
// same as the plans that validation/msccl/micro.py makes.
#include "app/evidence/microbench/msccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "app/evidence/microbench/bench.hpp"
#include "models/algorithms/msccl/algorithm.hpp"
#include "models/workload/collective/algorithm_program.hpp"
#include "models/workload/collective/channel_kernel.hpp"

namespace moire::microbench {

namespace {

using ir::Buffer;
using ir::Op;
using msccl::Algorithm;
using msccl::ThreadBlock;

struct SizedAlgorithm {
  Algorithm algorithm;
  std::int64_t chunk_bytes = 0;
};

SizedAlgorithm empty_algorithm(const Parameters& parameters, int ranks, std::int64_t chunks) {
  const std::int64_t ll = count(parameters, "ll");
  if (ll > 1) throw std::invalid_argument(fmt::format("ll is {}; it must be 0 or 1", ll));
  SizedAlgorithm made;
  made.chunk_bytes = count(parameters, "chunk_bytes");
  if (made.chunk_bytes < 1) throw std::invalid_argument("chunk_bytes is 0; it must be 1 or more");
  Algorithm& algorithm = made.algorithm;
  algorithm.collective = ir::Collective::custom;
  algorithm.protocol = ll == 1 ? ir::Protocol::ll : ir::Protocol::simple;
  algorithm.chunks = static_cast<std::int32_t>(chunks);
  algorithm.in_place = true;
  algorithm.gpus.resize(static_cast<std::size_t>(ranks));
  for (msccl::Gpu& gpu : algorithm.gpus) gpu.input_chunks = gpu.scratch_chunks = algorithm.chunks;
  return made;
}

ThreadBlock& add_block(SizedAlgorithm& made, std::size_t rank, int send = msccl::none, int recv = msccl::none,
                       int channel = 0) {
  ThreadBlock& block = made.algorithm.gpus[rank].blocks.emplace_back();
  block.send = send;
  block.recv = recv;
  block.channel = channel;
  made.algorithm.channels = std::max(made.algorithm.channels, channel + 1);
  return block;
}

msccl::Step& add_step(ThreadBlock& block, Op type, std::int64_t src, std::int64_t dst) {
  msccl::Step& step = block.steps.emplace_back();
  step.type = type;
  step.count = 1;
  step.src_offset = static_cast<std::int32_t>(src);
  step.dst_offset = static_cast<std::int32_t>(dst);
  return step;
}

SizedAlgorithm copy_algorithm(const Parameters& p) {
  const std::int64_t blocks = positive_count(p, "blocks");
  SizedAlgorithm made = empty_algorithm(p, 1, blocks);
  for (std::int64_t b = 0; b < blocks; ++b) add_step(add_block(made, 0), Op::copy, b, b);
  return made;
}

SizedAlgorithm steps_algorithm(const Parameters& p) {
  SizedAlgorithm made = empty_algorithm(p, 1, 2);
  ThreadBlock& block = add_block(made, 0);
  for (std::int64_t k = 0; k < positive_count(p, "steps"); ++k) add_step(block, Op::copy, k % 2, k % 2);
  return made;
}

SizedAlgorithm dependency_algorithm(const Parameters& p) {
  SizedAlgorithm made = empty_algorithm(p, 1, 2);
  add_block(made, 0);
  add_block(made, 0);
  std::vector<ThreadBlock>& blocks = made.algorithm.gpus[0].blocks;
  for (std::int64_t k = 0; k < positive_count(p, "hops"); ++k) {
    msccl::Step& step = add_step(blocks[static_cast<std::size_t>(k % 2)], Op::copy, k % 2, k % 2);
    if (k == 0) continue;
    step.depends_block = static_cast<std::int32_t>(1 - k % 2);
    step.depends_step = static_cast<std::int32_t>((k - 1) / 2);
    blocks[static_cast<std::size_t>(1 - k % 2)].steps.back().has_dependents = true;
  }
  return made;
}

SizedAlgorithm reduce_algorithm(const Parameters& p) {
  const std::int64_t blocks = positive_count(p, "blocks"), sources = positive_count(p, "sources");
  SizedAlgorithm made = empty_algorithm(p, 1, blocks * (sources + 1));
  for (std::int64_t b = 0; b < blocks; ++b) {
    ThreadBlock& block = add_block(made, 0);
    const std::int64_t first = b * (sources + 1);
    for (std::int64_t s = 0; s < sources; ++s) add_step(block, Op::reduce, first + 1 + s, first);
  }
  return made;
}

SizedAlgorithm ping_algorithm(const Parameters& p) {
  const std::int64_t hops = positive_count(p, "hops");
  SizedAlgorithm made = empty_algorithm(p, 2, 1);
  for (int rank = 0; rank < 2; ++rank) add_block(made, static_cast<std::size_t>(rank), 1 - rank, 1 - rank);
  const auto block = [&made](std::int64_t rank) -> ThreadBlock& {
    return made.algorithm.gpus[static_cast<std::size_t>(rank)].blocks[0];
  };
  add_step(block(0), Op::send, 0, 0);
  for (std::int64_t k = 1; k < hops; ++k) add_step(block(k % 2), Op::recv_copy_send, 0, 0);
  add_step(block(hops % 2), Op::recv, 0, 0);
  return made;
}

SizedAlgorithm stream_algorithm(const Parameters& p) {
  const std::int64_t connections = positive_count(p, "connections");
  const bool both = count(p, "both") == 1;
  SizedAlgorithm made = empty_algorithm(p, 2, both ? 2 * connections : connections);
  for (int rank = 0; rank < (both ? 2 : 1); ++rank) {
    for (std::int64_t k = 0; k < connections; ++k) {
      const std::int64_t chunk = rank * connections + k;
      const int other = 1 - rank, channel = static_cast<int>(k);
      add_step(add_block(made, static_cast<std::size_t>(rank), other, msccl::none, channel), Op::send, chunk, chunk);
      add_step(add_block(made, static_cast<std::size_t>(other), msccl::none, rank, channel), Op::recv, chunk, chunk);
    }
  }
  return made;
}

SizedAlgorithm kind_algorithm(const Parameters& p) {
  constexpr Op types[] = {Op::recv_reduce_copy, Op::recv_copy_send, Op::recv_reduce_copy_send, Op::recv_reduce_send};
  const std::int64_t connections = positive_count(p, "connections"), kind = count(p, "kind");
  if (kind > 3) throw std::invalid_argument(fmt::format("kind is {}; it must be 0 to 3", kind));
  SizedAlgorithm made = empty_algorithm(p, 2, connections);
  for (std::int64_t k = 0; k < connections; ++k) {
    const int channel = static_cast<int>(k);
    const int back = kind == 0 ? msccl::none : 0;
    add_step(add_block(made, 0, 1, msccl::none, channel), Op::send, k, k);
    add_step(add_block(made, 1, back, 0, channel), types[kind], k, k);
    if (kind == 0) continue;
    msccl::Step& last = add_step(add_block(made, 0, msccl::none, 1, channel), Op::recv, k, k);
    if (kind == 1) last.dst_buffer = Buffer::scratch;
  }
  return made;
}

SizedAlgorithm sends_algorithm(const Parameters& p) {
  const std::int64_t steps = positive_count(p, "steps");
  SizedAlgorithm made = empty_algorithm(p, 2, steps);
  ThreadBlock& sender = add_block(made, 0, 1);
  ThreadBlock& receiver = add_block(made, 1, msccl::none, 0);
  for (std::int64_t k = 0; k < steps; ++k) {
    add_step(sender, Op::send, k, k);
    add_step(receiver, Op::recv, k, k);
  }
  return made;
}

SizedAlgorithm exchange_algorithm(const Parameters& p) {
  const std::int64_t steps = positive_count(p, "steps"), blocks = positive_count(p, "blocks");
  const bool adds = count(p, "adds") == 1;
  SizedAlgorithm made = empty_algorithm(p, 2, 2);
  for (int rank = 0; rank < 2; ++rank) {
    for (std::int64_t b = 0; b < blocks; ++b)
      add_block(made, static_cast<std::size_t>(rank), 1 - rank, 1 - rank, static_cast<int>(b));
    std::vector<ThreadBlock>& own = made.algorithm.gpus[static_cast<std::size_t>(rank)].blocks;
    for (std::int64_t k = 0; k < steps; ++k) {
      msccl::Step& send = add_step(own[static_cast<std::size_t>(k % blocks)], Op::send, rank, rank);
      if (blocks > 1 && k > 0) {
        ThreadBlock& before = own[static_cast<std::size_t>((k - 1) % blocks)];
        send.depends_block = static_cast<std::int32_t>((k - 1) % blocks);
        send.depends_step = static_cast<std::int32_t>(before.steps.size()) - 1;
        before.steps.back().has_dependents = true;
      }
      add_step(own[static_cast<std::size_t>(k % blocks)], adds ? Op::recv_reduce_copy : Op::recv,
               adds ? rank : 1 - rank, adds ? rank : 1 - rank);
    }
  }
  return made;
}

struct Known {
  const char* name;
  const char* about;
  std::vector<std::string> parameters;
  SizedAlgorithm (*make)(const Parameters&);
};

const std::vector<Known>& known() {
  static const std::vector<Known> all = {
      {"msccl_copy", "Thread blocks of one GPU copy a chunk each.", {"blocks"}, copy_algorithm},
      {"msccl_steps", "A thread block copies a chunk again and again.", {"steps"}, steps_algorithm},
      {"msccl_dependency", "Two thread blocks of one GPU take turns.", {"hops"}, dependency_algorithm},
      {"msccl_reduce", "Thread blocks of one GPU add chunks in one pass.", {"sources", "blocks"}, reduce_algorithm},
      {"msccl_ping", "A chunk back and forth between two GPUs.", {"hops"}, ping_algorithm},
      {"msccl_stream", "Connections from one GPU to another, or both ways.", {"connections", "both"}, stream_algorithm},
      {"msccl_kind",
       "A GPU sends; another GPU receives by one of four types of steps.",
       {"kind", "connections"},
       kind_algorithm},
      {"msccl_sends", "One connection, a step for each chunk.", {"steps"}, sends_algorithm},
      {"msccl_exchange",
       "Two GPUs exchange a chunk again and again, by one or two thread blocks.",
       {"steps", "blocks", "adds"},
       exchange_algorithm},
  };
  return all;
}

Values run(const libraries::LibrarySpec& library, const SystemSpec& system, const SizedAlgorithm& made) {
  const std::int64_t ranks = made.algorithm.ranks();
  need_gpus(system, ranks);
  libraries::EquippedSystem node{ranks == 1 ? one_gpu(system) : one_node(system)};
  node.node.gpus = ranks;
  const bool ll = made.algorithm.protocol == ir::Protocol::ll;
  if (ll && !library.channels->ll) return {};
  const libraries::ProtocolSpec& protocol = ll ? *library.channels->ll : library.channels->simple;
  const auto bytes = static_cast<std::uint64_t>(made.chunk_bytes) * static_cast<std::uint64_t>(made.algorithm.chunks);
  program::Program program(static_cast<Rank>(ranks));
  program.queues.push_back(queue("plan", {}));
  builder::Builder build{node, program, program.queues[0]};
  constexpr double element_bytes = 4;
  collective::append_channel_kernel(
      build,
      collective::algorithm_program(std::make_shared<const Algorithm>(made.algorithm), bytes,
                                    collective::fifo_of(protocol),
                                    build.gpu().l2.duplicated()),
      library, protocol, element_bytes, "plan");
  const replay::Result result = simulate(node, program);
  const Time first = result.operations.front().first_workgroup;
  Time end;
  for (const replay::OperationTimes& times : result.operations) end = std::max(end, times.end);
  return {{"time", (end - first + system.node.gpu.host.event_pair).us()}, {"inside", (end - first).us()}};
}

}  // namespace

std::vector<Benchmark> msccl_benchmarks() {
  std::vector<Benchmark> all;
  for (const Known& one : known()) {
    std::vector<std::string> parameters = one.parameters;
    parameters.emplace_back("ll");
    parameters.emplace_back("chunk_bytes");
    all.push_back({one.name, one.about, {std::move(parameters)}, {{"time", "us"}, {"inside", "us"}}, {}});
  }
  all.push_back({"msccl_fifo",
                 "Two GPUs send before they receive; `ended` is 1 if they finish.",
                 {{"ll", "calls", "chunk_bytes"}},
                 {{"ended", "1"}},
                 {}});
  return all;
}

void with_interpreter(const libraries::LibrarySpec& library, std::vector<Benchmark>& benchmarks) {
  if (!library.channels) return;
  for (Benchmark& benchmark : benchmarks) {
    const auto found =
        std::find_if(known().begin(), known().end(), [&](const Known& one) { return benchmark.name == one.name; });
    if (found == known().end()) continue;
    benchmark.run = [library, make = found->make](const SystemSpec& system, const Parameters& parameters) {
      return run(library, system, make(parameters));
    };
  }
}

}  // namespace moire::microbench
