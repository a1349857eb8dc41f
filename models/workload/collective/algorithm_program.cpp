#include "models/workload/collective/algorithm_program.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "models/algorithms/msccl/lower.hpp"
#include "models/workload/collective/reuse.hpp"
#include "sim/core/invariant.hpp"

namespace moire::collective {

namespace {

// Returns the number of sources of a reduce. The runtime fuses successive reduces with the same destination into one
// pass over all their sources, if only the first reduce waits for another thread block and only the last one has
// dependents.
std::uint32_t sources_of(const std::vector<msccl::Step>& steps, std::size_t first) {
  const msccl::Step& head = steps[first];
  std::uint32_t sources = 1;
  for (std::size_t i = first; sources < ir::most_sources && i + 1 < steps.size() && !steps[i].has_dependents; ++i) {
    const msccl::Step& next = steps[i + 1];
    if (next.type != Op::reduce || next.depends_block != msccl::none || next.dst_buffer != head.dst_buffer ||
        next.dst_offset != head.dst_offset || next.src_buffer != head.src_buffer || next.count != head.count)
      break;
    ++sources;
  }
  return sources;
}

class AlgorithmProgram final : public ChannelProgram {
 public:
  AlgorithmProgram(std::shared_ptr<const msccl::Algorithm> algorithm, std::uint64_t bytes, const msccl::Fifo& fifo,
                   Bytes held, const proof::Codings& codings, const RatioOf& ratio_of)
      : algorithm_(std::move(algorithm)),
        cut_(msccl::cut(*algorithm_, bytes, fifo)),
        call_bytes_(static_cast<double>(fifo.call_bytes)) {
    number_connections();
    blocks_.resize(algorithm_->gpus.size());
    const proof::Layout layout = msccl::layout_of(*algorithm_, msccl::call_patterns(*algorithm_).front());
    auto takes = codings.takes.begin();
    for (Rank rank = 0; rank < blocks_.size(); ++rank) {
      const msccl::Gpu& gpu = algorithm_->gpus[rank];
      channels_ = std::max(channels_, static_cast<std::uint32_t>(gpu.blocks.size()));
      for (const msccl::ThreadBlock& block : gpu.blocks) {
        blocks_[rank].push_back(Block{0, 0, count_flags(block), {}});
      }
      const Reuse reuse = reuse_of(*algorithm_, rank, layout);
      const double used = static_cast<double>(reuse.chunks) * std::min(cut_.chunk_bytes, call_bytes_);
      for (std::size_t b = 0; b < gpu.blocks.size(); ++b) {
        const bool codes = takes != codings.takes.end();
        const std::size_t steps = gpu.blocks[b].steps.size();
        expand(rank, gpu.blocks[b], codes ? *takes : Takes(steps), ratio_of,
               used <= held.value ? reuse.again[b] : std::vector<bool>(steps), blocks_[rank][b]);
        if (codes) ++takes;
      }
    }
  }

  std::uint32_t channels() const override { return channels_; }
  std::uint32_t channels_of(Rank rank) const override { return static_cast<std::uint32_t>(blocks_[rank].size()); }
  std::uint32_t connections() const override { return connections_; }
  bool connected(Rank rank, std::uint32_t channel) const override {
    const msccl::ThreadBlock& block = algorithm_->gpus[rank].blocks[channel];
    return block.send != msccl::none || block.recv != msccl::none;
  }
  std::uint32_t semaphores() const override { return channels_; }
  Rank sender(Rank rank, std::uint32_t connection) const override { return senders_.at({rank, connection}); }
  Rank receiver(Rank rank, std::uint32_t connection) const override { return receivers_.at({rank, connection}); }

