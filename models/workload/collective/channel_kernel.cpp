// Over 400 lines: one class generates the phases of all steps, of those that use FIFOs and of those that do not.
#include "models/workload/collective/channel_kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/workload/collective/relays.hpp"
#include "models/workload/collective/shares.hpp"
#include "models/workload/collective/spread.hpp"

namespace moire::collective {

namespace {

using libraries::ChannelsSpec;
using libraries::ProtocolSpec;
using program::Phase;
using program::PhaseShape;

// True if the step is part of another step's loop over the same data. If the step receives, that loop adds the received
// data to a sum in registers. If the step sends, that loop sends data that it holds in registers. So the step has no
// overhead, and neither loads nor stores the rank's own memory.
bool is_part(const Step& step) { return step.effort == ir::Effort::nothing; }

constexpr std::uint32_t first_of_parts = 2 * ir::ops + ir::most_sources - 1;
constexpr std::uint32_t first_cached = first_of_parts + 3;

// Returns the index of a step's shape in a kernel with FIFOs. `staged`: the step sends to a staging buffer. The shapes
// are, in this order: one for each op; one for each op with a staging buffer; reduces of 2, 3, ... sources; steps in
// another step's loop (is_part) that receive, that send, and that send to a staging buffer; and all of these again for
// steps whose own data is in the L2. A kernel of one-sided steps
// has one shape per move instead, and does not use this function.
std::uint16_t shape_number(const Step& step, bool staged) {
  std::uint32_t number = static_cast<std::uint32_t>(step.op) + (staged ? ir::ops : 0);
  if (is_part(step))
    number = first_of_parts + (effect(step.op).receives ? 0 : staged ? 2 : 1);
  else if (step.op == Op::reduce && step.sources > 1)
    number = 2 * ir::ops + step.sources - 2;
  return static_cast<std::uint16_t>(number + (step.cached ? first_cached : 0));
}

constexpr std::array<const char*, ir::ops> names = {"nothing",
                                                    "copy",
                                                    "reduce",
                                                    "send",
                                                    "copy, send",
                                                    "receive",
                                                    "receive, send",
                                                    "receive, copy, send",
                                                    "receive, reduce, send",
                                                    "receive, reduce, copy",
                                                    "receive, reduce, copy, send",
                                                    "encode",
                                                    "decode"};

class ChannelKernel final : public program::KernelBody {
 public:
  struct Terms {
    std::shared_ptr<const ChannelProgram> steps;
    part::Reach reach;
    Relays relays;
    std::uint32_t slices = 1;
    std::uint32_t slots = 1;
    double smallest_slice = 0;
    double wire = 1;
    double unit = 1;  // bytes of data in a unit of work
    bool lines = false;
    Time setup;
    Time connection_setup;
    Time preparation;
    Time overhead;
    std::optional<Time> posting;  // from the end of a slice until its flag leaves; absent: at once
    Time posting_beside;
    Time empty_slice;
    Time local_overhead;
    // Bytes that all threads load at once, bytes that a wavefront takes at a time (0: not known), and the latencies of
    // a load from the memory and from the cache.
    double round = 1, turn = 0;
    Time memory_latency, cache_latency;
    Time first_send;
    std::array<Time, ir::efforts> effort{};
    // For each move of one-sided steps: bytes that all threads load in one round, and the latency of these loads.
    struct Round {
      double bytes = 1;
      Time latency;
      Time seen;  // the part of the latency that a poll already includes, because polling for packets loads them
    };
    std::vector<Round> rounds;
    Time host;  // from a request to the host proxy until the proxy has issued the request
    struct Codec {
      double unit = 1;  // plain bytes of a unit of work
      Time prepare;
    } encode, decode;
    double spread = 0;
    program::FlagBlock
        filled;  // per connection: number of slices arrived; with lines, slices begun plus slices arrived
    program::FlagBlock credit;  // per connection: number of slices that the receiver has emptied
    program::FlagBlock order;   // semaphores of the rank
  };

  explicit ChannelKernel(Terms terms) : terms_(std::move(terms)), moves_(terms_.steps->moves()) {}

