// Small MSCCL algorithms for tests, and a class that builds such algorithms.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/algorithms/msccl/algorithm.hpp"

namespace moire::msccl {

// A chunk of a buffer: i(3) is chunk 3 of the input, o(3) of the output, s(0) is chunk 0 of the scratch buffer.
struct Spot3 {
  Buffer buffer;
  std::int32_t offset;
};
inline Spot3 i(std::int32_t offset) { return {Buffer::input, offset}; }
inline Spot3 o(std::int32_t offset) { return {Buffer::output, offset}; }
inline Spot3 s(std::int32_t offset) { return {Buffer::scratch, offset}; }

// Position of a step, on which later steps can depend.
struct Made {
  std::int32_t gpu = 0;
  std::int32_t block = 0;
  std::int32_t step = 0;
};

class Maker {
 public:
  Maker(Collective collective, Protocol protocol, std::int32_t ranks, std::int32_t chunks, bool in_place) {
    made.name = "example";
    made.collective = collective;
    made.protocol = protocol;
    made.chunks = chunks;
    made.in_place = in_place;
    made.out_of_place = !in_place;
    made.gpus.resize(static_cast<std::size_t>(ranks));
  }

  void buffers(std::int32_t input, std::int32_t output, std::int32_t scratch) {
    for (Gpu& gpu : made.gpus) {
      gpu.input_chunks = input;
      gpu.output_chunks = output;
      gpu.scratch_chunks = scratch;
    }
  }
  // Returns the index of the thread block with these connections. Adds the block if there is none.
  std::int32_t block(std::int32_t gpu, std::int32_t send, std::int32_t recv, std::int32_t channel = 0) {
    std::vector<ThreadBlock>& blocks = made.gpus[gpu].blocks;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b].send == send && blocks[b].recv == recv && blocks[b].channel == channel)
        return static_cast<std::int32_t>(b);
    }
    ThreadBlock block;
    block.send = send;
    block.recv = recv;
    block.channel = channel;
    blocks.push_back(block);
    made.channels = std::max(made.channels, channel + 1);
    return static_cast<std::int32_t>(blocks.size()) - 1;
  }
  Made step(std::int32_t gpu, std::int32_t block, Op type, Spot3 src, Spot3 dst, int count = 1,
            const std::vector<Made>& after = {}) {
    for (std::size_t d = 0; d + 1 < after.size(); ++d) wait(add(gpu, block, Op::none, i(0), i(0), 0), after[d]);
    const Made made_step = add(gpu, block, type, src, dst, count);
    if (!after.empty()) wait(made_step, after.back());
    return made_step;
  }
  Step& at(const Made& m) { return made.gpus[m.gpu].blocks[m.block].steps[m.step]; }
  void wait(const Made& waiting, const Made& on) {
    at(waiting).depends_block = on.block;
    at(waiting).depends_step = on.step;
    at(on).has_dependents = true;
  }

  Algorithm made;

 private:
  Made add(std::int32_t gpu, std::int32_t block, Op type, Spot3 src, Spot3 dst, int count) {
    Step step;
    step.type = type;
    step.src_buffer = src.buffer;
    step.src_offset = src.offset;
    step.dst_buffer = dst.buffer;
    step.dst_offset = dst.offset;
    step.count = static_cast<std::uint16_t>(count);
    std::vector<Step>& steps = made.gpus[gpu].blocks[block].steps;
    steps.push_back(step);
    return {gpu, block, static_cast<std::int32_t>(steps.size()) - 1};
  }
};

