// Over 400 lines: the translation of every operation, in one place.
#include "models/algorithms/mscclpp/plan_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "models/algorithms/mscclpp/complaints.hpp"
#include "models/algorithms/mscclpp/memory.hpp"
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

// A step of one round of a pipeline, and how much its wait count grows in each round.
struct Item {
  Step step;
  std::int64_t waits_per_round = 0;
};
// Steps that are run `rounds` times, each time on the next `unit` bytes of a run of chunks.
struct Segment {
  std::vector<Item> items;
  std::uint64_t rounds = 1;
  double unit = 0;
  std::uint32_t first = 0;  // number of steps of the block before this segment
};

class PlanProgram final : public ir::ChannelProgram {
 public:
  std::uint32_t channels() const override { return channels_; }
  std::uint32_t channels_of(Rank rank) const override { return static_cast<std::uint32_t>(blocks[rank].size()); }
  std::uint32_t connections() const override { return 0; }
  std::uint32_t semaphores() const override { return semaphores_; }
  Rank sender(Rank rank, std::uint32_t) const override { return rank; }
  Rank receiver(Rank rank, std::uint32_t) const override { return rank; }
  Rank raiser(Rank rank, std::uint32_t semaphore) const override {
    return semaphore < raisers[rank].size() ? raisers[rank][semaphore] : rank;
  }
  std::vector<Move> moves() const override { return moves_; }

  bool step(Rank rank, std::uint32_t channel, std::uint32_t, std::uint32_t number, Step& step) const override {
    const std::vector<Segment>& segments = blocks[rank][channel];
    const auto behind = std::upper_bound(segments.begin(), segments.end(), number,
                                         [](std::uint32_t n, const Segment& segment) { return n < segment.first; });
    if (behind == segments.begin()) return false;
    const Segment& segment = *std::prev(behind);
    const std::uint64_t round = (number - segment.first) / segment.items.size();
    if (round >= segment.rounds) return false;
    const Item& item = segment.items[(number - segment.first) % segment.items.size()];
    step = item.step;
    step.wait_count += item.waits_per_round * static_cast<std::int64_t>(round);
    const bool data = step.op == Op::one_sided || (step.op == Op::hand_over && !step.far);
    if (segment.unit > 0 && data)
      step.bytes = std::clamp(step.bytes - static_cast<double>(round) * segment.unit, 0.0, segment.unit);
    return true;
  }

  std::uint32_t move(const Move& wanted) {
    const auto number = static_cast<std::size_t>(std::find(moves_.begin(), moves_.end(), wanted) - moves_.begin());
    if (number == moves_.size()) moves_.push_back(wanted);
    return static_cast<std::uint32_t>(number);
  }

  void close() {
    for (const auto& of_rank : blocks) channels_ = std::max(channels_, static_cast<std::uint32_t>(of_rank.size()));
    for (const auto& of_rank : raisers) semaphores_ = std::max(semaphores_, static_cast<std::uint32_t>(of_rank.size()));
  }

  std::vector<std::vector<std::vector<Segment>>> blocks;  // by rank
  std::vector<std::vector<Rank>> raisers;                 // by rank: who raises each of its semaphores

 private:
  std::vector<Move> moves_;
  std::uint32_t channels_ = 0;
  std::uint32_t semaphores_ = 0;
};

class Compiler {
 public:
  Compiler(const Plan& plan, std::uint64_t bytes, std::uint32_t node, Complaints& complaints)
      : plan_(plan),
        layout_(plan, cuts_of(plan).front()),
        chunk_(bytes / message_chunks(plan)),
        node_(static_cast<std::int32_t>(node)),
        complaints_(complaints),
        program_(std::make_shared<PlanProgram>()) {
    program_->raisers.resize(plan.gpus.size());
    program_->blocks.resize(plan.gpus.size());
    for (std::size_t g = 0; g < plan.gpus.size(); ++g) {
      for (const ChannelType type : {ChannelType::memory, ChannelType::port}) {
        for (const Channel& channel : plan.gpus[g].of(type)) semaphore(g, static_cast<Rank>(channel.peer));
      }
      for (std::size_t s = 0; s < plan.gpus[g].semaphores.size(); ++s) semaphore(g, static_cast<Rank>(g));
    }
    number_packets();
  }