  std::int64_t workgroups(Rank rank) const override { return terms_.steps->channels_of(rank); }
  std::uint32_t strands(Rank) const override { return terms_.steps->strands(); }
  bool turns(Rank by) const override { return by % terms_.reach.gpus_per_node() == 0 && terms_.steps->turns(by); }
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    return strand_phase(rank, workgroup, 0, step, phase);
  }

  bool strand_phase(Rank rank, std::int64_t workgroup, std::uint32_t strand, std::uint32_t number,
                    Phase& phase) const override {
    if (number == 0) {
      phase.kind = Phase::Kind::delay;
      phase.instructions = true;
      phase.duration = terms_.setup;
      if (terms_.steps->connected(rank, static_cast<std::uint32_t>(workgroup)))
        phase.duration = phase.duration + terms_.connection_setup;
      return true;
    }
    // Most steps use only some of their parts, and some steps use none. Parts that do nothing are skipped, up to the
    // end of the program.
    std::uint32_t at = number - 1;
    const std::uint32_t per_step = parts * terms_.slices;
    for (std::uint32_t which = at / per_step;; ++which) {
      Step step;
      if (!terms_.steps->step(rank, static_cast<std::uint32_t>(workgroup), strand, which, step)) break;
      for (const std::uint32_t first = which * per_step; at - first < per_step; ++at) {
        one_part(rank, step, workgroup, strand, at, at - first, phase);
        if (phase.kind == Phase::Kind::nothing) continue;
        phase.skipped = at + 1 - number;
        return true;
      }
    }
    if (at + 1 == number) return false;
    phase.skipped = at - number;
    return true;
  }

 private:
  enum Part : std::uint32_t {
    prepare,
    wait_credit,
    wait_data,
    think,
    begun,
    move,
    wait_end,
    tell_data,
    tell_credit,
    parts
  };

  // Returns the bytes of a slice. If a chunk is too small for all its slices, the last slices are empty.
  double bytes_of(const Step& step, std::uint32_t slice) const {
    const double whole = std::max(std::ceil(step.bytes / terms_.slices), terms_.smallest_slice);
    return std::clamp(step.bytes - slice * whole, 0.0, whole);
  }

  // Writes one part of a step to `phase`, which stays Kind::nothing if the part has nothing to do. `number` is the
  // index of the part among the parts of all steps of the strand, `of_step` its index in the step.
  void one_part(Rank rank, const Step& step, std::int64_t workgroup, std::uint32_t strand, std::uint32_t number,
                std::uint32_t of_step, Phase& phase) const {
    const std::uint32_t part = of_step % parts;
    if (!terms_.lines && (part == begun || part == wait_end)) return;
    const std::uint32_t slice = of_step / parts;
    if (step.op == Op::none || step.op == Op::one_sided || step.op == Op::hand_over) {
      if (slice == 0) without_fifo(rank, step, part, phase);
      return;
    }
    if (is_coding(step.op)) {
      if (slice == 0) code(rank, step, part, phase);
      return;
    }
    const ir::Effect needs = effect(step.op);
    if (needs.receives) {
      receive(rank, step, slice, part, phase);
      if (phase.kind != Phase::Kind::nothing) return;
    }
    if (needs.sends) {
      send(rank, step, slice, part, phase);
      if (phase.kind != Phase::Kind::nothing) return;
    }
    if (part != prepare && part != think && part != move) return;
    const double bytes = bytes_of(step, slice);
    if (bytes <= 0) {
      if (part == think && (needs.receives || needs.sends)) {
        phase.kind = Phase::Kind::delay;
        phase.instructions = true;
        phase.duration = varied(terms_.empty_slice, workgroup, strand, number);
      }
      return;
    }
    if (part == think && !needs.receives && !needs.sends) {
      phase.kind = Phase::Kind::delay;
      phase.duration = slice == 0 ? terms_.local_overhead + idle_in_sums(step) : Time{};
    } else if (part == prepare || part == think) {
      const Time overhead = part == prepare ? terms_.preparation : terms_.overhead;
      const bool first_send = part == prepare && slice == 0 && needs.sends && step.sent == 0;
      const Time loads = first_send                       ? terms_.first_send
                         : part == think && !terms_.lines ? idle_in_turns(step, bytes)
                                                          : Time{};
      if (overhead.ps + loads.ps == 0 || is_part(step) || !(needs.receives || needs.sends)) return;
      phase.kind = Phase::Kind::delay;
      phase.instructions = true;
      phase.duration = varied(overhead, workgroup, strand, number) + loads;
    } else if (part == move) {
      phase.kind = Phase::Kind::work;
      const Rank relay = needs.sends ? terms_.relays.of_channel(rank, step.to) : program::no_rank;
      phase.shape = shape_number(step, needs.sends && relay == program::no_rank && !reaches(rank, step.to));
      phase.peer = relay != program::no_rank ? relay : needs.sends ? step.to : rank;
      phase.amount = bytes / terms_.unit;
    }
  }

