#include "models/workload/tensor_parallel/reduce_scatter.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "models/hardware/memory/cache.hpp"

namespace moire::tensor_parallel {

namespace {

using program::Phase;

// The second kernel. It adds up the parts of a tile as soon as all of them have arrived. However early they have
// arrived, a workgroup loads the tile's flag before it loads the parts. It begins with the tiles that the rank, as a
// relay, puts to other nodes, unless workgroups of the fused kernel do so; its own tiles follow. With add, remote
// atomics have already added the parts of the node, so this kernel waits for them and adds only the sums that other
// nodes have put.
class SumBody final : public program::KernelBody {
 public:
  enum Shape : std::uint16_t { relayed, own };

  SumBody(ReduceScatterTerms terms, std::int64_t workgroups, Time load_latency)
      : terms_(std::move(terms)), workgroups_(workgroups), load_latency_(load_latency) {}
  std::int64_t workgroups(Rank rank) const override { return std::min(workgroups_, tiles(rank)); }
  bool turns(Rank by) const override { return terms_.turns(by); }
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    const std::int64_t number = workgroup + step / sum_steps * workgroups(rank);
    if (number >= tiles(rank)) return false;
    sum_step(terms_, rank, first(rank) + number, step % sum_steps, load_latency_, relayed, own, phase);
    return true;
  }

 private:
  std::int64_t first(Rank rank) const { return terms_.relays > 0 ? terms_.relayed_tiles(rank) : 0; }
  std::int64_t tiles(Rank rank) const { return terms_.relayed_tiles(rank) + terms_.own_tiles(rank) - first(rank); }

  ReduceScatterTerms terms_;
  std::int64_t workgroups_;
  Time load_latency_;
};

constexpr double bytes_per_load = 16;  // of a thread

// Instructions that a wavefront needs to add up its parts of a load and to store the sum. NVIDIA's profiler counted 227
// on an H200 (reduce_kernel, validation/flux/kernels.cu), whether 1 or 8 parts are summed, because the loop over the
// parts has a fixed length of 8.
constexpr double sum_instructions = 227;
constexpr double parts_of_a_loop = 8;

}  // namespace

double ReduceScatterTerms::main_loop(std::int64_t workgroup, std::int64_t number) const {
  const double equal = 1 / static_cast<double>(launch.order.tiles());
  if (tile_spread <= 0 || number >= launch.tiles_of(workgroup ^ 1)) return equal;
  std::minstd_rand random(static_cast<std::uint32_t>(1 + workgroup / 2 + number * launch.workgroups));
  random.discard(2);  // the first numbers of similar seeds are similar
  const double even = 2 * static_cast<double>(random()) / static_cast<double>(std::minstd_rand::max()) - 1;
  const double apart = std::sqrt(3) * tile_spread * even;  // `even` has a standard deviation of 1 / sqrt(3)
  return equal * (1 + (workgroup % 2 == 0 ? apart : -apart));
}

void sum_step(const ReduceScatterTerms& terms, Rank rank, std::int64_t number, std::uint32_t step, Time load_latency,
              std::uint16_t relayed, std::uint16_t own, Phase& phase) {
  Rank place = 1;
  while (place < terms.places() && number >= terms.own_tiles(terms.behind(rank, place)))
    number -= terms.own_tiles(terms.behind(rank, place++));
  const Rank owner = terms.behind(rank, place);  // the rank itself if place is the number of nodes
  const bool relays = place < terms.places();
  const auto tile = static_cast<std::uint32_t>(number);
  if (step == 0) {
    phase.kind = Phase::Kind::wait;
    phase.flag = relays ? terms.gathered_flag(rank, owner, tile, rank) : terms.flag(rank, tile, rank);
    phase.target = relays ? terms.neighbours : terms.parts();
  } else if (step == 1) {
    phase.kind = Phase::Kind::delay;
    phase.duration = load_latency;
  } else if (step == 2) {
    if (terms.mover == Mover::add && (relays || terms.places() == 1)) return;
    phase.kind = Phase::Kind::work;
    phase.shape = relays ? relayed : own;
    phase.amount = terms.own_bytes(owner, number);
    phase.peer = rank;
  } else if (relays) {
    put_sum(terms, rank, owner, tile, phase);
  }
}

void put_sum(const ReduceScatterTerms& terms, Rank relay, Rank owner, std::uint32_t tile, Phase& phase) {
  phase.kind = Phase::Kind::put;
  phase.peer = owner;
  phase.bytes = Bytes{terms.own_bytes(owner, tile)};
  phase.flag = terms.flag(owner, tile, relay);
  phase.queue_pair = tile % terms.queue_pairs;
}

program::PhaseShape sum_shape(const builder::Builder& build, const char* name, std::int64_t summed, double result_bytes,
                              std::int64_t threads) {
  program::PhaseShape shape;
  shape.name = name;
  shape.read = static_cast<double>(summed);
  // The parts were stored through the local L2, and are loaded in the order in which they were stored. An L2 that has
  // no room for all of them has lost each part before it is loaded.
  const Bytes parts{result_bytes * shape.read};
  shape.read_miss = memory::uniform_hit_ratio(build.gpu().l2, build.gpu().memory_side_cache, parts) < 1 ? 1 : 0;
  shape.write = 1;
  shape.pipelined = false;
  shape.in_flight = Bytes{static_cast<double>(threads) * bytes_per_load * shape.read};
  const double load = static_cast<double>(build.gpu().compute.wavefront) * bytes_per_load;
  shape.instructions.all = sum_instructions * std::ceil(shape.read / parts_of_a_loop) / load;
  return shape;
}

void append_sum(builder::Builder& build, const ReduceScatterTerms& terms, std::int64_t workgroups,
                double result_bytes) {
  program::Kernel sum;
  sum.name = build.unique("sum");
  sum.resources = sum_resources;
  // With add, the parts of a node have already been added up.
  const std::int64_t own_parts = terms.mover == Mover::add ? terms.places() : terms.parts();
  sum.shapes = {sum_shape(build, "relay", terms.neighbours, result_bytes, sum_resources.threads),
                sum_shape(build, "sum", own_parts, result_bytes, sum_resources.threads)};
  sum.body = std::make_shared<SumBody>(terms, workgroups, build.gpu().hbm.unloaded_latency);
  build.queue.operations.emplace_back(std::move(sum));
}

}  // namespace moire::tensor_parallel