// Returns an all-reduce on a ring of `n` GPUs, with one thread block per GPU. The data are divided into `n` parts of
// `per_step` chunks. Part p starts at GPU p and passes the ring twice.
inline Algorithm ring_all_reduce(std::int32_t n, Protocol protocol = Protocol::ll, int per_step = 1) {
  Maker maker(Collective::all_reduce, protocol, n, n * per_step, true);
  maker.buffers(n * per_step, 0, 0);
  for (std::int32_t gpu = 0; gpu < n; ++gpu) {
    const std::int32_t block = maker.block(gpu, (gpu + 1) % n, (gpu + n - 1) % n);
    for (std::int32_t k = 0; k < 2 * n - 1; ++k) {
      const Op type = k == 0          ? Op::send
                      : k < n - 1     ? Op::recv_reduce_send
                      : k == n - 1    ? Op::recv_reduce_copy_send
                      : k < 2 * n - 2 ? Op::recv_copy_send
                                      : Op::recv;
      const std::int32_t chunk = ((gpu - k) % n + n) % n * per_step;
      maker.step(gpu, block, type, i(chunk), i(chunk), per_step);
    }
  }
  return maker.made;
}

// Returns an all-reduce in which every GPU receives its part of the data from all other GPUs, adds these, and sends the
// sum to all. A part has `per_part` chunks, which are sent in one step but added one by one.
inline Algorithm all_pairs_all_reduce(std::int32_t n, std::int32_t per_part, Protocol protocol = Protocol::simple) {
  Maker maker(Collective::all_reduce, protocol, n, n * per_part, true);
  maker.buffers(n * per_part, 0, (n - 1) * per_part);
  const auto slot = [&](std::int32_t gpu, std::int32_t peer) { return (peer < gpu ? peer : peer - 1) * per_part; };
  for (std::int32_t gpu = 0; gpu < n; ++gpu) {
    std::vector<Made> came;
    for (std::int32_t peer = 0; peer < n; ++peer) {
      if (peer == gpu) continue;
      const std::int32_t block = maker.block(gpu, peer, peer);
      maker.step(gpu, block, Op::send, i(peer * per_part), s(0), per_part);
      came.push_back(maker.step(gpu, block, Op::recv, i(0), s(slot(gpu, peer)), per_part));
    }
    const std::int32_t adder = maker.block(gpu, none, none);
    std::vector<Made> last;
    for (std::int32_t c = 0; c < per_part; ++c) {
      for (std::int32_t peer = 0, p = 0; peer < n; ++peer) {
        if (peer == gpu) continue;
        const Made sum = maker.step(gpu, adder, Op::reduce, s(slot(gpu, peer) + c), i(gpu * per_part + c), 1,
                                    c == 0 ? std::vector<Made>{came[p]} : std::vector<Made>{});
        ++p;
        last = {sum};
      }
    }
    for (std::int32_t peer = 0; peer < n; ++peer) {
      if (peer == gpu) continue;
      const std::int32_t block = maker.block(gpu, peer, peer);
      maker.step(gpu, block, Op::send, i(gpu * per_part), i(0), per_part, last);
      maker.step(gpu, block, Op::recv, i(0), i(peer * per_part), per_part);
    }
  }
  return maker.made;
}

// Returns an all-gather by recursive doubling: in every round a GPU exchanges all chunks that it has with one peer.
inline Algorithm recursive_doubling_all_gather(std::int32_t n, Protocol protocol = Protocol::ll) {
  Maker maker(Collective::all_gather, protocol, n, n, true);
  maker.buffers(0, n, 0);
  std::vector<std::vector<Made>> came(static_cast<std::size_t>(n));
  for (std::int32_t distance = 1; distance < n; distance *= 2) {
    std::vector<Made> now(static_cast<std::size_t>(n));
    for (std::int32_t gpu = 0; gpu < n; ++gpu) {
      const std::int32_t peer = gpu ^ distance;
      const std::int32_t block = maker.block(gpu, peer, peer);
      maker.step(gpu, block, Op::send, o(gpu / distance * distance), o(0), distance, came[gpu]);
      now[gpu] = maker.step(gpu, block, Op::recv, o(0), o(peer / distance * distance), distance);
    }
    for (std::int32_t gpu = 0; gpu < n; ++gpu) came[gpu].push_back(now[gpu]);
  }
  return maker.made;
}

