#include "models/algorithms/mscclpp/execution.hpp"

#include <algorithm>
#include <optional>

#include "models/algorithms/mscclpp/deadlocks.hpp"
#include "models/algorithms/mscclpp/state.hpp"

namespace moire::mscclpp {

namespace {

constexpr std::size_t most_terms = 4096;  // of a sum; further terms are dropped, because no right sum has so many

class Execution {
 public:
  Execution(const Plan& plan, Cut cut) : state_(plan, cut) {}

  Outcome run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (Worker& w : state_.workers) {
        while (step(w)) moved = true;
      }
    }
    if (std::all_of(state_.workers.begin(), state_.workers.end(), [](const Worker& w) { return w.ended(); })) {
      end_of_call();
      state_.cells.check_result();
    } else {
      report_deadlocks(state_);
    }
    return {state_.faults.take(), state_.faults.more(), operations_};
  }

 private:
  std::uint32_t rounds(const Operation& pipeline) const {
    return pipeline.pipeline_chunks * state_.layout.cut().slices;
  }

  // Runs one operation of a thread block. Returns false if the block must wait or has ended.
  bool step(Worker& w) {
    if (w.ended()) return false;
    const Operation& at = (*w.operations)[w.next];
    if (at.type != OpType::pipeline) {
      if (!perform(w, at, std::nullopt)) return false;
    } else if (w.round == rounds(at)) {
      ++w.next;
      w.round = 0;
      return true;
    } else if (!perform(w, at.inner[w.inner], w.round)) {
      return false;
    }
    advance(w);
    return true;
  }

  // Moves a thread block past the operation that it has run.
  void advance(Worker& w) {
    ++operations_;
    const Operation& at = (*w.operations)[w.next];
    if (at.type != OpType::pipeline) {
      ++w.next;
    } else if (++w.inner == at.inner.size()) {
      w.inner = 0;
      ++w.round;
    }
  }

  // Runs one operation that is no pipeline. Returns false if the block must wait.
  bool perform(Worker& w, const Operation& op, std::optional<std::uint32_t> round) {
    switch (op.type) {
      case OpType::nop:
        w.meet();
        return true;
      case OpType::barrier:
        return barrier(w, op);
      case OpType::signal:
      case OpType::relaxed_signal:
        for (std::size_t i = 0; i < op.channels.size(); ++i) signal(w, op, i);
        return true;
      case OpType::wait:
      case OpType::relaxed_wait:
        return wait(w, op);
      case OpType::flush:
        for (std::size_t i = 0; i < op.channels.size(); ++i) w.thread(i).join(state_.proxy(w.gpu, op.channels[i]));
        return true;
      case OpType::acquire:
        return acquire(w, op);
      case OpType::release:
        for (std::size_t i = 0; i < op.semaphores.size(); ++i) {
          state_.semaphores[{w.gpu, op.semaphores[i]}].give(w.known_to_thread(i));
        }
        return true;
      case OpType::pipeline:
        return true;  // step() runs its inner operations
      default:
        return move(w, op, round);
    }
  }

  bool barrier(Worker& w, const Operation& op) {
    if (w.at_barrier) return false;
    Barrier& barrier = state_.barriers[{w.gpu, op.barrier}];
    w.meet();
    barrier.knowledge.join(w.knowledge);
    w.at_barrier = true;
    barrier.arrived.push_back(w.agent);
    if (barrier.arrived.size() < op.barrier_blocks) return false;
    const Barrier all = std::move(barrier);
    barrier = Barrier{};
    for (const std::size_t agent : all.arrived) {
      Worker& other = state_.workers[agent];
      other.knowledge.join(all.knowledge);
      other.at_barrier = false;
      if (&other != &w) advance(other);
    }
    return true;
  }

