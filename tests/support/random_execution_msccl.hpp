// For tests: runs an algorithm on numbers, chunk by chunk, in a random order that its waits allow. Shares no code with
// the checker.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "models/algorithms/msccl/algorithm.hpp"

namespace moire::msccl {

class RandomExecution {
 public:
  enum class End { right, wrong, deadlock };

  RandomExecution(const Algorithm& algorithm, bool in_place, std::uint32_t chunks_per_call, std::uint32_t slots,
                  std::uint64_t seed)
      : a_(algorithm), in_place_(in_place), chunks_(chunks_per_call), slots_(slots), random_(seed) {}

  End run() {
    fill();
    std::vector<Place> places;
    for (int g = 0; g < a_.ranks(); ++g) {
      for (int b = 0; b < static_cast<int>(a_.gpus[g].blocks.size()); ++b) places.push_back({g, b});
    }
    published_.clear();
    for (const Place& p : places) published_[{p.gpu, p.block}] = -1;
    // Now and then a block is slow for long: this brings out what small delays do not.
    std::set<std::size_t> slow;
    for (std::uint64_t tick = 0;; ++tick) {
      if (tick % 64 == 0) {
        slow.clear();
        for (std::size_t p = 0; p < places.size(); ++p) {
          if (random_() % 3 == 0) slow.insert(p);
        }
      }
      std::vector<std::size_t> able;
      std::vector<std::size_t> fast;
      bool all_done = true;
      for (std::size_t p = 0; p < places.size(); ++p) {
        if (done(places[p])) continue;
        all_done = false;
        if (!can_go(places[p])) continue;
        able.push_back(p);
        if (slow.count(p) == 0) fast.push_back(p);
      }
      if (all_done) return right() ? End::right : End::wrong;
      if (able.empty()) return End::deadlock;
      const std::vector<std::size_t>& from = fast.empty() ? able : fast;
      go(places[from[random_() % from.size()]]);
    }
  }

 private:
  struct Place {
    int gpu = 0;
    int block = 0;
    std::size_t step = 0;
    std::uint32_t chunk = 0;  // of the step
    std::vector<std::uint64_t> incoming = {};
    std::vector<std::uint64_t> outgoing = {};
    bool in_call = false;
  };
  using Link = std::tuple<int, int, int>;

  const ThreadBlock& block(const Place& p) const { return a_.gpus[p.gpu].blocks[p.block]; }
  const Step& step(const Place& p) const { return block(p).steps[p.step]; }
  bool done(const Place& p) const { return p.step >= block(p).steps.size(); }
  Link in(const Place& p) const { return {block(p).recv, p.gpu, block(p).channel}; }
  Link out(const Place& p) const { return {p.gpu, block(p).send, block(p).channel}; }

  static bool receives(Op t) { return t != Op::send && t != Op::copy && t != Op::reduce && t != Op::none; }
  static bool sends(Op t) {
    return t == Op::send || t == Op::recv_copy_send || t == Op::recv_reduce_send || t == Op::recv_reduce_copy_send;
  }
  static bool stores(Op t) { return t != Op::send && t != Op::recv_reduce_send; }
  static bool takes_local(Op t) {
    return t == Op::send || t == Op::copy || t == Op::reduce || t == Op::recv_reduce_copy ||
           t == Op::recv_reduce_send || t == Op::recv_reduce_copy_send;
  }

  bool can_go(const Place& p) {
    if (p.in_call) return true;
    const Step& st = step(p);
    if (p.chunk == 0 && st.depends_block >= 0 && published_[{p.gpu, st.depends_block}] < st.depends_step) return false;
    if (receives(st.type) && links_[in(p)].empty()) return false;
    return !sends(st.type) || links_[out(p)].size() < slots_;
  }