  // Returns the delay that makes the last of `rounds` rounds of loads as long as a full round, because a round takes
  // the latency of its loads even if some threads have nothing to load.
  static Time idle_in_last(double rounds, Time latency) {
    return Time{std::llround((std::ceil(rounds) - rounds) * static_cast<double>(latency.ps))};
  }

  // Returns this delay for a copy or sum within the GPU. Threads load the sources of a sum one after the other, the
  // first one with the destination.
  Time idle_in_sums(const Step& step) const {
    if (terms_.turn > 0) return idle_in_turns(step, step.bytes) * step.sources;
    if (step.sources < 2 || terms_.lines) return {};
    return idle_in_last(step.bytes / terms_.round, terms_.memory_latency * (step.sources - 1));
  }

  // Returns the delay that makes a loop take the latency of its loads in each round. Wavefronts take whole turns, and
  // then all together the bytes that do not fill a turn. Data that have come over a FIFO are still in the cache.
  Time idle_in_turns(const Step& step, double bytes) const {
    if (terms_.turn == 0) return {};
    const double turns = std::floor(bytes / terms_.turn);
    const double rounds = std::ceil(turns * terms_.turn / terms_.round) + (bytes > turns * terms_.turn ? 1 : 0);
    const Time latency = effect(step.op).loads() > 0 && !step.cached ? terms_.memory_latency : terms_.cache_latency;
    return Time{std::llround((rounds - bytes / terms_.round) * static_cast<double>(latency.ps))};
  }

  // A codec works on blocks of its own size, so a step that encodes or decodes is not divided into slices.
  void code(Rank rank, const Step& step, std::uint32_t part, Phase& phase) const {
    const Terms::Codec& codec = step.op == Op::encode ? terms_.encode : terms_.decode;
    if (part == think) {
      phase.kind = Phase::Kind::delay;
      phase.duration = terms_.local_overhead + codec.prepare;
    } else if (part == move) {
      phase.kind = Phase::Kind::work;
      phase.shape = static_cast<std::uint16_t>(step.op);
      phase.peer = rank;
      phase.amount = std::ceil(step.bytes / codec.unit);
    }
  }

  // Returns the varied overhead of a slice. It deviates by the same percentage whether the slice is empty or full.
  Time varied(Time overhead, std::int64_t workgroup, std::uint32_t strand, std::uint32_t number) const {
    return spread_out(overhead, terms_.spread, static_cast<std::uint32_t>(workgroup), strand, number / parts);
  }

  bool reaches(Rank a, Rank b) const { return terms_.reach.stores(a, b); }
  // True if the receiver sees every line as it arrives, and so works at the same time as the sender.
  bool line_by_line(Rank a, Rank b) const { return terms_.lines && reaches(a, b); }

  // Raises a flag at `to`. A credit returns along the path of its data, so it passes the same relay.
  void tell(Rank from, Rank to, program::FlagRef flag, double bytes, std::uint32_t queue_pair, Phase& phase,
            Rank relay = program::no_rank) const {
    phase.kind = reaches(from, to) ? Phase::Kind::signal : Phase::Kind::put;
    phase.proxied = true;
    phase.peer = to;
    phase.relay = relay;
    phase.bytes = Bytes{bytes > 0 ? std::ceil(bytes) : flag_bytes};  // whole bytes, so that as many arrive as were sent
    phase.queue_pair = queue_pair;
    phase.flag = flag;
  }