  bool step(Rank rank, std::uint32_t channel, std::uint32_t, std::uint32_t number, Step& step) const override {
    const Block& block = blocks_[rank][channel];
    if (block.calls.empty()) return false;
    const std::uint64_t iteration = number / block.calls.size();
    if (iteration >= cut_.iterations) return false;
    const Call& call = block.calls[number % block.calls.size()];
    step.op = call.op;
    if (call.op == Op::none) {
      if (call.raises) {
        step.raise = call.semaphore;
      } else {
        step.wait = call.semaphore;
        step.more = call.more;
        step.wait_count =
            static_cast<std::int64_t>(iteration * blocks_[rank][call.semaphore].flags + std::uint64_t{call.count});
      }
      return true;
    }
    const msccl::ThreadBlock& from = algorithm_->gpus[rank].blocks[channel];
    const double begin = static_cast<double>(iteration) * call_bytes_;
    step.bytes = std::min(call_bytes_, cut_.chunk_bytes - begin) * call.count;
    if (call.ratio > 0) step.bytes = std::ceil(step.bytes / call.ratio);
    step.sources = call.sources;
    step.cached = call.cached;
    if (effect(call.op).receives) {
      step.from = static_cast<Rank>(from.recv);
      step.in = block.in;
      step.received = static_cast<std::uint32_t>(iteration * block.receives + call.received);
    }
    if (effect(call.op).sends) {
      step.to = static_cast<Rank>(from.send);
      step.out = block.out;
      step.sent = static_cast<std::uint32_t>(iteration * block.sends + call.sent);
    }
    return true;
  }

 private:
  struct Call {
    Op op = Op::none;
    bool raises = false;  // Op::none: raises a flag; else it waits for flags
    bool more = false;    // true if another wait follows; both flags are polled side by side
    bool cached = false;
    std::uint8_t sources = 1;
    std::uint32_t semaphore = ir::no_semaphore;
    std::uint32_t count = 0;  // number of chunks; with Op::none: number of flags to wait for
    std::uint32_t received = 0, sent = 0;
    double ratio = 0;  // compression ratio of the encoded chunks that the call moves; 0: the chunks are plain
  };
  // A thread block's calls in one iteration over the buffer.
  struct Block {
    std::uint32_t in = 0, out = 0;
    std::uint32_t flags = 0;
    std::vector<Call> calls;
    std::uint32_t receives = 0, sends = 0;
  };

  static std::uint32_t count_flags(const msccl::ThreadBlock& block) {
    return static_cast<std::uint32_t>(std::count_if(block.steps.begin(), block.steps.end(),
                                                    [](const msccl::Step& step) { return step.has_dependents; }));
  }

  // Returns how often a thread block must have raised its flag for `step` to be done. Only steps with dependents raise
  // the flag, so the first step with dependents at or after `step` counts.
  static std::uint32_t flags_until(const msccl::ThreadBlock& block, std::int32_t step) {
    std::uint32_t flags = 1;
    for (std::int32_t i = 0; i < step; ++i) flags += block.steps[static_cast<std::size_t>(i)].has_dependents ? 1 : 0;
    return flags;
  }

  // Gives each connection the smallest number that is free at both ends.
  void number_connections() {
    for (Rank rank = 0; rank < algorithm_->gpus.size(); ++rank) {
      for (const msccl::ThreadBlock& block : algorithm_->gpus[rank].blocks) {
        if (block.send != msccl::none) number(rank, static_cast<Rank>(block.send), block.channel);
        if (block.recv != msccl::none) number(static_cast<Rank>(block.recv), rank, block.channel);
      }
    }
  }

  std::uint32_t number(Rank from, Rank to, std::int32_t channel) {
    const auto [found, fresh] = numbers_.try_emplace({from, to, channel}, 0);
    if (!fresh) return found->second;
    std::vector<bool>& out = out_used_[from];
    std::vector<bool>& in = in_used_[to];
    std::uint32_t free = 0;
    while ((free < out.size() && out[free]) || (free < in.size() && in[free])) ++free;
    for (std::vector<bool>* used : {&out, &in}) {
      if (used->size() <= free) used->resize(free + 1, false);
      (*used)[free] = true;
    }
    found->second = free;
    senders_[{to, free}] = from;
    receivers_[{from, free}] = to;
    connections_ = std::max(connections_, free + 1);
    return free;
  }