  std::shared_ptr<const ir::ChannelProgram> run() {
    for (gpu_ = 0; gpu_ < plan_.gpus.size(); ++gpu_) {
      for (block_ = 0; block_ < plan_.gpus[gpu_].blocks.size(); ++block_) {
        block(plan_.gpus[gpu_].blocks[block_]);
      }
    }
    if (!complaints_.ok()) return nullptr;
    program_->close();
    return program_;
  }

 private:
  std::uint32_t semaphore(std::size_t gpu, Rank raiser) {
    program_->raisers[gpu].push_back(raiser);
    return static_cast<std::uint32_t>(program_->raisers[gpu].size() - 1);
  }

  using Key = std::tuple<std::size_t, std::size_t, std::size_t>;  // GPU, block, operation
  // A reader polls the flag in each packet. In the channel program, two semaphores replace these flags: each of the
  // `writers` operations that store packets for the reader raises `begun` before its first packet and `done` after its
  // last. Packets that a proxy puts arrive all at once, so each such put has one semaphore, in `ports`.
  struct Reader {
    std::uint32_t begun = ir::no_semaphore;
    std::uint32_t done = ir::no_semaphore;
    std::int64_t writers = 0;
    std::set<std::uint32_t> ports;
  };

  template <class Visit>
  void for_each_operation(Visit visit) const {
    for (std::size_t g = 0; g < plan_.gpus.size(); ++g) {
      for (std::size_t b = 0; b < plan_.gpus[g].blocks.size(); ++b) {
        const auto& operations = plan_.gpus[g].blocks[b].operations;
        for (std::size_t o = 0; o < operations.size(); ++o) visit(Key{g, b, o}, operations[o]);
      }
    }
  }

  std::vector<std::size_t> cells(const Operation& op, const Operand& operand) const {
    return layout_.cells(operand, static_cast<std::size_t>(operand.gpu), op.part, op.parts, std::nullopt);
  }

  void number_packets() {
    std::map<std::size_t, std::pair<Key, std::size_t>> writers;  // by cell: operation and index of the destination
    for_each_operation([&](const Key& key, const Operation& op) {
      for (std::size_t d = 0; d < op.destinations.size(); ++d) {
        const Operand& to = op.destinations[d];
        if (!to.packets || to.place == Operand::Place::group) continue;
        if (op.channel_type == ChannelType::port)
          by_port_[{key, d}] = semaphore(static_cast<std::size_t>(to.gpu), static_cast<Rank>(std::get<0>(key)));
        for (const std::size_t cell : cells(op, to)) writers[cell] = {key, d};
      }
    });
    for_each_operation([&](const Key& key, const Operation& op) {
      if (op.channel_type == ChannelType::port && op.type == OpType::put_packets) return;  // proxies do not read flags
      std::set<std::pair<Key, std::size_t>> from;
      for (const Operand& source : op.sources) {
        if (!source.packets || source.place == Operand::Place::group) continue;
        for (const std::size_t cell : cells(op, source)) {
          if (const auto writer = writers.find(cell); writer != writers.end()) from.insert(writer->second);
        }
      }
      for (const auto& writer : from) {
        Reader& reader = readers_[key];
        if (const auto port = by_port_.find(writer); port != by_port_.end()) {
          reader.ports.insert(port->second);
          continue;
        }
        const std::size_t gpu = std::get<0>(key);
        if (reader.writers++ == 0) {
          reader.begun = semaphore(gpu, static_cast<Rank>(std::get<0>(writer.first)));
          reader.done = semaphore(gpu, static_cast<Rank>(std::get<0>(writer.first)));
        }
        read_by_[writer].push_back(key);
      }
    });
  }

  void refuse(const Operation& op, const std::string& number, const std::string& what, const std::string& right) {
    complaints_.error(plan_.place(op), where(gpu_, block_, number, op) + " " + what, right);
    refused_ = true;
  }

