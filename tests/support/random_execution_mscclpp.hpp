// Runs an MSCCL++ plan thread by thread in a random order. Stores may arrive late, ranks may enter and leave the call
// at any time, and users overwrite their buffers after the call. A plan that the checker accepts must give the right
// result in every order.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "models/algorithms/mscclpp/memory.hpp"
#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

enum class Ending { right, wrong, stuck };

class RandomExecution {
 public:
  RandomExecution(const Plan& plan, Cut cut, std::uint64_t seed) : plan_(plan), layout_(plan, cut), random_(seed) {
    memory_.resize(layout_.cells() * elements);
    packet_.resize(memory_.size());
    for (std::uint64_t& value : memory_) value = random_();
    initial_ = memory_;
    for (std::size_t g = 0; g < plan.gpus.size(); ++g) {
      for (std::size_t b = 0; b < plan.gpus[g].blocks.size(); ++b) {
        for (std::size_t t = 0; t < threads_of_block; ++t) {
          Thread& added = threads_.emplace_back();
          added.gpu = g;
          added.block = b;
          added.number = t;
        }
      }
      for (std::uint32_t s = 0; s < plan.gpus[g].semaphores.size(); ++s) {
        device_[{g, s}].assign(plan.gpus[g].semaphores[s], {});
      }
      for (std::uint32_t p = 0; p < plan.gpus[g].ports.size(); ++p) ports_[{g, p}];
    }
    begun_.resize(plan.gpus.size());
    ended_.resize(plan.gpus.size());
    output_.resize(plan.gpus.size());
    const std::size_t actors = 2 * threads_.size() + ports_.size() + 2 * plan.gpus.size();
    priority_.resize(actors);
    for (std::size_t i = 0; i < actors; ++i) priority_[i] = i;
    std::shuffle(priority_.begin(), priority_.end(), random_);
  }

  Ending run() {
    while (true) {
      if (random_() % 16 == 0)
        std::swap(priority_[random_() % priority_.size()], priority_[random_() % priority_.size()]);
      bool moved = false;
      for (const std::size_t actor : priority_) {
        moved = act(actor);
        if (moved) break;
      }
      if (moved) continue;
      if (std::find(ended_.begin(), ended_.end(), false) != ended_.end()) return Ending::stuck;
      return result() ? Ending::right : Ending::wrong;
    }
  }

 private:
  static constexpr std::size_t elements = 2;  // elements per slice
  static constexpr std::size_t threads_of_block = 2;

  struct Thread {
    std::size_t gpu = 0;
    std::size_t block = 0;
    std::size_t number = 0;
    std::size_t next = 0;
    std::uint32_t round = 0;
    std::size_t inner = 0;
    std::size_t progress = 0;  // number of finished parts of the current operation
    bool arrived = false;
    std::set<std::size_t> known;  // stores whose values the thread sees although they may not have arrived: its
                                  // own, and those of threads with which it has synchronised
  };
  struct Store {
    std::size_t address;
    std::uint64_t value;
    bool packet;
    std::size_t thread;
    bool arrived = false;
  };
  struct Request {  // a request to the proxy of a port channel
    std::vector<std::size_t> from;
    std::vector<std::size_t> to;
    bool packets = false;
    bool signal = false;
    std::size_t progress = 0;
  };

  const std::vector<Operation>& operations(const Thread& t) const {
    return plan_.gpus[t.gpu].blocks[t.block].operations;
  }
  bool done(const Thread& t) const { return t.next == operations(t).size(); }
  std::uint32_t rounds(const Operation& op) const { return op.pipeline_chunks * layout_.cut().slices; }

