#include "models/algorithms/mscclpp/block_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "models/algorithms/mscclpp/refusal.hpp"
#include "sim/core/invariant.hpp"

namespace moire::mscclpp {

namespace {

using ir::Effort;
using ir::Move;
using ir::Op;
using ir::Rank;
using ir::Step;

constexpr double signal_bytes = 8;  // size of the semaphore that a proxy writes
constexpr double packet_bytes = 2;  // bytes of a packet for each byte of data

class BlockTranslation {
 public:
  BlockTranslation(Translation& translation, std::size_t gpu, std::size_t block)
      : translation_(translation),
        plan_(translation.plan),
        semaphores_(translation.semaphores),
        gpu_(gpu),
        block_(block) {}

  std::vector<Segment> run() {
    new_segment();
    const std::vector<Operation>& operations = plan_.gpus[gpu_].blocks[block_].operations;
    for (op_ = 0; op_ < operations.size(); ++op_) {
      if (operations[op_].type == OpType::pipeline) {
        pipeline(operations[op_]);
      } else {
        operation(operations[op_], fmt::format("{}", op_), false);
      }
    }
    std::erase_if(segments_, [](const Segment& segment) { return segment.items.empty(); });
    return std::move(segments_);
  }

 private:
  OperationId this_operation() const { return {gpu_, block_, op_}; }

  void refuse(const Operation& op, const std::string& number, const Refusal& refusal) {
    translation_.complaints.error(plan_.place(op), where(gpu_, block_, number, op) + " " + refusal.what,
                                  refusal.remedy);
  }

  std::uint32_t end_of(const Segment& segment) const {
    return segment.first + static_cast<std::uint32_t>(segment.items.size() * segment.rounds);
  }
  Segment& new_segment() {
    const std::uint32_t first = segments_.empty() ? 0 : end_of(segments_.back());
    segments_.emplace_back().first = first;
    return segments_.back();
  }

  void pipeline(const Operation& op) {
    Segment& segment = new_segment();
    segment.unit = static_cast<double>(op.unit_bytes);
    segment.rounds = (op.pipeline_chunks * translation_.chunk + op.unit_bytes - 1) / op.unit_bytes;
    const std::map<std::uint32_t, std::int64_t> before = due_;
    for (std::size_t i = 0; i < op.inner.size(); ++i) operation(op.inner[i], fmt::format("{}.{}", op_, i), true);
    // Each round waits for as many raises as the first round.
    for (auto& [semaphore, due] : due_) {
      const auto found = before.find(semaphore);
      const std::int64_t each = due - (found == before.end() ? first_due(semaphore) : found->second);
      for (Item& item : segment.items) {
        if (item.step.wait == semaphore) item.waits_per_round = each;
      }
      due += each * (static_cast<std::int64_t>(segment.rounds) - 1);
    }
    new_segment();
  }

  // Returns how many raises count as waited for before the first wait: minus the initial value of the semaphore,
  // because so many acquires need not wait for a raise.
  std::int64_t first_due(std::uint32_t semaphore) const { return -semaphores_.initial_value(gpu_, semaphore); }
  std::int64_t& due(std::uint32_t semaphore) { return due_.try_emplace(semaphore, first_due(semaphore)).first->second; }

  Step& add(Op op, Effort effort) {
    Step& step = segments_.back().items.emplace_back().step;
    step.op = op;
    step.effort = effort;
    return step;
  }
  void wait(std::uint32_t semaphore, std::int64_t count) {
    Step& step = add(Op::none, Effort::nothing);
    step.wait = semaphore;
    step.wait_count = count;
  }
  void raise(std::uint32_t semaphore, Rank at, Effort effort) {
    Step& step = add(Op::none, effort);
    step.raise = semaphore;
    step.to = at;
    step.far = at != gpu_;
  }
  // Adds waits for the semaphores. Only one block may wait for a semaphore: with two, the plan would not determine
  // which of them takes a raise.
  void take(const Operation& op, const std::string& number, const std::vector<std::uint32_t>& semaphores) {
    add(Op::none, Effort::expect);
    bool refused = false;
    for (const std::uint32_t semaphore : semaphores) {
      const std::size_t owner = semaphores_.first_waiter(gpu_, semaphore, block_);
      if (owner != block_ && !std::exchange(refused, true)) {
        refuse(
            op, number,
            {fmt::format("waits for the same channel or semaphore as tb {}, so that their order is undefined", owner),
             "give each thread block that waits its own channel or semaphore"});
      }
      wait(semaphore, ++due(semaphore));
    }
  }