  // Each connection has two queue pairs, so that credits for incoming data do not queue behind outgoing data.
  static std::uint32_t data(std::uint32_t connection) { return 2 * connection; }
  static std::uint32_t credits(std::uint32_t connection) { return 2 * connection + 1; }

  static void wait(program::FlagRef flag, std::int64_t target, Phase& phase) {
    phase.kind = Phase::Kind::wait;
    phase.flag = flag;
    phase.target = target;
  }

  program::FlagRef semaphore(Rank rank, const Step& step, std::uint32_t number) const {
    return terms_.order.at(step.far ? step.to : rank, number);
  }

  void without_fifo(Rank rank, const Step& step, std::uint32_t part, Phase& phase) const {
    if (part == wait_data && step.wait != ir::no_semaphore) {
      wait(semaphore(rank, step, step.wait), step.wait_count, phase);
    } else if (part == think && !step.more) {
      phase.kind = Phase::Kind::delay;
      phase.duration = terms_.effort[static_cast<std::size_t>(step.effort)];
      if (step.op == Op::one_sided) phase.duration = phase.duration + last_round(step);
    } else if (part == move && step.op == Op::one_sided) {
      phase.kind = Phase::Kind::work;
      phase.shape = static_cast<std::uint16_t>(step.move);
      phase.peer = moves_[step.move].peer_loads > 0 ? step.from : step.to;
      phase.amount = step.bytes;
    } else if (part == tell_data && step.op == Op::hand_over) {
      tell(rank, step.to, semaphore(rank, step, step.raise), step.bytes, step.out, phase);
      phase.kind = Phase::Kind::put;
      phase.duration = terms_.host;
    } else if (part == tell_data && step.raise != ir::no_semaphore) {
      phase.kind = Phase::Kind::signal;
      phase.peer = step.far ? step.to : rank;
      phase.flag = semaphore(rank, step, step.raise);
    }
  }

  // Returns this delay for a one-sided step. The part of the latency that a poll already includes is subtracted.
  Time last_round(const Step& step) const {
    const Terms::Round& round = terms_.rounds[step.move];
    return std::max(idle_in_last(step.bytes / round.bytes, round.latency), round.seen) - round.seen;
  }

  void receive(Rank rank, const Step& step, std::uint32_t slice, std::uint32_t part, Phase& phase) const {
    const std::int64_t before = std::int64_t{step.received} * terms_.slices + slice;
    if (part == wait_data) {
      wait(terms_.filled.at(rank, step.in), line_by_line(step.from, rank) ? 2 * before + 1 : before + 1, phase);
    } else if (part == wait_end && line_by_line(step.from, rank) && bytes_of(step, slice) > 0) {
      wait(terms_.filled.at(rank, step.in), 2 * before + 2, phase);
    } else if (part == tell_credit) {
      tell(rank, step.from, terms_.credit.at(step.from, step.in), 0, credits(step.in), phase,
           terms_.relays.of_channel(step.from, rank));
    }
  }

  void send(Rank rank, const Step& step, std::uint32_t slice, std::uint32_t part, Phase& phase) const {
    const std::int64_t before = std::int64_t{step.sent} * terms_.slices + slice;
    if (part == wait_credit) {
      if (before >= terms_.slots) wait(terms_.credit.at(rank, step.out), before - terms_.slots + 1, phase);
    } else if ((part == begun && line_by_line(rank, step.to)) || part == tell_data) {
      const double bytes = bytes_of(step, slice);
      tell(rank, step.to, terms_.filled.at(step.to, step.out), bytes * terms_.wire, data(step.out), phase,
           terms_.relays.of_channel(rank, step.to));
      if (phase.kind != Phase::Kind::signal || part == begun || !terms_.posting) return;
      phase.in_turn = true;
      const bool more = slice + 1 < terms_.slices && bytes_of(step, slice + 1) > 0;  // the next slice has data, too
      if (bytes > 0) phase.duration = *terms_.posting + (more ? terms_.posting_beside : Time{});
    }
  }