  // One chunk. A call takes its message when it begins and gives what it sends, and the credit, when it ends.
  void go(Place& p) {
    const Step& st = step(p);
    if (st.type == Op::none) {
      ++p.step;
      return;
    }
    if (!p.in_call && receives(st.type)) p.incoming = links_[in(p)].front();
    p.in_call = true;
    std::uint64_t value = receives(st.type) ? p.incoming[p.chunk % chunks_] : 0;
    if (st.type == Op::reduce) value = memory(p.gpu, st.dst_buffer, st.dst_offset + p.chunk);
    if (takes_local(st.type)) value += memory(p.gpu, st.src_buffer, st.src_offset + p.chunk);
    if (stores(st.type)) memory(p.gpu, st.dst_buffer, st.dst_offset + p.chunk) = value;
    if (sends(st.type)) p.outgoing.push_back(value);
    ++p.chunk;
    if (p.chunk % chunks_ != 0 && p.chunk < st.count) return;
    p.in_call = false;
    if (receives(st.type)) links_[in(p)].pop_front();
    if (sends(st.type)) links_[out(p)].push_back(std::exchange(p.outgoing, {}));
    if (p.chunk < st.count) return;
    if (st.has_dependents) published_[{p.gpu, p.block}] = static_cast<std::int32_t>(p.step);
    ++p.step;
    p.chunk = 0;
  }

  std::uint64_t& memory(int gpu, Buffer buffer, std::int64_t chunk) {
    if (in_place_ && buffer != Buffer::scratch) {
      const std::int64_t part = a_.chunks / a_.ranks();
      if (a_.collective == Collective::all_gather && buffer == Buffer::input) chunk += gpu * part;
      if (a_.collective == Collective::reduce_scatter && buffer == Buffer::output) chunk += gpu * part;
      buffer = Buffer::input;
    }
    const auto [at, fresh] = memory_.try_emplace({gpu, static_cast<int>(buffer), chunk}, 0);
    if (fresh) at->second = random_();  // what nobody wrote is anything
    return at->second;
  }

  void fill() {
    const std::int64_t part = a_.chunks / a_.ranks();
    const bool small = a_.collective == Collective::all_gather;
    for (int g = 0; g < a_.ranks(); ++g) {
      inputs_.emplace_back();
      if (a_.collective == Collective::broadcast && g != 0) continue;
      for (std::int64_t c = 0; c < (small ? part : a_.chunks); ++c) {
        inputs_.back().push_back(random_());
        memory(g, Buffer::input, c) = inputs_.back().back();
      }
    }
  }

  bool right() {
    const std::int64_t part = a_.chunks / a_.ranks();
    const bool small = a_.collective == Collective::reduce_scatter;
    for (int g = 0; g < a_.ranks(); ++g) {
      if (a_.collective == Collective::reduce && g != 0) continue;
      for (std::int64_t c = 0; c < (small ? part : a_.chunks); ++c) {
        if (memory(g, Buffer::output, c) != expected(g, c)) return false;
      }
    }
    return true;
  }
  std::uint64_t expected(int gpu, std::int64_t c) const {
    const std::int64_t part = a_.chunks / a_.ranks();
    std::uint64_t sum = 0;
    switch (a_.collective) {
      case Collective::all_gather:
        return inputs_[c / part][c % part];
      case Collective::all_to_all:
        return inputs_[c / part][gpu * part + c % part];
      case Collective::broadcast:
        return inputs_[0][c];
      case Collective::reduce_scatter:
        c += gpu * part;
        break;
      default:
        break;
    }
    for (const auto& input : inputs_) sum += input[c];
    return sum;
  }

  const Algorithm& a_;
  const bool in_place_;
  const std::uint32_t chunks_;
  const std::uint32_t slots_;
  std::mt19937_64 random_;
  std::map<std::tuple<int, int, std::int64_t>, std::uint64_t> memory_;
  std::vector<std::vector<std::uint64_t>> inputs_;
  std::map<Link, std::deque<std::vector<std::uint64_t>>> links_;
  std::map<std::pair<int, int>, std::int32_t> published_;
};

}  // namespace moire::msccl