  // Returns how many bytes of a run of chunks this block moves, in whole units of the plan's alignment.
  double bytes(const Operation& op, const Operand& operand) const {
    const std::uint64_t units = operand.count * translation_.chunk / plan_.alignment;
    const auto begin = [&](std::uint64_t part) {
      return part * (units / op.parts) + std::min<std::uint64_t>(part, units % op.parts);
    };
    return static_cast<double>((begin(op.part + std::uint64_t{1}) - begin(op.part)) * plan_.alignment);
  }
  std::uint32_t number_of(const Move& move) {
    auto& moves = translation_.moves;
    const auto number = static_cast<std::size_t>(std::find(moves.begin(), moves.end(), move) - moves.begin());
    if (number == moves.size()) moves.push_back(move);
    return static_cast<std::uint32_t>(number);
  }
  void move(const Move& move, double bytes, std::int32_t from, std::int32_t to, Effort effort) {
    Step& step = add(Op::one_sided, effort);
    step.move = number_of(move);
    step.bytes = bytes;
    step.from = static_cast<Rank>(from);
    step.to = static_cast<Rank>(to);
  }

  // Adds a step that asks a proxy to put `bytes` of a run of chunks and to raise the semaphore once they have arrived.
  void hand_over(const Operation& op, std::size_t i, double bytes, std::uint32_t semaphore, bool far, Effort effort) {
    Step& step = add(Op::hand_over, effort);
    step.to = static_cast<Rank>(plan_.gpus[gpu_].ports[op.channels[i]].peer);
    step.out = op.channels[i];
    step.bytes = bytes;
    step.raise = semaphore;
    step.far = far;
  }
  void hand_over_signal(const Operation& op, std::size_t i, Effort effort) {
    hand_over(op, i, signal_bytes, semaphores_.far_end(gpu_, ChannelType::port, op.channels[i]), true, effort);
  }
  void flush(const Operation& op) {
    add(Op::none, Effort::operation);
    for (const std::uint32_t port : op.channels) {
      const std::uint32_t arrivals = semaphores_.of_arrivals(gpu_, block_, port);
      wait(arrivals, due(arrivals));
      for (const auto& [semaphore, at] : packets_put_[port]) {
        wait(semaphore, 1);
        segments_.back().items.back().step.far = true;
        segments_.back().items.back().step.to = at;
      }
    }
  }

  // Adds steps that store packets to a destination. They signal the readers of these packets before the first and after
  // the last packet.
  void send_packets(const Move& move, double bytes, const Operation& op, std::size_t destination, Effort effort) {
    tell(destination, &PacketReader::begun);
    this->move(move, bytes, static_cast<std::int32_t>(gpu_), op.destinations[destination].gpu, effort);
    tell(destination, &PacketReader::done);
  }
  void tell(std::size_t destination, std::uint32_t PacketReader::*semaphore) {
    for (const OperationId& reader : semaphores_.readers_of(this_operation(), destination))
      raise(semaphores_.reader(reader).*semaphore, static_cast<Rank>(reader.gpu), Effort::nothing);
  }