  // Refuses operations that channels cannot do on this machine, and operations whose time is not modelled.
  bool accepts(const Operation& op, const std::string& number) {
    refused_ = false;
    const auto group = [](const Operand& operand) { return operand.place == Operand::Place::group; };
    if (op.channel_type == ChannelType::multicast || std::any_of(op.sources.begin(), op.sources.end(), group) ||
        std::any_of(op.destinations.begin(), op.destinations.end(), group)) {
      refuse(op, number, "uses a switch channel: sums and stores inside a switch (NVLS) are not modelled",
             "use memory or port channels");
      return false;
    }
    const auto reached = [this](std::int32_t peer) { return peer / node_ == static_cast<std::int32_t>(gpu_) / node_; };
    std::set<std::int32_t> peers;
    if (op.channel_type != ChannelType::port) {
      for (const std::uint32_t channel : op.channels) peers.insert(plan_.gpus[gpu_].memory[channel].peer);
      for (const auto* operands : {&op.sources, &op.destinations}) {
        for (const Operand& operand : *operands) peers.insert(operand.gpu);
      }
    }
    for (const std::int32_t peer : peers) {
      if (reached(peer)) continue;
      refuse(op, number, fmt::format("uses a memory channel to gpu {}, whose memory its threads cannot reach", peer),
             fmt::format("use a port channel, or a system in which {} GPUs share a node", plan_.gpus.size()));
      return false;
    }
    return true;
  }

  std::uint32_t end_of(const Segment& segment) const {
    return segment.first + static_cast<std::uint32_t>(segment.items.size() * segment.rounds);
  }
  Segment& new_segment() {
    const std::uint32_t first = segments_->empty() ? 0 : end_of(segments_->back());
    segments_->emplace_back().first = first;
    return segments_->back();
  }

  void block(const Block& block) {
    segments_ = &program_->blocks[gpu_].emplace_back();
    due_.clear();
    packets_put_.clear();
    new_segment();
    for (std::size_t i = 0; i < block.operations.size(); ++i) {
      op_ = i;
      const Operation& op = block.operations[i];
      if (op.type == OpType::pipeline) {
        pipeline(op);
      } else {
        operation(op, fmt::format("{}", i));
      }
    }
    std::erase_if(*segments_, [](const Segment& segment) { return segment.items.empty(); });
  }

