// For tests: executes an algorithm step by step with FIFOs that never fill, on numbers that stand for contributions,
// and watches every access with vector clocks. Slow and simple on purpose: it shares nothing with the compiler.
#pragma once

#include <fmt/format.h>

#include <array>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "models/algorithms/msccl/algorithm.hpp"

namespace moire::mscclang::testing {

class Interpreter {
 public:
  explicit Interpreter(const msccl::Algorithm& algorithm) : algorithm_(algorithm) {
    for (std::size_t r = 0; r < algorithm.gpus.size(); ++r) {
      const msccl::Gpu& gpu = algorithm.gpus[r];
      auto& buffers = memory_.emplace_back();
      buffers[0].resize(static_cast<std::size_t>(gpu.input_chunks));
      buffers[1].resize(static_cast<std::size_t>(gpu.output_chunks));
      buffers[2].resize(static_cast<std::size_t>(gpu.scratch_chunks));
      for (std::size_t b = 0; b < gpu.blocks.size(); ++b) {
        first_thread_.emplace(std::pair{r, b}, threads_.size());
        threads_.push_back({r, b, 0, {}});
      }
    }
    for (Thread& thread : threads_) thread.clock.assign(threads_.size(), 0);
  }

  void set(std::size_t rank, std::size_t buffer, std::size_t index, std::uint64_t value) {
    Slot& slot = memory_[rank][buffer][index];
    slot.value = value;
    slot.is_set = true;
  }
  bool is_set(std::size_t rank, std::size_t buffer, std::size_t index) const {
    return memory_[rank][buffer][index].is_set;
  }
  std::uint64_t value(std::size_t rank, std::size_t buffer, std::size_t index) const {
    return memory_[rank][buffer][index].value;
  }

  // What the rules of the format refuse, a hang, a race or a read of nothing; "" where all is well.
  std::string run() {
    check_form();
    for (bool moved = true; moved && error_.empty();) {
      moved = false;
      for (Thread& thread : threads_) {
        while (error_.empty() && step(thread)) moved = true;
      }
    }
    for (const Thread& thread : threads_) {
      if (error_.empty() && thread.at < block(thread).steps.size()) {
        error_ = fmt::format("rank {} block {} hangs at step {}", thread.rank, thread.block, thread.at);
      }
    }
    return error_;
  }

 private:
  using Clock = std::vector<std::uint32_t>;
  struct Thread {
    std::size_t rank, block, at;
    Clock clock;
    std::vector<Clock> done = {};  // after each step
  };
  struct Access {
    std::size_t thread = 0;
    std::uint32_t time = 0;  // 0: none
  };
  struct Slot {
    std::uint64_t value = 0;
    bool is_set = false;
    Access write = {};
    std::vector<Access> reads = {};
  };
  struct Message {
    std::vector<std::uint64_t> values;
    Clock clock;
  };

  const msccl::ThreadBlock& block(const Thread& thread) const {
    return algorithm_.gpus[thread.rank].blocks[thread.block];
  }

  void fail(const std::string& what) {
    if (error_.empty()) error_ = what;
  }

  void check_form() {
    std::map<std::tuple<int, int, int>, std::vector<int>> sent, received;
    for (std::size_t r = 0; r < algorithm_.gpus.size(); ++r) {
      std::set<std::tuple<int, int, bool>> ends;
      const auto& blocks = algorithm_.gpus[r].blocks;
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        const auto& its = blocks[b];
        const auto rank = static_cast<int>(r);
        if (its.channel < 0 || its.channel >= algorithm_.channels) fail("channel outside nchannels");
        if (its.send >= 0 && !ends.insert({its.send, its.channel, true}).second) fail("two blocks send to one peer");
        if (its.recv >= 0 && !ends.insert({its.recv, its.channel, false}).second) fail("two blocks receive from one");
        if (its.send == rank || its.recv == rank) fail("a block's peer is itself");
        if (its.steps.size() > 256) fail("more than 256 steps");
        for (std::size_t s = 0; s < its.steps.size(); ++s) check_step(rank, b, s, sent, received);
      }
    }
    if (sent != received) fail("counts sent and received differ");
  }