  // Adds the steps of an operation, whose position in the block is `number` in messages.
  void operation(const Operation& op, const std::string& number, bool in_pipeline) {
    if (const auto refused = refusal(plan_, gpu_, op, in_pipeline, translation_.node)) {
      refuse(op, number, *refused);
      return;
    }
    const bool port = op.channel_type == ChannelType::port;
    const auto self = static_cast<std::int32_t>(gpu_);
    Effort effort = Effort::operation;  // for the operation's first step
    const auto next_effort = [&effort] { return std::exchange(effort, Effort::nothing); };
    switch (op.type) {
      case OpType::nop:
        add(Op::none, Effort::meet);
        break;
      case OpType::barrier: {
        const std::uint32_t reached = semaphores_.of_barrier(gpu_, op.barrier);
        raise(reached, static_cast<Rank>(gpu_), Effort::meet);
        wait(reached, due(reached) += op.barrier_blocks);
        add(Op::none, Effort::meet);
        break;
      }
      case OpType::signal:
      case OpType::relaxed_signal:
        effort = op.type == OpType::signal ? Effort::fence : Effort::operation;
        for (std::size_t i = 0; i < op.channels.size(); ++i) {
          if (port) {
            hand_over_signal(op, i, next_effort());
          } else {
            raise(semaphores_.far_end(gpu_, ChannelType::memory, op.channels[i]),
                  static_cast<Rank>(plan_.gpus[gpu_].memory[op.channels[i]].peer), next_effort());
          }
        }
        break;
      case OpType::wait:
      case OpType::relaxed_wait: {
        std::vector<std::uint32_t> ends;
        for (const std::uint32_t channel : op.channels)
          ends.push_back(semaphores_.end_of(gpu_, op.channel_type, channel));
        take(op, number, ends);
        break;
      }
      case OpType::acquire: {
        std::vector<std::uint32_t> ids;
        for (const std::uint32_t id : op.semaphores) ids.push_back(semaphores_.between_blocks(gpu_, id));
        take(op, number, ids);
        break;
      }
      case OpType::release:
        for (const std::uint32_t id : op.semaphores)
          raise(semaphores_.between_blocks(gpu_, id), static_cast<Rank>(gpu_), next_effort());
        break;
      case OpType::flush:
        flush(op);
        break;
      case OpType::put:
      case OpType::put_signal:
      case OpType::put_signal_flush:
        if (port) effort = Effort::fence;
        for (std::size_t i = 0; i < op.destinations.size(); ++i) {
          if (!port) {
            move({.loads = 1, .peer_stores = 1}, bytes(op, op.sources[i]), self, op.destinations[i].gpu, next_effort());
            continue;
          }
          const std::uint32_t arrivals = semaphores_.of_arrivals(gpu_, block_, op.channels[i]);
          ++due(arrivals);
          hand_over(op, i, bytes(op, op.sources[i]), arrivals, false, next_effort());
          if (op.type != OpType::put) hand_over_signal(op, i, Effort::nothing);
        }
        if (op.type == OpType::put_signal_flush) flush(op);
        break;
      case OpType::get:
        for (std::size_t i = 0; i < op.sources.size(); ++i)
          move({.stores = 1, .peer_loads = 1}, bytes(op, op.sources[i]), op.sources[i].gpu, self, next_effort());
        break;
      case OpType::copy:
        move({.loads = 1, .stores = 1}, bytes(op, op.sources[0]), self, self, effort);
        break;
      case OpType::reduce:
        reduce(op);
        break;
      case OpType::put_packets:
      case OpType::read_put_packets:
      case OpType::copy_to_packets:
      case OpType::unpack_packets:
      case OpType::reduce_packets:
        packets(op);
        break;
      case OpType::multicast_reduce:
      case OpType::multicast_store:
      case OpType::multicast_store_packets:
      case OpType::pipeline:
        MOIRE_INVARIANT(false, "refusal() refuses operations of a switch, and pipeline() runs pipelines");
    }
  }

  // Adds steps that sum the chunks of the peers, one peer after the other, and then this GPU's chunks. The sum is
  // stored to the first destination, then to the others.
  void reduce(const Operation& op) {
    const double of_run = bytes(op, op.sources[0]);
    const auto self = static_cast<std::int32_t>(gpu_);
    Effort effort = Effort::operation;
    Move own{.stores = 1};
    for (const Operand& source : op.sources) {
      if (source.gpu == self) {
        ++own.loads;
        continue;
      }
      move({.peer_loads = 1, .sums = 1}, of_run, source.gpu, self, std::exchange(effort, Effort::nothing));
    }
    own.sums = own.loads - 1;
    store(op, own, of_run, effort);
  }