  void pipeline(const Operation& op) {
    Segment& segment = new_segment();
    segment.unit = static_cast<double>(op.unit_bytes);
    segment.rounds = (op.pipeline_chunks * chunk_ + op.unit_bytes - 1) / op.unit_bytes;
    const std::map<std::uint32_t, std::int64_t> before = due_;
    for (std::size_t i = 0; i < op.inner.size(); ++i) {
      const std::string number = fmt::format("{}.{}", op_, i);
      const auto packets = [](const Operand& operand) { return operand.packets; };
      if (std::any_of(op.inner[i].sources.begin(), op.inner[i].sources.end(), packets) ||
          std::any_of(op.inner[i].destinations.begin(), op.inner[i].destinations.end(), packets)) {
        refuse(op.inner[i], number, "moves packets in a pipeline, whose rounds would all carry the same flags",
               "use packets outside of pipelines, or data with signals");
      } else {
        operation(op.inner[i], number);
      }
    }
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

  // Returns the semaphore of this GPU's end of a channel. A GPU's semaphores are numbered: first those of its memory
  // channels, then those of its ports, then those between its blocks.
  std::uint32_t end_of(ChannelType type, std::uint32_t channel) const {
    const Gpu& gpu = plan_.gpus[gpu_];
    return channel + (type == ChannelType::port ? static_cast<std::uint32_t>(gpu.memory.size()) : 0);
  }
  std::uint32_t between_blocks(std::uint32_t id) const {
    const Gpu& gpu = plan_.gpus[gpu_];
    return static_cast<std::uint32_t>(gpu.memory.size() + gpu.ports.size()) + id;
  }
  // Returns the semaphore of the peer's end of a channel; no_semaphore if the peer has no such channel.
  std::uint32_t far_end(ChannelType type, std::uint32_t channel) const {
    const Channel& here = plan_.gpus[gpu_].of(type)[channel];
    const Gpu& peer = plan_.gpus[static_cast<std::size_t>(here.peer)];
    const auto& channels = peer.of(type);
    for (std::uint32_t c = 0; c < channels.size(); ++c) {
      if (channels[c].peer == static_cast<std::int32_t>(gpu_) && channels[c].ordinal == here.ordinal)
        return c + (type == ChannelType::port ? static_cast<std::uint32_t>(peer.memory.size()) : 0);
    }
    return ir::no_semaphore;
  }

  // Returns minus the initial value of a semaphore between blocks: so many acquires need not wait for a raise. Returns
  // 0 for other semaphores.
  std::int64_t first_due(std::uint32_t semaphore) const {
    const std::uint32_t first = between_blocks(0);
    const auto& values = plan_.gpus[gpu_].semaphores;
    return semaphore >= first && semaphore - first < values.size() ? -std::int64_t{values[semaphore - first]} : 0;
  }
  std::int64_t& due(std::uint32_t semaphore) { return due_.try_emplace(semaphore, first_due(semaphore)).first->second; }

  Step& add(Op op, Effort effort) {
    Step& step = segments_->back().items.emplace_back().step;
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
    for (const std::uint32_t semaphore : semaphores) {
      const std::size_t owner = owners_.try_emplace({gpu_, semaphore}, block_).first->second;
      if (owner != block_ && !refused_) {
        refuse(op, number,
               fmt::format("waits for the same channel or semaphore as tb {}, so that their order is undefined", owner),
               "give each thread block that waits its own channel or semaphore");
      }
      wait(semaphore, ++due(semaphore));
    }
  }

  // Returns how many bytes of a run of chunks this block moves, in whole units of the plan's alignment.
  double bytes(const Operation& op, const Operand& operand) const {
    const std::uint64_t units = operand.count * chunk_ / plan_.alignment;
    const auto begin = [&](std::uint64_t part) {
      return part * (units / op.parts) + std::min<std::uint64_t>(part, units % op.parts);
    };
    return static_cast<double>((begin(op.part + std::uint64_t{1}) - begin(op.part)) * plan_.alignment);
  }
  void move(const Move& move, double bytes, std::int32_t from, std::int32_t to, Effort effort) {
    Step& step = add(Op::one_sided, effort);
    step.move = program_->move(move);
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
    hand_over(op, i, signal_bytes, far_end(ChannelType::port, op.channels[i]), true, effort);
  }
  // Returns the semaphore that is raised whenever a put of this block over the port has arrived.
  std::uint32_t done(std::uint32_t port) {
    const auto [found, fresh] = done_.try_emplace({gpu_, block_, port}, 0);
    if (fresh) found->second = semaphore(gpu_, static_cast<Rank>(plan_.gpus[gpu_].ports[port].peer));
    return found->second;
  }
  void flush(const Operation& op) {
    add(Op::none, Effort::operation);
    for (const std::uint32_t port : op.channels) {
      wait(done(port), due(done(port)));
      for (const auto& [semaphore, at] : packets_put_[port]) {
        wait(semaphore, 1);
        segments_->back().items.back().step.far = true;
        segments_->back().items.back().step.to = at;
      }
    }
  }

  // Adds steps that store packets to a destination. They signal the readers of these packets before the first and after
  // the last packet.
  void send_packets(const Move& move, double bytes, const Operation& op, std::size_t destination, Effort effort) {
    tell(destination, &Reader::begun);
    this->move(move, bytes, static_cast<std::int32_t>(gpu_), op.destinations[destination].gpu, effort);
    tell(destination, &Reader::done);
  }
  void tell(std::size_t destination, std::uint32_t Reader::*semaphore) {
    for (const Key& key : read_by_[{Key{gpu_, block_, op_}, destination}])
      raise(readers_[key].*semaphore, static_cast<Rank>(std::get<0>(key)), Effort::nothing);
  }

  void operation(const Operation& op, const std::string& number) {
    if (!accepts(op, number)) return;
    const bool port = op.channel_type == ChannelType::port;
    const auto self = static_cast<std::int32_t>(gpu_);
    Effort effort = Effort::operation;  // for the operation's first step
    const auto next_effort = [&effort] { return std::exchange(effort, Effort::nothing); };
    switch (op.type) {
      case OpType::nop:
        add(Op::none, Effort::meet);
        break;
      case OpType::barrier: {
        const auto [known, fresh] = barriers_.try_emplace({gpu_, op.barrier}, 0);
        if (fresh) known->second = semaphore(gpu_, static_cast<Rank>(gpu_));
        raise(known->second, static_cast<Rank>(gpu_), Effort::meet);
        wait(known->second, due(known->second) += op.barrier_blocks);
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
            raise(far_end(ChannelType::memory, op.channels[i]),
                  static_cast<Rank>(plan_.gpus[gpu_].memory[op.channels[i]].peer), next_effort());
          }
        }
        break;
      case OpType::wait:
      case OpType::relaxed_wait: {
        std::vector<std::uint32_t> ends;
        for (const std::uint32_t channel : op.channels) ends.push_back(end_of(op.channel_type, channel));
        take(op, number, ends);
        break;
      }
      case OpType::acquire: {
        std::vector<std::uint32_t> ids;
        for (const std::uint32_t id : op.semaphores) ids.push_back(between_blocks(id));
        take(op, number, ids);
        break;
      }
      case OpType::release:
        for (const std::uint32_t id : op.semaphores) raise(between_blocks(id), static_cast<Rank>(gpu_), next_effort());
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
          const std::uint32_t done = this->done(op.channels[i]);
          ++due(done);
          hand_over(op, i, bytes(op, op.sources[i]), done, false, next_effort());
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
        MOIRE_INVARIANT(false, "accepts() refuses operations of a switch, and pipeline() runs pipelines");
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
    for (const std::size_t d : own) tell(d, &Reader::begun);
    if (peers.empty()) {
      this->move(move, of_run, static_cast<std::int32_t>(gpu_), static_cast<std::int32_t>(gpu_), effort);
    } else {
      send(move, peers[0], effort);
    }
    for (const std::size_t d : own) tell(d, &Reader::done);
    for (std::size_t i = 1; i < peers.size(); ++i) send({}, peers[i], Effort::nothing);
  }

  void packets(const Operation& op) {
    const bool port = op.channel_type == ChannelType::port;
    const double of_run = bytes(op, op.sources[0]);
    const auto self = static_cast<std::int32_t>(gpu_);
    const Reader& reader = readers_[{gpu_, block_, op_}];
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
      const std::uint32_t semaphore = by_port_.at({Key{gpu_, block_, op_}, i});
      hand_over(op, i, packet_bytes * bytes(op, source), semaphore, true, i == 0 ? Effort::fence : Effort::nothing);
      packets_put_[op.channels[i]].emplace_back(semaphore, static_cast<Rank>(op.destinations[i].gpu));
    }
  }