  Terms terms_;
  std::vector<ir::Move> moves_;
};

// Returns a name such as "load x2, store, store to peer".
std::string name_of(const ir::Move& move) {
  std::string name;
  const auto add = [&name](std::uint32_t count, const char* what) {
    if (count == 0) return;
    if (!name.empty()) name += ", ";
    name += what;
    if (count > 1) name += " x" + std::to_string(count);
  };
  add(move.peer_loads, "load from peer");
  add(move.packet_loads, "load packets");
  add(move.loads, "load");
  add(move.stores, "store");
  add(move.packet_stores, "store packets");
  add(move.peer_stores, "store to peer");
  add(move.peer_packet_stores, "store packets to peer");
  return name;
}

// Returns the demands of a step for `unit` bytes of data. `staged`: the step sends to a staging buffer, as between
// nodes. `part`: the step is part of another step's loop. `cached`: what the step loads from the rank's own memory is
// in the L2.
PhaseShape shape_of(Op op, std::uint32_t sources, bool staged, bool part, bool cached, const ChannelsSpec& channels,
                    const ProtocolSpec& protocol, Time poll, double unit, double element_bytes, std::uint32_t strands) {
  const ir::Effect needs = effect(op);
  const int loads = needs.loads() + static_cast<int>(sources) - 1;
  const double from_fifo = needs.receives ? protocol.wire : 0;
  const double to_fifo = needs.sends ? protocol.wire : 0;
  PhaseShape shape;
  shape.name = names[static_cast<std::size_t>(op)];
  if (staged) shape.name += " (staged)";
  if (cached) shape.name += " (cached)";
  shape.read = unit * (loads + from_fifo);
  shape.write = unit * (needs.stores() + (staged ? to_fifo : 0));
  shape.peer_write = staged ? 0 : unit * to_fifo;
  shape.peer_write_cost = channels.link_cost;
  shape.issue_cost = channels.copy_cost;
  if (needs.reduces) shape.flop = unit * sources / element_bytes;
  const double in_flight = protocol.bytes_in_flight.value / strands;
  shape.in_flight = Bytes{in_flight};
  if (part) {
    shape.name += " (in the same loop)";
    shape.read = unit * from_fifo;
    shape.write = staged ? unit * to_fifo : 0;
  }
  // The first source of a sum is loaded together with the destination, the others one after the other.
  if (op == Op::reduce) shape.in_flight = Bytes{in_flight * loads / sources};
  // Lines that have arrived over a FIFO are still in the cache. The FIFOs of protocols without lines are larger than
  // it.
  const double missed = (part || cached ? 0 : loads) + (protocol.lines ? 0 : from_fifo);
  if (shape.read > 0) shape.read_miss = missed * unit / shape.read;
  shape.pipelined = false;  // the library's loops load a batch, wait for the batch and store it
  shape.active_threads = std::max<std::int64_t>(1, protocol.threads / strands);
  if (protocol.lines) {
    const double loaded = std::max(1e-9, shape.read / unit);
    // Sources are loaded one after the other, so the lines of only one source are in flight.
    shape.in_flight = Bytes{in_flight * (part && !needs.receives ? to_fifo : loaded) / sources};
    if (!part) shape.pause = protocol.batch_pause;
    // A line is polled until it has come, so it is seen half a poll late on average.
    if (!part && needs.receives) shape.pause = shape.pause + Time::from_seconds(poll.seconds() / 2);
  }
  return shape;
}

Time peer_load_latency(const machine::GpuSpec& gpu) {
  return gpu.port.load_latency.value_or(gpu.port.store_latency * 2);
}

// Returns the sum of the latencies of a round's loads, which a thread issues one after the other.
Time latency_of(const ir::Move& move, const machine::GpuSpec& gpu) {
  return gpu.hbm.unloaded_latency * move.loads + gpu.l2.hit_latency * move.packet_loads +
         peer_load_latency(gpu) * move.peer_loads;
}

// Returns the demands of a move for one byte of data. Every thread loads a vector, waits for it, loads the next
// operand, and stores at the end. Threads do not wait for each other. Packets that have arrived are in the cache.
PhaseShape shape_of(const ir::Move& move, const libraries::PlanLibrarySpec& library, const machine::GpuSpec& gpu,
                    std::int64_t threads, double element_bytes) {
  const double round = static_cast<double>(threads) * (move.of_packets() ? library.packet_data : library.vector).value;
  const auto packets = [&library](std::uint32_t count) { return count * library.packet_wire; };
  PhaseShape shape;
  shape.name = name_of(move);
  shape.read = move.loads + packets(move.packet_loads);
  shape.write = move.stores + packets(move.packet_stores);
  shape.peer_read = move.peer_loads;
  shape.peer_write = move.peer_stores + packets(move.peer_packet_stores);
  if (shape.read > 0) shape.read_miss = move.loads / shape.read;
  shape.flop = move.sums / element_bytes;
  shape.threads = shape.active_threads = threads;
  // The mean over time of the bytes in flight. With this value, a round takes the sum of the latencies of its loads.
  const double latency = latency_of(move, gpu).seconds();
  const double waiting = move.loads * gpu.hbm.unloaded_latency.seconds() +
                         packets(move.packet_loads) * gpu.l2.hit_latency.seconds() +
                         move.peer_loads * peer_load_latency(gpu).seconds();
  shape.in_flight = latency > 0 ? Bytes{round * waiting / latency} : gpu.port.store_window_per_cu;
  return shape;
}

// Appends the kernel with its flags and its body. All kinds of steps use the same body.
void append(builder::Builder& build, program::Kernel kernel, ChannelKernel::Terms terms,
            std::shared_ptr<const ChannelProgram> steps) {
  terms.reach = build.reach();
  const auto flags = [&](const char* what, std::uint32_t count, auto other_end, bool in_order) {
    return build.program.add_flags({kernel.name + what, count,
                                    [steps, other_end, kernel_name = kernel.name](Rank rank, std::uint32_t number) {
                                      return std::pair{(steps.get()->*other_end)(rank, number), kernel_name};
                                    },
                                    in_order});
  };
  // A connection has one sender and one receiver; a semaphore may have several raisers.
  terms.filled = flags(".filled", steps->connections(), &ChannelProgram::sender, true);
  terms.credit = flags(".credit", steps->connections(), &ChannelProgram::receiver, true);
  terms.order = flags(".order", steps->semaphores(), &ChannelProgram::raiser, false);
  terms.steps = std::move(steps);
  kernel.body = std::make_shared<ChannelKernel>(std::move(terms));
  build.queue.operations.emplace_back(std::move(kernel));
}

}  // namespace