  // Adds steps that store the result of the move: one step for local destinations and the first peer, and one more step
  // for each further peer.
  void store(const Operation& op, Move move, double of_run, Effort effort) {
    std::vector<std::size_t> own;
    std::vector<std::size_t> peers;
    for (std::size_t d = 1; d < op.destinations.size(); ++d) {
      const Operand& to = op.destinations[d];
      if (to.gpu != static_cast<std::int32_t>(gpu_)) {
        peers.push_back(d);
      } else {
        ++(to.packets ? move.packet_stores : move.stores);
        own.push_back(d);
      }
    }
    const auto send = [&](Move one, std::size_t d, Effort beside) {
      ++(op.destinations[d].packets ? one.peer_packet_stores : one.peer_stores);
      send_packets(one, of_run, op, d, beside);
    };
    for (const std::size_t d : own) tell(d, &PacketReader::begun);
    if (peers.empty()) {
      this->move(move, of_run, static_cast<std::int32_t>(gpu_), static_cast<std::int32_t>(gpu_), effort);
    } else {
      send(move, peers[0], effort);
    }
    for (const std::size_t d : own) tell(d, &PacketReader::done);
    for (std::size_t i = 1; i < peers.size(); ++i) send({}, peers[i], Effort::nothing);
  }

  void packets(const Operation& op) {
    const bool port = op.channel_type == ChannelType::port;
    const double of_run = bytes(op, op.sources[0]);
    const auto self = static_cast<std::int32_t>(gpu_);
    const PacketReader& reader = semaphores_.reader(this_operation());
    if (reader.writers > 0) wait(reader.begun, reader.writers);
    for (const std::uint32_t semaphore : reader.ports) wait(semaphore, 1);
    Effort effort = Effort::operation;
    const auto next_effort = [&effort] { return std::exchange(effort, Effort::nothing); };
    switch (op.type) {
      case OpType::put_packets:
        for (std::size_t i = 0; i < op.destinations.size() && !port; ++i)
          send_packets({.loads = 1, .peer_packet_stores = 1}, bytes(op, op.sources[i]), op, i, next_effort());
        break;
      case OpType::read_put_packets:
        if (port) move({.packet_loads = 1}, of_run, self, self, next_effort());  // threads wait for all packets first
        for (std::size_t i = 0; i < op.destinations.size() && !port; ++i)
          send_packets({.packet_loads = i == 0 ? 1U : 0U, .peer_packet_stores = 1}, of_run, op, i, next_effort());
        break;
      case OpType::copy_to_packets:
        send_packets({.loads = 1, .packet_stores = 1}, of_run, op, 0, effort);
        break;
      case OpType::unpack_packets:
        move({.packet_loads = 1, .stores = 1}, of_run, self, self, effort);
        break;
      default: {
        const auto others = static_cast<std::uint32_t>(op.sources.size() - 1);
        store(op, {.loads = 1, .packet_loads = others, .stores = 1, .sums = others}, of_run, effort);
      }
    }
    if (reader.writers > 0) wait(reader.done, reader.writers);
    for (std::size_t i = 0; i < op.destinations.size() && port; ++i) {
      const Operand& source = op.sources[op.type == OpType::put_packets ? i : 0];
      const std::uint32_t semaphore = semaphores_.of_packets(this_operation(), i);
      hand_over(op, i, packet_bytes * bytes(op, source), semaphore, true, i == 0 ? Effort::fence : Effort::nothing);
      packets_put_[op.channels[i]].emplace_back(semaphore, static_cast<Rank>(op.destinations[i].gpu));
    }
  }

  Translation& translation_;
  const Plan& plan_;
  PlanSemaphores& semaphores_;
  std::size_t gpu_;
  std::size_t block_;
  std::size_t op_ = 0;
  std::vector<Segment> segments_;
  // By port: the semaphores that puts of packets over the port raise, and the ranks of these semaphores.
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, Rank>>> packets_put_;
  std::map<std::uint32_t, std::int64_t> due_;  // by semaphore: raises that the block has waited for so far
};

}  // namespace

std::vector<Segment> block_steps(Translation& translation, std::size_t gpu, std::size_t block) {
  return BlockTranslation(translation, gpu, block).run();
}

}  // namespace moire::mscclpp
