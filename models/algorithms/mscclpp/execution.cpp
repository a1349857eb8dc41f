// Over 400 lines: the meaning of all operations on one state. docs/decisions.md says why proof/ cannot run plans, too.
#include "models/algorithms/mscclpp/execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "models/algorithms/proof/clock.hpp"
#include "sim/formats/complaints.hpp"

namespace moire::mscclpp {

namespace {

using proof::Clock;
using proof::Knowledge;

constexpr std::size_t most_terms = 4096;  // of a sum; further terms are dropped, because no right sum has so many

// An operation of a thread block. Messages name it, and accesses of one operation are recognized by it.
struct Site {
  std::uint32_t gpu = 0;
  std::uint32_t block = 0;
  std::int32_t op = -1;  // -1: the call itself, before its first operation
  std::int32_t inner = -1;
};

// How the threads of a block divide a run (consecutive slices of an operand) among them.
enum class Grain : std::uint8_t {
  vector,  // in turn, each thread takes 16 bytes
  packet,  // in turn, each thread takes the payload of a packet
  whole,   // a proxy takes the whole run
};

struct Access {
  std::uint32_t agent = 0;
  std::uint32_t time = 0;
  std::uint32_t site = 0;
  std::uint32_t offset = 0;  // of the cell within its run
  std::uint32_t length = 0;  // of the run
  Grain grain = Grain::whole;
};

struct Cell {
  std::vector<std::uint32_t> sum;  // the input cells whose sum the cell holds, sorted
  bool written = false;
  std::uint32_t packet_writes = 0;
  Access write;
  std::vector<Access> reads;  // since the last write
  Clock over;                 // of packets: the accesses that their sender knew to be over
};

struct Semaphore {
  std::vector<Knowledge> given;  // entry i: the knowledge that signals 0 to i convey together
  std::size_t taken = 0;

  void give(const Knowledge& knowledge) {
    Knowledge sum = given.empty() ? Knowledge{} : given.back();
    sum.join(knowledge);
    given.push_back(std::move(sum));
  }
};

struct Barrier {
  std::vector<std::size_t> arrived;
  Knowledge knowledge;
};

struct Worker {  // a thread block
  std::uint32_t gpu = 0;
  std::uint32_t block = 0;
  std::size_t next = 0;
  std::uint32_t round = 0;  // round of the pipeline at `next`
  std::size_t inner = 0;
  bool at_barrier = false;
  std::uint32_t time = 0;
  Knowledge knowledge;             // shared by all its threads
  std::vector<Knowledge> threads;  // what thread i learnt since the last barrier of the block
  Knowledge from_packets;          // what threads learnt from packets since this barrier
};

class Execution {
 public:
  Execution(const Plan& plan, Cut cut) : plan_(plan), layout_(plan, cut), cells_(layout_.cells()) {
    for (std::size_t g = 0; g < plan.gpus.size(); ++g) {
      for (std::size_t b = 0; b < plan.gpus[g].blocks.size(); ++b) {
        Worker& worker = workers_.emplace_back();
        worker.gpu = static_cast<std::uint32_t>(g);
        worker.block = static_cast<std::uint32_t>(b);
      }
    }
    agents_ = workers_.size();
    for (const Gpu& gpu : plan.gpus) {
      first_port_.push_back(agents_);
      agents_ += gpu.ports.size();
    }
    first_call_ = agents_;
    agents_ += plan.gpus.size();
    ports_.resize(first_call_ - workers_.size());
    for (Worker& worker : workers_) {
      begin(worker.knowledge, worker.gpu);
    }
    for (std::size_t g = 0; g < plan.gpus.size(); ++g) {
      const Gpu& gpu = plan.gpus[g];
      for (std::size_t p = 0; p < gpu.ports.size(); ++p) begin(ports_[first_port_[g] - workers_.size() + p], g);
      for (std::uint32_t s = 0; s < gpu.semaphores.size(); ++s) {
        for (std::uint32_t i = 0; i < gpu.semaphores[s]; ++i) device_[{g, s}].give(Knowledge{});
      }
      for (const std::size_t at : layout_.inputs(g)) {
        Cell& cell = cells_[at];
        cell.sum = {static_cast<std::uint32_t>(at)};
        cell.written = true;
        const std::uint32_t start = site_of({static_cast<std::uint32_t>(g), 0, -1, -1});
        cell.write = {static_cast<std::uint32_t>(first_call_ + g), 1, start, 0, 0, Grain::whole};
      }
    }
    for (std::size_t g = 0; g < plan.gpus.size(); ++g) {
      for (const ChannelType type : {ChannelType::memory, ChannelType::port}) {
        const auto& channels = plan.gpus[g].of(type);
        for (std::uint32_t c = 0; c < channels.size(); ++c) {
          ends_[{g, type, channels[c].peer, channels[c].ordinal}] = c;
        }
      }
    }
  }