  bool act(std::size_t actor) {
    if (actor < threads_.size()) return step(actor);
    actor -= threads_.size();
    if (actor < threads_.size()) return deliver_one(actor);
    actor -= threads_.size();
    if (actor < ports_.size()) {
      auto at = ports_.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(actor));
      return serve(at->first.first, at->first.second, at->second);
    }
    actor -= ports_.size();
    return actor < begun_.size() ? begin(actor) : end(actor - begun_.size());
  }

  bool begin(std::size_t g) {
    if (begun_[g]) return false;
    begun_[g] = true;
    // The user fills its buffers before the call.
    const auto [first, last] = layout_.user_cells(g);
    for (std::size_t a = first * elements; a < last * elements; ++a) memory_[a] = initial_[a];
    return true;
  }

  bool end(std::size_t g) {
    if (!begun_[g] || ended_[g]) return false;
    for (const Thread& t : threads_) {
      if (t.gpu == g && !done(t)) return false;
    }
    for (std::size_t s = 0; s < stores_.size(); ++s) {
      if (threads_[stores_[s].thread].gpu == g) deliver(s);  // a kernel ends after its stores have arrived
    }
    ended_[g] = true;
    const auto [first, last] = layout_.user_cells(g);
    output_[g].assign(memory_.begin() + static_cast<std::ptrdiff_t>(first * elements),
                      memory_.begin() + static_cast<std::ptrdiff_t>(last * elements));
    for (std::size_t a = first * elements; a < last * elements; ++a) memory_[a] = random_();
    return true;
  }

  // Lets a store arrive, and before it all stores to the same address that were issued earlier.
  void deliver(std::size_t s) {
    if (stores_[s].arrived) return;
    auto& waiting = under_way_[stores_[s].address];
    while (!waiting.empty() && waiting.front() <= s) {
      Store& store = stores_[waiting.front()];
      memory_[store.address] = store.value;
      if (store.packet) packet_[store.address] = true;
      store.arrived = true;
      waiting.pop_front();
    }
  }

  bool deliver_one(std::size_t thread) {
    auto& issued = issued_[thread];
    while (!issued.empty()) {
      const std::size_t at = random_() % issued.size();
      const std::size_t s = issued[at];
      issued[at] = issued.back();
      issued.pop_back();
      if (stores_[s].arrived) continue;
      deliver(s);
      return true;
    }
    return false;
  }

  void drain(Thread& t) {
    for (const std::size_t s : t.known) deliver(s);
    t.known.clear();
  }

  std::uint64_t load(const Thread& t, std::size_t address) const {
    const auto waiting = under_way_.find(address);
    if (waiting != under_way_.end()) {
      for (auto s = waiting->second.rbegin(); s != waiting->second.rend(); ++s) {
        if (t.known.contains(*s)) return stores_[*s].value;
      }
    }
    return memory_[address];
  }

  void store(std::size_t thread, std::size_t address, std::uint64_t value, bool packet) {
    threads_[thread].known.insert(stores_.size());
    issued_[thread].push_back(stores_.size());
    under_way_[address].push_back(stores_.size());
    stores_.push_back({address, value, packet, thread, false});
  }

  bool serve(std::size_t g, std::uint32_t number, std::deque<Request>& requests) {
    if (requests.empty()) return false;
    Request& request = requests.front();
    if (request.progress < request.from.size()) {
      memory_[request.to[request.progress]] = memory_[request.from[request.progress]];
      if (request.packets) packet_[request.to[request.progress]] = packet_[request.from[request.progress]];
      ++request.progress;
      return true;
    }
    if (request.signal) raise(g, ChannelType::port, number);
    requests.pop_front();
    return true;
  }

  void raise(std::size_t g, ChannelType type, std::uint32_t number) {
    const Channel& channel = plan_.gpus[g].of(type)[number];
    const auto peer = static_cast<std::size_t>(channel.peer);
    const auto& back = plan_.gpus[peer].of(type);
    for (std::uint32_t c = 0; c < back.size(); ++c) {
      if (back[c].peer == static_cast<std::int32_t>(g) && back[c].ordinal == channel.ordinal)
        ++signals_[{peer, type, c}];
    }
  }

  void advance(Thread& t) {
    t.progress = 0;
    t.arrived = false;
    const Operation& at = operations(t)[t.next];
    if (at.type != OpType::pipeline) {
      ++t.next;
    } else if (++t.inner == at.inner.size()) {
      t.inner = 0;
      ++t.round;
    }
  }

  bool step(std::size_t index) {
    Thread& t = threads_[index];
    if (!begun_[t.gpu] || done(t)) return false;
    const Operation& at = operations(t)[t.next];
    if (at.type == OpType::pipeline && t.round == rounds(at)) {
      ++t.next;
      t.round = 0;
      return true;
    }
    const Operation& op = at.type == OpType::pipeline ? at.inner[t.inner] : at;
    const auto round = at.type == OpType::pipeline ? std::optional(t.round) : std::nullopt;
    switch (op.type) {
      case OpType::nop:
        return meet(
            t, [&](const Thread& o) { return o.gpu == t.gpu && o.block == t.block; }, threads_of_block);
      case OpType::barrier:
        return meet(
            t, [&](const Thread& o) { return o.gpu == t.gpu && at_barrier(o, op.barrier); },
            op.barrier_blocks * threads_of_block);
      case OpType::signal:
      case OpType::relaxed_signal:
      case OpType::wait:
      case OpType::relaxed_wait:
      case OpType::flush:
        return by_channel(t, op);
      case OpType::acquire:
      case OpType::release:
        return by_semaphore(t, op);
      default:
        return move(index, op, round);
    }
  }

  bool at_barrier(const Thread& t, std::uint32_t barrier) const {
    if (done(t)) return false;
    const Operation& at = operations(t)[t.next];
    if (at.type == OpType::pipeline && t.round == rounds(at)) return false;
    const Operation& op = at.type == OpType::pipeline ? at.inner[t.inner] : at;
    return op.type == OpType::barrier && op.barrier == barrier;
  }

  template <class Among>
  bool meet(Thread& t, Among among, std::size_t members) {
    if (t.arrived) return false;
    t.arrived = true;
    std::vector<Thread*> met;
    for (Thread& other : threads_) {
      if (other.arrived && among(other)) met.push_back(&other);
    }
    if (met.size() < members) return true;
    std::set<std::size_t> known;
    for (const Thread* other : met) {
      for (const std::size_t s : other->known) {
        if (!stores_[s].arrived) known.insert(s);
      }
    }
    for (Thread* other : met) {
      other->known = known;
      advance(*other);
    }
    return true;
  }

  // Executes an operation that is executed once per channel. Channel i is handled by thread i modulo the number of
  // threads.
  bool by_channel(Thread& t, const Operation& op) {
    const std::size_t i = t.progress * threads_of_block + t.number;
    if (i >= op.channels.size()) {
      advance(t);
      return true;
    }
    const std::uint32_t channel = op.channels[i];
    if (op.type == OpType::flush) {
      if (!ports_[{t.gpu, channel}].empty()) return false;
    } else if (op.type == OpType::wait || op.type == OpType::relaxed_wait) {
      auto& count = signals_[{t.gpu, op.channel_type, channel}];
      if (count == 0) return false;
      --count;
    } else {
      if (op.type == OpType::signal) drain(t);
      if (op.channel_type == ChannelType::port) {
        ports_[{t.gpu, channel}].push_back({{}, {}, false, true, 0});
      } else {
        raise(t.gpu, op.channel_type, channel);
      }
    }
    ++t.progress;
    return true;
  }

  bool by_semaphore(Thread& t, const Operation& op) {
    const std::size_t i = t.progress * threads_of_block + t.number;
    if (i >= op.semaphores.size()) {
      advance(t);
      return true;
    }
    auto& tokens = device_[{t.gpu, op.semaphores[i]}];
    if (op.type == OpType::release) {
      tokens.push_back(t.known);
    } else {
      if (tokens.empty()) return false;
      t.known.insert(tokens.front().begin(), tokens.front().end());
      tokens.pop_front();
    }
    ++t.progress;
    return true;
  }

  std::vector<std::vector<std::size_t>> addresses(const Thread& t, const Operation& op, const Operand& operand,
                                                  std::optional<std::uint32_t> round) const {
    std::vector<std::vector<std::size_t>> runs;
    const auto add = [&](std::size_t gpu) {
      auto& run = runs.emplace_back();
      for (const std::size_t cell : layout_.cells(operand, gpu, op.part, op.parts, round)) {
        for (std::size_t e = 0; e < elements; ++e) run.push_back(cell * elements + e);
      }
    };
    if (operand.place == Operand::Place::group) {
      for (const std::int32_t gpu : plan_.gpus[t.gpu].groups[operand.group].gpus) add(static_cast<std::size_t>(gpu));
    } else {
      add(static_cast<std::size_t>(operand.gpu));
    }
    return runs;
  }

  static bool pairs(OpType type) {
    return type == OpType::put || type == OpType::put_signal || type == OpType::put_signal_flush ||
           type == OpType::put_packets || type == OpType::get;
  }

  bool move(std::size_t index, const Operation& op, std::optional<std::uint32_t> round) {
    Thread& t = threads_[index];
    if (op.channel_type == ChannelType::port) return over_port(t, op, round);
    std::vector<std::vector<std::vector<std::size_t>>> from;
    std::vector<std::vector<std::vector<std::size_t>>> to;
    for (const Operand& operand : op.sources) from.push_back(addresses(t, op, operand, round));
    for (const Operand& operand : op.destinations) to.push_back(addresses(t, op, operand, round));
    const bool of_packets =
        std::any_of(op.sources.begin(), op.sources.end(), [](const auto& o) { return o.packets; }) ||
        std::any_of(op.destinations.begin(), op.destinations.end(), [](const auto& o) { return o.packets; });
    // Each of the two threads of a block handles every second element. In operations with packets, a thread handles the
    // elements that the other thread handles in operations without packets.
    const std::size_t parity = of_packets ? 1 - t.number : t.number;
    const std::size_t transfers = pairs(op.type) ? op.sources.size() : 1;
    std::size_t place = t.progress;
    for (std::size_t x = 0; x < transfers; ++x) {
      const std::size_t length = from[x].front().size();
      const std::size_t mine = (length + threads_of_block - 1 - parity) / threads_of_block;
      if (place >= mine) {
        place -= mine;
        continue;
      }
      const std::size_t e = place * threads_of_block + parity;
      const std::size_t first = pairs(op.type) ? x : 0;
      const std::size_t last = pairs(op.type) ? x + 1 : op.sources.size();
      std::uint64_t sum = 0;
      for (std::size_t s = first; s < last; ++s) {
        for (const auto& run : from[s]) {
          if (op.sources[s].packets && !packet_[run[e]]) return false;
          sum += op.sources[s].packets ? memory_[run[e]] : load(t, run[e]);
        }
      }
      for (std::size_t d = first; d < (pairs(op.type) ? x + 1 : op.destinations.size()); ++d) {
        for (const auto& run : to[d]) store(index, run[e], sum, op.destinations[d].packets);
      }
      ++t.progress;
      return true;
    }
    advance(t);
    return true;
  }

  bool over_port(Thread& t, const Operation& op, std::optional<std::uint32_t> round) {
    const std::size_t i = t.progress / 2 * threads_of_block + t.number;
    if (i >= op.destinations.size()) {
      advance(t);
      return true;
    }
    if (t.progress % 2 == 0) {
      drain(t);
      const Operand& source = op.sources[pairs(op.type) ? i : 0];
      const auto from = addresses(t, op, source, round).front();
      const auto to = addresses(t, op, op.destinations[i], round).front();
      ports_[{t.gpu, op.channels[i]}].push_back({from, to, op.destinations[i].packets,
                                                 op.type == OpType::put_signal || op.type == OpType::put_signal_flush,
                                                 0});
    } else if (op.type == OpType::put_signal_flush && !ports_[{t.gpu, op.channels[i]}].empty()) {
      return false;
    }
    ++t.progress;
    return true;
  }

  bool result() const {
    for (std::size_t g = 0; g < plan_.gpus.size(); ++g) {
      const std::size_t first = layout_.user_cells(g).first * elements;
      for (std::size_t slice = 0; slice < layout_.outputs(g); ++slice) {
        const std::size_t at = layout_.output_cell(g, slice) * elements - first;
        for (std::size_t e = 0; e < elements; ++e) {
          std::uint64_t sum = 0;
          for (const std::uint32_t cell : layout_.expected(g, slice)) sum += initial_[cell * elements + e];
          if (output_[g][at + e] != sum) return false;
        }
      }
    }
    return true;
  }

  const Plan& plan_;
  Layout layout_;
  std::mt19937_64 random_;
  std::vector<std::uint64_t> memory_;
  std::vector<bool> packet_;
  std::vector<std::uint64_t> initial_;
  std::vector<Thread> threads_;
  std::vector<Store> stores_;
  std::map<std::size_t, std::vector<std::size_t>> issued_;  // indices of stores by thread; some have arrived
  std::map<std::size_t, std::deque<std::size_t>> under_way_;
  std::map<std::tuple<std::size_t, ChannelType, std::uint32_t>, std::uint64_t> signals_;
  std::map<std::pair<std::size_t, std::uint32_t>, std::deque<std::set<std::size_t>>> device_;
  std::map<std::pair<std::size_t, std::uint32_t>, std::deque<Request>> ports_;
  std::vector<bool> begun_;
  std::vector<bool> ended_;
  std::vector<std::vector<std::uint64_t>> output_;
  std::vector<std::size_t> priority_;
};

}  // namespace moire::mscclpp