program::WorkgroupResources resources_of(const libraries::LibrarySpec& library, const machine::GpuSpec& gpu,
                                         std::int64_t threads, std::int64_t workgroups) {
  program::WorkgroupResources made;
  made.threads = threads;
  made.registers_per_thread = library.registers_per_thread;
  made.lds = std::min(library.lds, gpu.compute.lds_per_cu);
  if (workgroups % library.cluster == 0 && library.cluster <= gpu.compute.cluster_max) made.cluster = library.cluster;
  return made;
}

program::WorkgroupResources resources_of(const libraries::PlanLibrarySpec& library, const machine::GpuSpec& gpu,
                                         std::int64_t threads) {
  program::WorkgroupResources made;
  made.threads = threads;
  made.registers_per_thread = library.registers_per_thread;
  made.lds = std::min(library.lds, gpu.compute.lds_per_cu);
  return made;
}

Coding coding_of(const codec::CodecSpec& codec, const machine::GpuSpec& gpu,
                 const program::WorkgroupResources& kernel) {
  Coding made;
  made.encode = inside(codec, codec::Work::compress, codec.mean_ratio(), gpu, kernel);
  made.decode = inside(codec, codec::Work::decompress, codec.mean_ratio(), gpu, made.encode.resources);
  return made;
}