  Outcome run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t w = 0; w < workers_.size(); ++w) {
        while (step(w)) moved = true;
      }
    }
    if (std::all_of(workers_.begin(), workers_.end(), [this](const Worker& w) { return ended(w); })) {
      end_of_call();
      result();
    } else {
      for (const Worker& worker : workers_) {
        if (!ended(worker)) blocked(worker);
      }
    }
    return std::move(outcome_);
  }

 private:
  // An agent starts with the knowledge that its own GPU's call has begun.
  void begin(Knowledge& knowledge, std::size_t gpu) {
    knowledge.visible = Clock(agents_);
    knowledge.over = Clock(agents_);
    knowledge.visible.set(first_call_ + gpu, 1);
    knowledge.over.set(first_call_ + gpu, 1);
  }

  const std::vector<Operation>& operations(const Worker& w) const {
    return plan_.gpus[w.gpu].blocks[w.block].operations;
  }
  bool ended(const Worker& w) const { return w.next == operations(w).size(); }
  std::uint32_t rounds(const Operation& pipeline) const { return pipeline.pipeline_chunks * layout_.cut().slices; }

  std::uint32_t site_of(const Site& site) {
    sites_.push_back(site);
    return static_cast<std::uint32_t>(sites_.size() - 1);
  }
  const Operation& operation(const Site& site) const {
    const Operation& op = plan_.gpus[site.gpu].blocks[site.block].operations[static_cast<std::size_t>(site.op)];
    return site.inner < 0 ? op : op.inner[static_cast<std::size_t>(site.inner)];
  }
  std::string name(const Site& site) const {
    if (site.op < 0) return fmt::format("the call of gpu {}", site.gpu);
    const std::string number = site.inner < 0 ? fmt::format("{}", site.op) : fmt::format("{}.{}", site.op, site.inner);
    return where(site.gpu, site.block, number, operation(site));
  }
  Site site(const Worker& w) const {
    const bool inside = operations(w)[w.next].type == OpType::pipeline;
    return {w.gpu, w.block, static_cast<std::int32_t>(w.next), inside ? static_cast<std::int32_t>(w.inner) : -1};
  }

  void fault(Fault::Kind kind, const Site& at, std::string what, std::string remedy, const std::string& key,
             bool after_call = false) {
    if (!told_.insert(key).second) return;
    if (outcome_.faults.size() == formats::Complaints::told) {
      ++outcome_.more;
      return;
    }
    Fault& added = outcome_.faults.emplace_back();
    added.kind = kind;
    added.after_call = after_call;
    if (at.op >= 0) {
      added.line = operation(at).line;
      added.col = operation(at).col;
    } else {
      added.line = plan_.gpus[at.gpu].line;
      added.col = plan_.gpus[at.gpu].col;
    }
    added.what = std::move(what);
    added.remedy = std::move(remedy);
  }

  // Runs one operation of a thread block. Returns false if the block must wait or has ended.
  bool step(std::size_t index) {
    Worker& w = workers_[index];
    if (ended(w)) return false;
    const Operation& at = operations(w)[w.next];
    if (at.type != OpType::pipeline) {
      if (!perform(index, at, std::nullopt)) return false;
      ++w.next;
      ++outcome_.operations;
      return true;
    }
    if (w.round == rounds(at)) {
      ++w.next;
      w.round = 0;
      return true;
    }
    if (!perform(index, at.inner[w.inner], w.round)) return false;
    ++outcome_.operations;
    if (++w.inner == at.inner.size()) {
      w.inner = 0;
      ++w.round;
    }
    return true;
  }

  // Lets the threads of the block meet at a barrier. From now on, each of them knows what any of them knew.
  void meet(Worker& w, std::size_t index) {
    for (const Knowledge& thread : w.threads) w.knowledge.join(thread);
    w.threads.clear();
    w.knowledge.join(w.from_packets);
    w.from_packets = {};
    w.knowledge.visible.set(index, w.time);
    w.knowledge.over.set(index, w.time);
  }

  Knowledge& thread(Worker& w, std::size_t number) {
    if (w.threads.size() <= number) w.threads.resize(number + 1);
    return w.threads[number];
  }
  Knowledge of_thread(const Worker& w, std::size_t number) const {
    Knowledge knowledge = w.knowledge;
    if (number < w.threads.size()) knowledge.join(w.threads[number]);
    return knowledge;
  }

  Knowledge& port(std::size_t gpu, std::uint32_t channel) {
    return ports_[first_port_[gpu] - workers_.size() + channel];
  }
  std::size_t port_agent(std::size_t gpu, std::uint32_t channel) const { return first_port_[gpu] + channel; }

  bool perform(std::size_t index, const Operation& op, std::optional<std::uint32_t> round) {
    Worker& w = workers_[index];
    switch (op.type) {
      case OpType::nop:
        meet(w, index);
        return true;
      case OpType::barrier:
        return barrier(index, op);
      case OpType::signal:
      case OpType::relaxed_signal:
        for (std::size_t i = 0; i < op.channels.size(); ++i) signal(w, op, i);
        return true;
      case OpType::wait:
      case OpType::relaxed_wait:
        return wait(w, op);
      case OpType::flush:
        for (std::size_t i = 0; i < op.channels.size(); ++i) thread(w, i).join(port(w.gpu, op.channels[i]));
        return true;
      case OpType::acquire:
        return acquire(w, op);
      case OpType::release:
        for (std::size_t i = 0; i < op.semaphores.size(); ++i) {
          device_[{w.gpu, op.semaphores[i]}].give(of_thread(w, i));
        }
        return true;
      case OpType::pipeline:
        return true;  // step() runs its inner operations
      default:
        return move(index, op, round);
    }
  }

  bool barrier(std::size_t index, const Operation& op) {
    Worker& w = workers_[index];
    if (w.at_barrier) return false;
    Barrier& barrier = barriers_[{w.gpu, op.barrier}];
    meet(w, index);
    barrier.knowledge.join(w.knowledge);
    w.at_barrier = true;
    barrier.arrived.push_back(index);
    if (barrier.arrived.size() < op.barrier_blocks) return false;
    const Barrier all = std::move(barrier);
    barrier = Barrier{};
    for (const std::size_t other : all.arrived) {
      workers_[other].knowledge.join(all.knowledge);
      workers_[other].at_barrier = false;
      if (other != index) advance(workers_[other]);
    }
    return true;
  }

  // Moves a thread block past the barrier at which it waited.
  void advance(Worker& w) {
    ++outcome_.operations;
    const Operation& at = operations(w)[w.next];
    if (at.type != OpType::pipeline) {
      ++w.next;
    } else if (++w.inner == at.inner.size()) {
      w.inner = 0;
      ++w.round;
    }
  }

  // Returns the semaphore of the peer that channel `number` of `gpu` raises; nothing if the peer has no such channel.
  std::optional<std::tuple<std::size_t, ChannelType, std::uint32_t>> far_end(std::size_t gpu, ChannelType type,
                                                                             std::uint32_t number) const {
    const Channel& channel = plan_.gpus[gpu].of(type)[number];
    const auto peer = static_cast<std::size_t>(channel.peer);
    const auto found = ends_.find({peer, type, static_cast<std::int32_t>(gpu), channel.ordinal});
    if (found == ends_.end()) return std::nullopt;
    return std::tuple(peer, type, found->second);
  }

  void signal(Worker& w, const Operation& op, std::size_t i) {
    const auto end = far_end(w.gpu, op.channel_type, op.channels[i]);
    Knowledge knowledge = of_thread(w, i);
    if (op.channel_type == ChannelType::port) {
      // The proxy carries out its requests in order. So the signal also conveys what the proxy knew before.
      Knowledge& proxy = port(w.gpu, op.channels[i]);
      proxy.join(knowledge);
      knowledge = proxy;
    }
    if (op.type == OpType::relaxed_signal) knowledge.visible = Clock();
    if (end) signals_[*end].give(knowledge);
  }

  bool wait(Worker& w, const Operation& op) {
    for (const std::uint32_t channel : op.channels) {
      const Semaphore& semaphore = signals_[{w.gpu, op.channel_type, channel}];
      if (semaphore.given.size() <= semaphore.taken) return false;
    }
    for (std::size_t i = 0; i < op.channels.size(); ++i) {
      Semaphore& semaphore = signals_[{w.gpu, op.channel_type, op.channels[i]}];
      if (semaphore.given.size() <= semaphore.taken) return true;  // a channel listed twice needs one signal only
      Knowledge knowledge = semaphore.given[semaphore.taken++];
      if (op.type == OpType::relaxed_wait) knowledge.visible = Clock();
      thread(w, i).join(knowledge);
    }
    return true;
  }

  bool acquire(Worker& w, const Operation& op) {
    for (const std::uint32_t id : op.semaphores) {
      const Semaphore& semaphore = device_[{w.gpu, id}];
      if (semaphore.given.size() <= semaphore.taken) return false;
    }
    for (std::size_t i = 0; i < op.semaphores.size(); ++i) {
      Semaphore& semaphore = device_[{w.gpu, op.semaphores[i]}];
      if (semaphore.given.size() <= semaphore.taken) return true;
      thread(w, i).join(semaphore.given[semaphore.taken++]);
    }
    return true;
  }

  // Returns the cells of an operand: one run, or one run for each member of a switch group.
  std::vector<std::vector<std::size_t>> runs(const Worker& w, const Operation& op, const Operand& operand,
                                             std::optional<std::uint32_t> round) const {
    std::vector<std::vector<std::size_t>> all;
    if (operand.place == Operand::Place::group) {
      for (const std::int32_t gpu : plan_.gpus[w.gpu].groups[operand.group].gpus) {
        all.push_back(layout_.cells(operand, static_cast<std::size_t>(gpu), op.part, op.parts, round));
      }
    } else {
      all.push_back(layout_.cells(operand, static_cast<std::size_t>(operand.gpu), op.part, op.parts, round));
    }
    return all;
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

  bool move(std::size_t index, const Operation& op, std::optional<std::uint32_t> round) {
    Worker& w = workers_[index];
    std::vector<std::vector<std::vector<std::size_t>>> from;
    for (const Operand& operand : op.sources) from.push_back(runs(w, op, operand, round));
    for (std::size_t s = 0; s < from.size(); ++s) {
      if (!op.sources[s].packets || !spins(op)) continue;
      for (const auto& run : from[s]) {
        for (const std::size_t cell : run) {
          if (cells_[cell].packet_writes == 0) return false;
        }
      }
    }
    const std::uint32_t at = site_of(site(w));
    const bool proxied = op.channel_type == ChannelType::port;
    ++w.time;
    if (pairs(op.type)) {
      for (std::size_t i = 0; i < op.sources.size(); ++i) {
        transfer(index, op, at, {from[i]}, {&op.sources[i]}, {&op.destinations[i]}, round,
                 proxied ? std::optional(i) : std::nullopt);
      }
    } else if (proxied) {  // rppkt: threads wait for the packets, then each channel's proxy puts them
      for (std::size_t i = 0; i < op.destinations.size(); ++i) {
        transfer(index, op, at, from, {&op.sources[0]}, {&op.destinations[i]}, round, i);
      }
    } else {
      std::vector<const Operand*> sources;
      std::vector<const Operand*> destinations;
      for (const Operand& operand : op.sources) sources.push_back(&operand);
      for (const Operand& operand : op.destinations) destinations.push_back(&operand);
      transfer(index, op, at, from, sources, destinations, round, std::nullopt);
    }
    if (op.type == OpType::put_signal || op.type == OpType::put_signal_flush) {
      for (std::size_t i = 0; i < op.channels.size(); ++i) {
        const Knowledge& proxy = port(w.gpu, op.channels[i]);
        if (const auto end = far_end(w.gpu, ChannelType::port, op.channels[i])) signals_[*end].give(proxy);
        if (op.type == OpType::put_signal_flush) thread(w, i).join(proxy);
      }
    }
    return true;
  }

  // Writes the sum of the sources to all destinations, cell by cell. If a proxy does this work, `channel` is the index
  // of its channel among the operation's channels; if the threads do it, `channel` is empty.
  void transfer(std::size_t index, const Operation& op, std::uint32_t at,
                const std::vector<std::vector<std::vector<std::size_t>>>& from,
                const std::vector<const Operand*>& sources, const std::vector<const Operand*>& destinations,
                std::optional<std::uint32_t> round, std::optional<std::size_t> channel) {
    Worker& w = workers_[index];
    Access access;
    access.agent = static_cast<std::uint32_t>(index);
    access.time = w.time;
    access.site = at;
    access.grain = of_packets(op.type) ? Grain::packet : Grain::vector;
    const Knowledge* known = &w.knowledge;
    Knowledge* proxy = nullptr;
    if (channel) {
      // The proxy learns what the requesting thread knows. It runs its own operations one after the other.
      proxy = &port(w.gpu, op.channels[*channel]);
      proxy->join(of_thread(w, *channel));
      const std::size_t agent = port_agent(w.gpu, op.channels[*channel]);
      access.agent = static_cast<std::uint32_t>(agent);
      access.time = proxy->visible.of(agent) + 1;
      access.grain = Grain::whole;
      known = proxy;
    }
    std::vector<std::vector<std::vector<std::size_t>>> to;
    for (const Operand* operand : destinations) to.push_back(runs(w, op, *operand, round));
    Knowledge learnt;  // from flags of packets
    const std::size_t length = from.front().front().size();
    access.length = static_cast<std::uint32_t>(length);
    for (std::size_t i = 0; i < length; ++i) {
      access.offset = static_cast<std::uint32_t>(i);
      std::vector<std::uint32_t> sum;
      Clock over;
      for (std::size_t s = 0; s < sources.size(); ++s) {
        for (const auto& run : from[s]) {
          const Clock packets = this->read(run[i], access, *known, over, sources[s]->packets && spins(op));
          over.join(packets);
          sum.insert(sum.end(), cells_[run[i]].sum.begin(), cells_[run[i]].sum.end());
        }
      }
      std::sort(sum.begin(), sum.end());
      if (sum.size() > most_terms) sum.resize(most_terms);
      learnt.over.join(over);
      for (std::size_t d = 0; d < destinations.size(); ++d) {
        for (const auto& run : to[d]) {
          this->write(run[i], access, *known, over, sum, destinations[d]->packets);
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

  static bool same_threads(const Access& a, const Access& b) {
    return a.agent == b.agent && a.grain == b.grain && a.grain != Grain::whole && a.offset == b.offset &&
           a.length == b.length;
  }
  // True if one proxy makes both accesses. A proxy runs its operations one after the other.
  bool by_same_proxy(const Access& a, const Access& b) const {
    return a.agent == b.agent && a.agent >= workers_.size();
  }
  bool is_before(const Access& earlier, const Access& later, const Clock& known) const {
    if (earlier.site == later.site) return earlier.offset == later.offset;  // else it overlaps itself
    return known.of(earlier.agent) >= earlier.time || same_threads(earlier, later) || by_same_proxy(earlier, later);
  }

  std::string place(std::size_t cell) const {
    return fmt::format("gpu {} {}", layout_.gpu_of(cell), layout_.name(cell));
  }

  // Reports the access if it uses a user's buffer of a GPU whose call may not have begun.
  void entered(std::size_t cell, const Access& access, const Knowledge& known, const Clock& over, const char* verb) {
    if (layout_.is_scratch(cell)) return;
    const std::size_t call = first_call_ + layout_.gpu_of(cell);
    if (known.over.of(call) > 0 || over.of(call) > 0) return;
    const Site& at = sites_[access.site];
    fault(Fault::Kind::race, at,
          fmt::format("race: {} {} {}, which may not have begun its call", name(at), verb, place(cell)),
          "first wait for a signal of that gpu", "enter " + name(at));
  }

  void conflict(const Access& earlier, const Access& later, std::size_t cell, const char* was, const char* is) {
    const Site& a = sites_[earlier.site];
    const Site& b = sites_[later.site];
    const bool own = a.gpu == b.gpu && a.block == b.block && earlier.agent == later.agent;
    fault(
        Fault::Kind::race, b,
        fmt::format("race: {} {} {}, which {} {}; nothing orders the two", name(b), is, place(cell), name(a), was),
        earlier.site == later.site ? "choose a source and a destination that do not overlap"
        : own
            ? "put a nop between them: threads of a block do not wait for each other"
            : "let the second wait for the first by a signal, semaphore or barrier, with nops between it and the data",
        fmt::format("{} {} {} {}", name(a), was, name(b), is));
  }

  // Records a read and reports its faults. Returns the accesses that the flag of a packet shows to be over; an empty
  // clock if the read takes no packet.
  Clock read(std::size_t index, const Access& access, const Knowledge& known, const Clock& over, bool packets) {
    Cell& cell = cells_[index];
    const Site& at = sites_[access.site];
    entered(index, access, known, over, "reads");
    if (!cell.written) {
      fault(Fault::Kind::unwritten, at, fmt::format("{} reads {}, which no operation wrote", name(at), place(index)),
            "write it first", "unwritten " + name(at));
    } else if (packets && cell.packet_writes == 1) {
      cell.reads.push_back(access);
      return cell.over;
    } else if (cell.write.agent < first_call_ && !is_before(cell.write, access, known.visible)) {
      conflict(cell.write, access, index, packets ? "writes again, with the same flag," : "writes", "reads");
    }
    cell.reads.push_back(access);
    return {};
  }

  void write(std::size_t index, const Access& access, const Knowledge& known, const Clock& over,
             const std::vector<std::uint32_t>& sum, bool packets) {
    Cell& cell = cells_[index];
    entered(index, access, known, over, "writes");
    // The user wrote the initial data before the call. entered() checks this case, so it is no conflict here.
    const bool initial = cell.written && cell.write.agent >= first_call_;
    if (cell.written && !initial && !is_before(cell.write, access, known.visible)) {
      conflict(cell.write, access, index, "writes", "writes");
    }
    for (const Access& read : cell.reads) {
      if (!is_before(read, access, known.over) && over.of(read.agent) < read.time) {
        conflict(read, access, index, "reads", "writes");
      }
    }
    cell.reads.clear();
    cell.written = true;
    cell.write = access;
    cell.sum = sum;
    cell.packet_writes += packets ? 1 : 0;
    if (packets) {
      cell.over = known.over;
      cell.over.join(over);
      cell.over.join(Clock(agents_));
      cell.over.set(access.agent, access.time);
    }
  }

  // When the call of a GPU ends, the user may read and overwrite the GPU's input and output. Reports accesses that may
  // not be over by then.
  void end_of_call() {
    std::vector<Knowledge> ends(plan_.gpus.size());
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      meet(workers_[i], i);
      ends[workers_[i].gpu].join(workers_[i].knowledge);
    }
    for (std::size_t g = 0; g < plan_.gpus.size(); ++g) {
      const auto [first, last] = layout_.user_cells(g);
      for (std::size_t c = first; c < last; ++c) {
        const Cell& cell = cells_[c];
        if (cell.written && cell.write.agent < first_call_ && ends[g].visible.of(cell.write.agent) < cell.write.time) {
          const Site& at = sites_[cell.write.site];
          const bool relaxed = ends[g].over.of(cell.write.agent) >= cell.write.time;
          fault(Fault::Kind::race, at,
                fmt::format("race: the call of gpu {} may end before what {} writes to {} has arrived{}", g, name(at),
                            place(c), relaxed ? ": only relaxed signals follow it, which do not order memory" : ""),
                fmt::format("add a signal{} after it that gpu {} waits for", relaxed ? " that is not relaxed" : "", g),
                "end " + name(at), true);
        }
        for (const Access& read : cell.reads) {
          if (ends[g].over.of(read.agent) >= read.time) continue;
          const Site& at = sites_[read.site];
          fault(Fault::Kind::race, at,
                fmt::format("race: the call of gpu {} may end, and its user overwrite {}, while {} still reads it", g,
                            place(c), name(at)),
                read.agent >= workers_.size() ? "add a flush: a put over a port continues after the operation"
                                              : fmt::format("add a signal after it that gpu {} waits for", g),
                "end read " + name(at), true);
        }
      }
    }
  }

  std::string terms(const std::vector<std::uint32_t>& sum) const {
    constexpr std::size_t shown = 6;
    if (sum.empty()) return "nothing";
    std::string out;
    for (std::size_t i = 0; i < std::min(sum.size(), shown); ++i) {
      out += (i > 0 ? " + " : "") + place(sum[i]);
      if (layout_.cut().slices > 1) out += fmt::format(" slice {}", layout_.slice_of(sum[i]));
    }
    if (sum.size() > shown) out += fmt::format(" + {} more", sum.size() - shown);
    return out;
  }

  void result() {
    for (std::size_t g = 0; g < plan_.gpus.size(); ++g) {
      const std::size_t slices = layout_.cut().slices;
      for (std::size_t chunk = 0; chunk * slices < layout_.outputs(g); ++chunk) {
        for (std::size_t slice = 0; slice < slices; ++slice) {
          const Cell& cell = cells_[layout_.output_cell(g, chunk * slices + slice)];
          const std::vector<std::uint32_t> expected = layout_.expected(g, chunk * slices + slice);
          if (cell.written && cell.sum == expected) continue;
          const Site last = cell.written ? sites_[cell.write.site] : Site{static_cast<std::uint32_t>(g), 0, -1, -1};
          fault(Fault::Kind::wrong, last,
                fmt::format("wrong result: output chunk {}{} of gpu {} is {}{}, not {}", chunk,
                            slices > 1 ? fmt::format(" slice {}", slice) : "", g, terms(cell.sum),
                            !cell.written ? ""
                            : last.op < 0 ? ", as it was at the start"
                                          : ", written by " + name(last),
                            terms(expected)),
                fmt::format("write what {} requires", msccl::to_string(plan_.collective)), fmt::format("wrong {}", g));
          break;
        }
      }
    }
  }

  // Returns the reason why no signal comes over this channel: the operation at which a thread block of the peer waits
  // instead of signalling, or that the peer has no such channel or has no more signals.
  std::string who_gives(std::size_t gpu, ChannelType type, std::uint32_t channel) const {
    const Channel& here = plan_.gpus[gpu].of(type)[channel];
    const auto peer = static_cast<std::size_t>(here.peer);
    const auto found = ends_.find({peer, type, static_cast<std::int32_t>(gpu), here.ordinal});
    if (found == ends_.end()) return fmt::format("gpu {} has no such channel", peer);
    for (const Worker& w : workers_) {
      if (w.gpu != peer || ended(w)) continue;
      for (std::size_t i = w.next; i < operations(w).size(); ++i) {
        const Operation& outer = operations(w)[i];
        const auto gives = [&, number = found->second](const Operation& op) {
          return (op.type == OpType::signal || op.type == OpType::relaxed_signal || op.type == OpType::put_signal ||
                  op.type == OpType::put_signal_flush) &&
                 op.channel_type == type && std::count(op.channels.begin(), op.channels.end(), number) > 0;
        };
        if (gives(outer) || std::any_of(outer.inner.begin(), outer.inner.end(), gives)) {
          return fmt::format("gpu {} tb {} would signal at op {}, but waits at {}", peer, w.block, i, name(site(w)));
        }
      }
    }
    return fmt::format("gpu {} does not signal any more", peer);
  }

  void blocked(const Worker& w) {
    const Site at = site(w);
    const Operation& op = operation(at);
    std::string what;
    switch (op.type) {
      case OpType::wait:
      case OpType::relaxed_wait:
        for (const std::uint32_t channel : op.channels) {
          const Semaphore& semaphore = signals_[{w.gpu, op.channel_type, channel}];
          if (semaphore.given.size() > semaphore.taken) continue;
          what = fmt::format("waits for signal {} of gpu {} on {} channel {}: {}", semaphore.taken + 1,
                             plan_.gpus[w.gpu].of(op.channel_type)[channel].peer, to_string(op.channel_type), channel,
                             who_gives(w.gpu, op.channel_type, channel));
          break;
        }
        break;
      case OpType::barrier: {
        const Barrier& barrier = barriers_[{w.gpu, op.barrier}];
        what = fmt::format("waits at barrier {}, which {} of {} thread blocks have reached", op.barrier,
                           barrier.arrived.size(), op.barrier_blocks);
        break;
      }
      case OpType::acquire:
        for (const std::uint32_t id : op.semaphores) {
          const Semaphore& semaphore = device_[{w.gpu, id}];
          if (semaphore.given.size() > semaphore.taken) continue;
          what = fmt::format("waits for semaphore {}, which was released {} times and acquired as often", id,
                             semaphore.given.size());
          break;
        }
        break;
      default:
        what = "waits for packets " + missing_packets(w, op);
        break;
    }
    fault(Fault::Kind::deadlock, at, fmt::format("deadlock: {} {}", name(at), what),
          "find an order in which every wait is met", "deadlock " + name(at));
  }

  std::string missing_packets(const Worker& w, const Operation& op) const {
    const bool inside = operations(w)[w.next].type == OpType::pipeline;
    for (const Operand& operand : op.sources) {
      if (!operand.packets) continue;
      for (const auto& run : runs(w, op, operand, inside ? std::optional(w.round) : std::nullopt)) {
        for (const std::size_t cell : run) {
          if (cells_[cell].packet_writes == 0) return fmt::format("in {}, which no operation sent", place(cell));
        }
      }
    }
    return "that no operation sent";
  }

  const Plan& plan_;
  Layout layout_;
  std::vector<Cell> cells_;
  std::vector<Worker> workers_;
  std::vector<Knowledge> ports_;
  std::vector<std::size_t> first_port_;  // first agent of each GPU's port channels
  std::size_t first_call_ = 0;           // first of the agents that stand for the calls of the GPUs
  std::size_t agents_ = 0;
  std::map<std::tuple<std::size_t, ChannelType, std::int32_t, std::uint32_t>, std::uint32_t> ends_;
  std::map<std::tuple<std::size_t, ChannelType, std::uint32_t>, Semaphore> signals_;  // by waiting end of channel
  std::map<std::pair<std::size_t, std::uint32_t>, Semaphore> device_;
  std::map<std::pair<std::size_t, std::uint32_t>, Barrier> barriers_;
  std::vector<Site> sites_;
  std::set<std::string> told_;
  Outcome outcome_;
};

}  // namespace

double work_of(const Plan& plan, Cut cut) {
  auto agents = static_cast<double>(plan.gpus.size());
  for (const Gpu& gpu : plan.gpus) agents += static_cast<double>(gpu.blocks.size() + gpu.ports.size());
  double work = 0;
  const auto operands = [&](const Gpu& gpu, const Operation& op, const std::vector<Operand>& list, double slices) {
    for (const Operand& operand : list) {
      const bool group = operand.place == Operand::Place::group;
      const double members = group ? static_cast<double>(gpu.groups[operand.group].gpus.size()) : 1;
      // A sum has up to one term per GPU. A packet carries a clock, which has an entry for each agent.
      const double each = operand.packets ? agents : static_cast<double>(plan.gpus.size());
      work += members * (slices * operand.count / op.parts + 1) * each;
    }
  };
  const auto add = [&](const Gpu& gpu, const Operation& op, double rounds, double slices) {
    work += rounds * agents * static_cast<double>(1 + op.channels.size() + op.semaphores.size());
    operands(gpu, op, op.sources, slices);
    operands(gpu, op, op.destinations, slices);
  };
  for (const Gpu& gpu : plan.gpus) {
    constexpr double cell = 200;
    work += cell * (static_cast<double>(gpu.input_chunks) + gpu.output_chunks) * cut.slices;
    work += cell * static_cast<double>(gpu.scratch_chunks) * cut.scratch_slots;
    for (const std::uint32_t value : gpu.semaphores) work += value * agents;
    for (const Block& block : gpu.blocks) {
      for (const Operation& op : block.operations) {
        add(gpu, op, 1, cut.slices);
        for (const Operation& inner : op.inner) {
          add(gpu, inner, static_cast<double>(op.pipeline_chunks) * cut.slices, cut.slices);
        }
      }
    }
  }
  return work;
}

Outcome execute(const Plan& plan, Cut cut) { return Execution(plan, cut).run(); }

}  // namespace moire::mscclpp