// Returns an All-to-All in two steps. Chunks for a receiver in another node first go to the GPU of the sender's node
// that has the same index in its node as the receiver. This GPU then sends the chunks of its node together.
inline Algorithm two_step_all_to_all(std::int32_t nodes, std::int32_t gpus, Protocol protocol = Protocol::simple) {
  const std::int32_t n = nodes * gpus;
  Maker maker(Collective::all_to_all, protocol, n, n, false);
  maker.buffers(n, n, n);
  std::vector<std::vector<Made>> gathered(static_cast<std::size_t>(n * nodes));
  for (std::int32_t node = 0; node < nodes; ++node) {
    for (std::int32_t to = 0; to < nodes; ++to) {
      for (std::int32_t from = 0; from < gpus; ++from) {
        for (std::int32_t place = 0; place < gpus; ++place) {
          const std::int32_t source = node * gpus + from;
          const std::int32_t middle = node * gpus + place;
          const std::int32_t target = to * gpus + place;
          const Spot3 dst = to == node ? o(source) : s(to * gpus + from);
          Made last;
          if (source == middle) {
            last = maker.step(source, maker.block(source, none, none), Op::copy, i(target), dst);
          } else {
            maker.step(source, maker.block(source, middle, middle), Op::send, i(target), dst);
            last = maker.step(middle, maker.block(middle, source, source), Op::recv, i(0), dst);
          }
          if (to != node) gathered[middle * nodes + to].push_back(last);
        }
      }
    }
  }
  for (std::int32_t middle = 0; middle < n; ++middle) {
    const std::int32_t node = middle / gpus;
    for (std::int32_t to = 0; to < nodes; ++to) {
      if (to == node) continue;
      const std::int32_t target = to * gpus + middle % gpus;
      maker.step(middle, maker.block(middle, target, target, 1), Op::send, s(to * gpus), o(node * gpus), gpus,
                 gathered[middle * nodes + to]);
    }
    for (std::int32_t from = 0; from < nodes; ++from) {
      if (from == node) continue;
      const std::int32_t source = from * gpus + middle % gpus;
      maker.step(middle, maker.block(middle, source, source, 1), Op::recv, i(0), o(from * gpus), gpus);
    }
  }
  return maker.made;
}

// Returns a broadcast along a chain of `n` GPUs. It is out of place, so GPU 0 also copies the data to its own output.
inline Algorithm chain_broadcast(std::int32_t n, std::int32_t chunks, Protocol protocol = Protocol::simple) {
  Maker maker(Collective::broadcast, protocol, n, chunks, false);
  maker.buffers(0, chunks, 0);
  maker.made.gpus[0].input_chunks = chunks;
  for (std::int32_t gpu = 0; gpu < n; ++gpu) {
    const std::int32_t block = maker.block(gpu, gpu + 1 < n ? gpu + 1 : none, gpu > 0 ? gpu - 1 : none);
    for (std::int32_t c = 0; c < chunks; ++c) {
      if (gpu == 0) {
        maker.step(gpu, block, Op::send, i(c), o(c));
        maker.step(gpu, maker.block(0, none, none), Op::copy, i(c), o(c));
      } else {
        maker.step(gpu, block, gpu + 1 < n ? Op::recv_copy_send : Op::recv, i(c), o(c));
      }
    }
  }
  return maker.made;
}

// Returns a reduce-scatter on a ring of `n` GPUs. It is out of place: every GPU writes the sum of its part to its
// output.
inline Algorithm ring_reduce_scatter(std::int32_t n, Protocol protocol = Protocol::ll128) {
  Maker maker(Collective::reduce_scatter, protocol, n, n, false);
  maker.buffers(n, 1, 0);
  for (std::int32_t gpu = 0; gpu < n; ++gpu) {
    const std::int32_t block = maker.block(gpu, (gpu + 1) % n, (gpu + n - 1) % n);
    for (std::int32_t k = 0; k < n; ++k) {
      const std::int32_t chunk = (gpu - 1 - k + 2 * n) % n;
      const Op type = k == 0 ? Op::send : k < n - 1 ? Op::recv_reduce_send : Op::recv_reduce_copy;
      maker.step(gpu, block, type, i(chunk), k < n - 1 ? i(chunk) : o(0));
    }
  }
  return maker.made;
}

}  // namespace moire::msccl