  using Takes = std::vector<std::vector<std::uint32_t>>;
  void expand(Rank rank, const msccl::ThreadBlock& from, const Takes& takes, const RatioOf& ratio_of,
              const std::vector<bool>& again, Block& block) {
    if (from.send != msccl::none) block.out = number(rank, static_cast<Rank>(from.send), from.channel);
    if (from.recv != msccl::none) block.in = number(static_cast<Rank>(from.recv), rank, from.channel);
    const auto own = static_cast<std::uint32_t>(&block - blocks_[rank].data());
    for (std::size_t s = 0; s < from.steps.size(); ++s) {
      const msccl::Step& step = from.steps[s];
      if (step.depends_block != msccl::none) {
        const auto other = static_cast<std::uint32_t>(step.depends_block);
        const std::uint32_t flags = flags_until(algorithm_->gpus[rank].blocks[other], step.depends_step);
        block.calls.push_back({.more = step.type == Op::none, .semaphore = other, .count = flags});
      }
      const Op op = step.type;
      std::uint32_t sources = 1;
      bool cached = again[s];
      if (step.type == Op::reduce) {
        sources = sources_of(from.steps, s);
        for (std::uint32_t i = 1; i < sources; ++i) cached = again[++s] && cached;
      }
      const ir::Effect does = effect(op);
      for (std::uint32_t left = op == Op::none ? 0 : step.count; left > 0;) {
        const std::uint32_t chunks = std::min(left, cut_.chunks_per_call);
        const bool encoded = !takes[s].empty() && !is_coding(op);
        block.calls.push_back({.op = op,
                               .cached = cached,
                               .sources = static_cast<std::uint8_t>(sources),
                               .count = chunks,
                               .received = block.receives,
                               .sent = block.sends,
                               .ratio = encoded ? mean_ratio(&takes[s][step.count - left], chunks, ratio_of) : 0});
        block.receives += does.receives ? 1 : 0;
        block.sends += does.sends ? 1 : 0;
        left -= chunks;
      }
      if (from.steps[s].has_dependents) block.calls.push_back({.raises = true, .semaphore = own});
    }
  }

  std::shared_ptr<const msccl::Algorithm> algorithm_;
  msccl::Cut cut_;
  double call_bytes_ = 0;
  std::uint32_t channels_ = 0;
  std::uint32_t connections_ = 0;
  std::vector<std::vector<Block>> blocks_;
  std::map<std::tuple<Rank, Rank, std::int32_t>, std::uint32_t> numbers_;
  std::map<Rank, std::vector<bool>> out_used_, in_used_;
  std::map<std::pair<Rank, std::uint32_t>, Rank> senders_, receivers_;
};

}  // namespace

msccl::Fifo fifo_of(const libraries::ProtocolSpec& protocol) {
  return {static_cast<std::uint64_t>(protocol.chunk.value),
          static_cast<std::uint32_t>(protocol.slots / protocol.slices)};
}

std::shared_ptr<const ChannelProgram> algorithm_program(std::shared_ptr<const msccl::Algorithm> algorithm,
                                                        std::uint64_t bytes, const msccl::Fifo& fifo, Bytes held,
                                                        const proof::Codings& codings, const RatioOf& ratio_of) {
  return std::make_shared<AlgorithmProgram>(std::move(algorithm), bytes, fifo, held, codings, ratio_of);
}

double mean_ratio(const std::uint32_t* numbers, std::size_t count, const RatioOf& ratio_of) {
  const double first = ratio_of(numbers[0]);
  double encoded = 0;
  bool equal = true;  // equal ratios are their own mean, which is then returned without rounding
  for (std::size_t i = 0; i < count; ++i) {
    const double ratio = ratio_of(numbers[i]);
    encoded += 1 / ratio;
    equal = equal && ratio == first;
  }
  return equal ? first : static_cast<double>(count) / encoded;
}

}  // namespace moire::collective