void append_channel_kernel(builder::Builder& build, std::shared_ptr<const ChannelProgram> steps,
                           const libraries::LibrarySpec& library, const ProtocolSpec& protocol, double element_bytes,
                           const std::string& name, const Coding* coding) {
  const ChannelsSpec& channels = *library.channels;
  program::Kernel kernel;
  kernel.name = build.unique(name);
  kernel.resources =
      coding ? coding->resources() : resources_of(library, build.gpu(), protocol.threads, steps->channels());

  ChannelKernel::Terms terms;
  terms.relays = Relays(library, build.system.node);
  terms.slices = static_cast<std::uint32_t>(protocol.slices);
  terms.slots = static_cast<std::uint32_t>(protocol.slots);
  terms.smallest_slice = protocol.smallest_slice.value;
  terms.wire = protocol.wire;
  terms.lines = protocol.lines;
  // With lines a unit is a whole batch, because the pause per byte would not be a whole number of picoseconds.
  terms.unit = protocol.lines ? protocol.bytes_in_flight.value / steps->strands() : 1;
  terms.setup = channels.setup;
  terms.connection_setup = channels.connection_setup;
  terms.preparation = protocol.preparation;
  terms.overhead = protocol.step_overhead;
  if (protocol.posting) terms.posting = build.gpu().port.fence + build.gpu().port.store_return + *protocol.posting;
  terms.posting_beside = protocol.posting_beside;
  terms.empty_slice = protocol.empty_slice;
  terms.local_overhead = channels.local_overhead;
  terms.round = protocol.bytes_in_flight.value / steps->strands();
  terms.turn = protocol.turn.value;
  terms.memory_latency = build.gpu().hbm.unloaded_latency;
  terms.cache_latency = build.gpu().l2.hit_latency;
  terms.first_send = terms.memory_latency * channels.first_send_loads;
  terms.effort[static_cast<std::size_t>(ir::Effort::order)] = channels.order_overhead;
  terms.spread = protocol.step_spread;
  for (const bool cached : {false, true}) {
    const auto add_shape = [&](Op op, std::uint32_t sources, bool staged, bool part = false) {
      kernel.shapes.push_back(shape_of(op, sources, staged, part, cached, channels, protocol,
                                       build.gpu().l2.hit_latency, terms.unit, element_bytes, steps->strands()));
    };
    for (const bool staged : {false, true}) {
      for (std::uint32_t op = 0; op < ir::ops; ++op) add_shape(static_cast<Op>(op), 1, staged);
    }
    for (std::uint32_t sources = 2; sources <= ir::most_sources; ++sources) add_shape(Op::reduce, sources, false);
    add_shape(Op::recv_reduce_copy, 1, false, true);
    for (const bool staged : {false, true}) add_shape(Op::send, 1, staged, true);
  }
  if (coding) {
    const auto take = [&](Op op, ChannelKernel::Terms::Codec& codec, const codec::Inside& inside) {
      program::PhaseShape& shape = kernel.shapes[static_cast<std::size_t>(op)];
      shape = inside.shape;
      shape.name = names[static_cast<std::size_t>(op)];
      codec = {inside.unit, inside.prepare};
    };
    take(Op::encode, terms.encode, coding->encode);
    take(Op::decode, terms.decode, coding->decode);
  }
  append(build, std::move(kernel), std::move(terms), std::move(steps));
}

void append_plan_kernel(builder::Builder& build, std::shared_ptr<const ChannelProgram> steps,
                        const libraries::PlanLibrarySpec& library, std::int64_t threads, double element_bytes,
                        const std::string& name) {
  const machine::GpuSpec& gpu = build.gpu();
  program::Kernel kernel;
  kernel.name = build.unique(name);
  kernel.resources = resources_of(library, gpu, threads);
  ChannelKernel::Terms terms;
  terms.setup = library.setup;
  const auto effort = [&](ir::Effort what) -> Time& { return terms.effort[static_cast<std::size_t>(what)]; };
  effort(ir::Effort::operation) = library.operation;
  effort(ir::Effort::meet) = library.operation + library.meet;
  effort(ir::Effort::fence) = library.operation + library.fence;
  effort(ir::Effort::expect) = library.operation + library.expect;
  terms.host = library.proxy_latency + library.copy_call;
  for (const ir::Move& move : steps->moves()) {
    kernel.shapes.push_back(shape_of(move, library, gpu, threads, element_bytes));
    const Bytes each = move.of_packets() ? library.packet_data : library.vector;
    terms.rounds.push_back({static_cast<double>(threads) * each.value, latency_of(move, gpu),
                            move.packet_loads > 0 ? gpu.l2.hit_latency : Time{}});
  }
  append(build, std::move(kernel), std::move(terms), std::move(steps));
}

}  // namespace moire::collective