  void signal(Worker& w, const Operation& op, std::size_t i) {
    const auto end = state_.ends.far({w.gpu, op.channel_type, op.channels[i]});
    Knowledge knowledge = w.known_to_thread(i);
    if (op.channel_type == ChannelType::port) {
      // The proxy carries out its requests in order. So the signal also conveys what the proxy knew before.
      Knowledge& proxy = state_.proxy(w.gpu, op.channels[i]);
      proxy.join(knowledge);
      knowledge = proxy;
    }
    if (op.type == OpType::relaxed_signal) knowledge.visible = Clock();
    if (end) state_.signals[*end].give(knowledge);
  }

  bool wait(Worker& w, const Operation& op) {
    for (const std::uint32_t channel : op.channels) {
      if (!state_.signals[{w.gpu, op.channel_type, channel}].can_take()) return false;
    }
    for (std::size_t i = 0; i < op.channels.size(); ++i) {
      Semaphore& semaphore = state_.signals[{w.gpu, op.channel_type, op.channels[i]}];
      if (!semaphore.can_take()) return true;  // a channel listed twice needs one signal only
      Knowledge knowledge = semaphore.take();
      if (op.type == OpType::relaxed_wait) knowledge.visible = Clock();
      w.thread(i).join(knowledge);
    }
    return true;
  }

  bool acquire(Worker& w, const Operation& op) {
    for (const std::uint32_t id : op.semaphores) {
      if (!state_.semaphores[{w.gpu, id}].can_take()) return false;
    }
    for (std::size_t i = 0; i < op.semaphores.size(); ++i) {
      Semaphore& semaphore = state_.semaphores[{w.gpu, op.semaphores[i]}];
      if (!semaphore.can_take()) return true;
      w.thread(i).join(semaphore.take());
    }
    return true;
  }

  // True if threads divide the data by payloads of packets.
  static bool of_packets(OpType type) {
    return type == OpType::put_packets || type == OpType::read_put_packets || type == OpType::copy_to_packets ||
           type == OpType::unpack_packets || type == OpType::reduce_packets || type == OpType::multicast_store_packets;
  }

  static bool pairs(OpType type) {
    return type == OpType::put || type == OpType::put_signal || type == OpType::put_signal_flush ||
           type == OpType::put_packets || type == OpType::get;
  }

  // True if the threads wait for the flags of the packets that they read.
  static bool spins(const Operation& op) {
    return op.type != OpType::put_packets;  // put over a port: its proxy copies packets as they are
  }

  bool move(Worker& w, const Operation& op, std::optional<std::uint32_t> round) {
    std::vector<std::vector<std::vector<std::size_t>>> from;
    for (const Operand& operand : op.sources) from.push_back(state_.runs(w, op, operand, round));
    for (std::size_t s = 0; s < from.size(); ++s) {
      if (!op.sources[s].packets || !spins(op)) continue;
      for (const auto& run : from[s]) {
        for (const std::size_t cell : run) {
          if (!state_.cells.has_packet(cell)) return false;
        }
      }
    }
    const std::uint32_t at = state_.cells.add_site(w.site());
    const bool proxied = op.channel_type == ChannelType::port;
    ++w.time;
    if (pairs(op.type)) {
      for (std::size_t i = 0; i < op.sources.size(); ++i) {
        transfer(w, op, at, {from[i]}, {&op.sources[i]}, {&op.destinations[i]}, round,
                 proxied ? std::optional(i) : std::nullopt);
      }
    } else if (proxied) {  // rppkt: threads wait for the packets, then each channel's proxy puts them
      for (std::size_t i = 0; i < op.destinations.size(); ++i) {
        transfer(w, op, at, from, {&op.sources[0]}, {&op.destinations[i]}, round, i);
      }
    } else {
      std::vector<const Operand*> sources;
      std::vector<const Operand*> destinations;
      for (const Operand& operand : op.sources) sources.push_back(&operand);
      for (const Operand& operand : op.destinations) destinations.push_back(&operand);
      transfer(w, op, at, from, sources, destinations, round, std::nullopt);
    }
    if (op.type == OpType::put_signal || op.type == OpType::put_signal_flush) {
      for (std::size_t i = 0; i < op.channels.size(); ++i) {
        const Knowledge& proxy = state_.proxy(w.gpu, op.channels[i]);
        const auto end = state_.ends.far({w.gpu, ChannelType::port, op.channels[i]});
        if (end) state_.signals[*end].give(proxy);
        if (op.type == OpType::put_signal_flush) w.thread(i).join(proxy);
      }
    }
    return true;
  }