  const Plan& plan_;
  Layout layout_;
  std::uint64_t chunk_;  // in bytes
  std::int32_t node_;
  Complaints& complaints_;
  std::shared_ptr<PlanProgram> program_;
  std::map<Key, Reader> readers_;
  // By operation and index of its destination: the operations that read the packets there.
  std::map<std::pair<Key, std::size_t>, std::vector<Key>> read_by_;
  // By operation and index of its destination: the semaphore at the destination that a put of packets over a port
  // raises.
  std::map<std::pair<Key, std::size_t>, std::uint32_t> by_port_;
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> barriers_;            // GPU, barrier: semaphore
  std::map<std::tuple<std::size_t, std::size_t, std::uint32_t>, std::uint32_t> done_;  // GPU, block, port: semaphore
  std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> owners_;  // GPU, semaphore: the block that waits for it
  // State of the block that is being translated.
  std::size_t gpu_ = 0;
  std::size_t block_ = 0;
  std::size_t op_ = 0;
  bool refused_ = false;
  std::vector<Segment>* segments_ = nullptr;
  // By port: the semaphores that puts of packets over the port raise, and the ranks of these semaphores.
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, Rank>>> packets_put_;
  std::map<std::uint32_t, std::int64_t> due_;  // by semaphore: raises that the block has waited for so far
};

}  // namespace

std::uint32_t message_chunks(const Plan& plan) {
  const Gpu& gpu = plan.gpus.front();
  const auto ranks = static_cast<std::uint32_t>(plan.gpus.size());
  const bool gathers = plan.collective == ir::Collective::all_gather;
  if (!plan.in_place) return gathers ? gpu.output_chunks : gpu.input_chunks;
  // A plan for in-place calls may state the number of chunks of input or of output only.
  if (gathers) return gpu.output_chunks > 0 ? gpu.output_chunks : gpu.input_chunks * ranks;
  if (plan.collective == ir::Collective::reduce_scatter)
    return gpu.input_chunks > 0 ? gpu.input_chunks : gpu.output_chunks * ranks;
  return std::max(gpu.input_chunks, gpu.output_chunks);
}

std::shared_ptr<const ir::ChannelProgram> plan_program(const Plan& plan, std::uint64_t bytes, std::uint32_t node,
                                                       config::Diagnostics& diagnostics) {
  Complaints complaints(diagnostics);
  return Compiler(plan, bytes, node, complaints).run();
}

}  // namespace moire::mscclpp