  template <class Lists>
  void check_step(int rank, std::size_t b, std::size_t s, Lists& sent, Lists& received) {
    const auto& gpu = algorithm_.gpus[static_cast<std::size_t>(rank)];
    const auto& its = gpu.blocks[b];
    const msccl::Step& step = its.steps[s];
    const ir::Effect effect = ir::effect(step.type);
    const std::string where = fmt::format("rank {} block {} step {}: ", rank, b, s);
    if (effect.sends) {
      if (its.send < 0) fail(where + "sends to nobody");
      sent[{rank, its.send, its.channel}].push_back(step.count);
    }
    if (effect.receives) {
      if (its.recv < 0) fail(where + "receives from nobody");
      received[{its.recv, rank, its.channel}].push_back(step.count);
    }
    const bool nop = step.type == ir::Op::none;
    if (!nop && (step.count < 1 || step.count > msccl::most_chunks)) fail(where + "bad count");
    const auto inside = [&](ir::Buffer buffer, std::int32_t offset) {
      const auto& chunks = memory_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(buffer)];
      if (offset < 0 || static_cast<std::size_t>(offset + step.count) > chunks.size())
        fail(where + "outside the buffer");
    };
    if (effect.reads_src) inside(step.src_buffer, step.src_offset);
    if (effect.reads_dst || effect.writes_dst) inside(step.dst_buffer, step.dst_offset);
    if (nop && step.depends_block < 0) fail(where + "nop without a dependency");
    if (nop && (s + 1 == its.steps.size() || its.steps[s + 1].depends_block < 0)) {
      fail(where + "nop before a step without a dependency");
    }
    if (step.depends_block < 0) return;
    const auto on = static_cast<std::size_t>(step.depends_block);
    if (on >= gpu.blocks.size() || static_cast<std::size_t>(step.depends_step) >= gpu.blocks[on].steps.size() ||
        !gpu.blocks[on].steps[static_cast<std::size_t>(step.depends_step)].has_dependents || on == b) {
      fail(where + "depends on what nobody publishes");
    }
  }

  static void merge(Clock& into, const Clock& from) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
  }

  bool step(Thread& thread) {
    const auto& its = block(thread);
    if (thread.at >= its.steps.size()) return false;
    const msccl::Step& step = its.steps[thread.at];
    const ir::Effect effect = ir::effect(step.type);
    if (step.depends_block >= 0) {
      const Thread& other = threads_[first_thread_.at({thread.rank, static_cast<std::size_t>(step.depends_block)})];
      if (other.at <= static_cast<std::size_t>(step.depends_step)) return false;
      merge(thread.clock, other.done[static_cast<std::size_t>(step.depends_step)]);
    }
    const auto connection = [&](std::int32_t from, std::int32_t to) -> std::deque<Message>& {
      return fifos_[{from, to, its.channel}];
    };
    const auto rank = static_cast<std::int32_t>(thread.rank);
    std::vector<std::uint64_t> values(step.count);
    if (effect.receives) {
      auto& fifo = connection(its.recv, rank);
      if (fifo.empty()) return false;
      values = fifo.front().values;
      merge(thread.clock, fifo.front().clock);
      fifo.pop_front();
    }
    const auto index = static_cast<std::size_t>(&thread - threads_.data());
    ++thread.clock[index];
    for (std::uint32_t i = 0; i < step.count; ++i) {
      if (effect.reads_src) values[i] += read(thread, index, step.src_buffer, step.src_offset + static_cast<int>(i));
      if (effect.reads_dst) values[i] += read(thread, index, step.dst_buffer, step.dst_offset + static_cast<int>(i));
    }
    for (std::uint32_t i = 0; effect.writes_dst && i < step.count; ++i) {
      write(thread, index, step.dst_buffer, step.dst_offset + static_cast<int>(i), values[i]);
    }
    if (effect.sends) connection(rank, its.send).push_back({values, thread.clock});
    thread.done.push_back(thread.clock);
    ++thread.at;
    return true;
  }

  Slot& slot(const Thread& thread, ir::Buffer buffer, std::int32_t offset) {
    return memory_[thread.rank][static_cast<std::size_t>(buffer)][static_cast<std::size_t>(offset)];
  }
  bool before(const Access& access, const Thread& thread) const {
    return access.time == 0 || thread.clock[access.thread] >= access.time;
  }
  std::string place(const Thread& thread, ir::Buffer buffer, std::int32_t offset) const {
    return fmt::format("rank {} block {} step {}: {}[{}]", thread.rank, thread.block, thread.at,
                       msccl::to_string(buffer), offset);
  }
  std::uint64_t read(Thread& thread, std::size_t index, ir::Buffer buffer, std::int32_t offset) {
    Slot& its = slot(thread, buffer, offset);
    if (!its.is_set) fail("read of nothing by " + place(thread, buffer, offset));
    if (!before(its.write, thread)) fail("race of a read by " + place(thread, buffer, offset));
    its.reads.push_back({index, thread.clock[index]});
    return its.value;
  }
  void write(Thread& thread, std::size_t index, ir::Buffer buffer, std::int32_t offset, std::uint64_t value) {
    Slot& its = slot(thread, buffer, offset);
    if (!before(its.write, thread)) fail("race of a write by " + place(thread, buffer, offset));
    for (const Access& read : its.reads) {
      if (!before(read, thread)) fail("race with a read by " + place(thread, buffer, offset));
    }
    its.reads.clear();
    its.write = {index, thread.clock[index]};
    its.value = value;
    its.is_set = true;
  }

  const msccl::Algorithm& algorithm_;
  std::vector<std::array<std::vector<Slot>, 3>> memory_;
  std::vector<Thread> threads_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> first_thread_;
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::deque<Message>> fifos_;
  std::string error_;
};

}  // namespace moire::mscclang::testing