  // Writes the sum of the sources to all destinations, cell by cell. If a proxy does this work, `channel` is the index
  // of its channel among the operation's channels; if the threads do it, `channel` is empty.
  void transfer(Worker& w, const Operation& op, std::uint32_t at,
                const std::vector<std::vector<std::vector<std::size_t>>>& from,
                const std::vector<const Operand*>& sources, const std::vector<const Operand*>& destinations,
                std::optional<std::uint32_t> round, std::optional<std::size_t> channel) {
    Access access;
    access.agent = w.agent;
    access.time = w.time;
    access.site = at;
    access.grain = of_packets(op.type) ? Grain::packet : Grain::vector;
    const Knowledge* known = &w.knowledge;
    Knowledge* proxy = nullptr;
    if (channel) {
      // The proxy learns what the requesting thread knows. It runs its own operations one after the other.
      proxy = &state_.proxy(w.gpu, op.channels[*channel]);
      proxy->join(w.known_to_thread(*channel));
      const std::size_t agent = state_.agents.proxy(w.gpu, op.channels[*channel]);
      access.agent = static_cast<std::uint32_t>(agent);
      access.time = proxy->visible.of(agent) + 1;
      access.grain = Grain::whole;
      known = proxy;
    }
    std::vector<std::vector<std::vector<std::size_t>>> to;
    for (const Operand* operand : destinations) to.push_back(state_.runs(w, op, *operand, round));
    Knowledge learnt;  // from flags of packets
    const std::size_t length = from.front().front().size();
    access.length = static_cast<std::uint32_t>(length);
    for (std::size_t i = 0; i < length; ++i) {
      access.offset = static_cast<std::uint32_t>(i);
      std::vector<std::uint32_t> sum;
      Clock over;
      for (std::size_t s = 0; s < sources.size(); ++s) {
        for (const auto& run : from[s]) {
          const Clock packets = state_.cells.read(run[i], access, *known, over, sources[s]->packets && spins(op));
          over.join(packets);
          const std::vector<std::uint32_t>& terms = state_.cells.sum(run[i]);
          sum.insert(sum.end(), terms.begin(), terms.end());
        }
      }
      std::sort(sum.begin(), sum.end());
      if (sum.size() > most_terms) sum.resize(most_terms);
      learnt.over.join(over);
      for (std::size_t d = 0; d < destinations.size(); ++d) {
        for (const auto& run : to[d]) {
          state_.cells.write(run[i], access, *known, over, sum, destinations[d]->packets);
        }
      }
    }
    if (proxy) {
      proxy->visible.set(access.agent, access.time);
      proxy->over.set(access.agent, access.time);
      proxy->over.join(learnt.over);
    } else if (!learnt.over.empty()) {
      w.from_packets.join(learnt);  // until the threads meet, each knows only what its own packets told
    }
  }

  void end_of_call() {
    std::vector<Knowledge> ends(state_.plan.gpus.size());
    for (Worker& w : state_.workers) {
      w.meet();
      ends[w.gpu].join(w.knowledge);
    }
    state_.cells.check_ends(ends);
  }

  State state_;
  std::uint64_t operations_ = 0;  // that were run
};

}  // namespace

Outcome execute(const Plan& plan, Cut cut) { return Execution(plan, cut).run(); }

}  // namespace moire::mscclpp
