#include "models/workload/collective/channel_kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace moire::collective {

namespace {

using libraries::ChannelsSpec;
using libraries::ProtocolSpec;
using program::Phase;
using program::PhaseShape;

// Shapes: of each op, of each op whose data goes to a staging buffer, of sums of 2 and more sources.
std::uint16_t shape_number(const Step& step, bool staged) {
  if (step.op == Op::reduce && step.sources > 1) return static_cast<std::uint16_t>(2 * ops + step.sources - 2);
  return static_cast<std::uint16_t>(static_cast<std::uint32_t>(step.op) + (staged ? ops : 0));
}

constexpr double credit_bytes = 8;  // the receiver's head pointer

constexpr std::array<const char*, ops> names = {"nothing",
                                                "copy",
                                                "reduce",
                                                "send",
                                                "copy, send",
                                                "receive",
                                                "receive, send",
                                                "receive, copy, send",
                                                "receive, reduce, send",
                                                "receive, reduce, copy",
                                                "receive, reduce, copy, send"};

class ChannelKernel final : public program::KernelBody {
 public:
  struct Plan {
    std::shared_ptr<const ChannelProgram> steps;
    Rank gpus_per_node = 1;
    bool node_stores = false;
    std::uint32_t slices = 1;
    std::uint32_t slots = 1;
    double smallest_slice = 0;
    double wire = 1;
    double unit = 1;  // bytes of data in a unit of work
    bool lines = false;
    Time setup;
    Time overhead;
    Time posting;
    Time empty_slice;
    Time local_overhead;
    Time order_overhead;
    double spread = 0;
    program::FlagBlock filled;  // of each connection, slices that have arrived; in lines: begun and arrived
    program::FlagBlock credit;  // slices that the receiver has emptied
    program::FlagBlock order;   // semaphores of the rank
  };

  explicit ChannelKernel(Plan plan) : plan_(std::move(plan)) {}

  std::int64_t workgroups(Rank rank) const override { return plan_.steps->channels_of(rank); }
  std::uint32_t strands(Rank) const override { return plan_.steps->strands(); }
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    return strand_phase(rank, workgroup, 0, step, phase);
  }

  bool strand_phase(Rank rank, std::int64_t workgroup, std::uint32_t strand, std::uint32_t number,
                    Phase& phase) const override {
    if (number == 0) {
      phase.kind = Phase::Kind::delay;
      phase.duration = plan_.setup;
      return true;
    }
    --number;
    const std::uint32_t part = number % parts;
    const std::uint32_t slice = number / parts % plan_.slices;
    Step step;
    if (!plan_.steps->step(rank, static_cast<std::uint32_t>(workgroup), strand, number / (parts * plan_.slices), step))
      return false;
    if (step.op == Op::none) {
      if (slice == 0) order(rank, step, part, phase);
      return true;
    }
    const Traffic needs = traffic(step.op);
    // A chunk too small for all its slices: the others pass empty.
    const double whole = std::max(std::ceil(step.bytes / plan_.slices), plan_.smallest_slice);
    const double bytes = std::clamp(step.bytes - slice * whole, 0.0, whole);
    if (needs.receives) {
      receive(rank, step, bytes, slice, part, phase);
      if (phase.kind != Phase::Kind::nothing) return true;
    }
    if (needs.sends) {
      send(rank, step, bytes, slice, part, static_cast<std::uint32_t>(workgroup), phase);
      if (phase.kind != Phase::Kind::nothing) return true;
    }
    if (bytes <= 0) {
      if (part == think && (needs.receives || needs.sends)) {
        phase.kind = Phase::Kind::delay;
        phase.duration = plan_.empty_slice;
      }
      return true;
    }
    if (part == think) {
      phase.kind = Phase::Kind::delay;
      phase.duration = needs.receives || needs.sends ? overhead(static_cast<std::uint32_t>(workgroup), strand, number)
                                                     : (slice == 0 ? plan_.local_overhead : Time{});
    } else if (part == move) {
      phase.kind = Phase::Kind::work;
      phase.shape = shape_number(step, needs.sends && !reaches(rank, step.to));
      phase.peer = needs.sends ? step.to : rank;
      phase.amount = bytes / plan_.unit;
    }
    return true;
  }

 private:
  // Even over its spread, and the same of the same slice: splitmix64 of its number. Channels get out of step, ranks do
  // not.
  Time overhead(std::uint32_t channel, std::uint32_t strand, std::uint32_t number) const {
    if (plan_.spread == 0) return plan_.overhead;
    std::uint64_t z = (std::uint64_t{channel} << 33 ^ std::uint64_t{strand} << 32 ^ number) + 0x9E3779B97F4A7C15ULL;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
    const double even = static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-52 - 1;  // -1 to 1
    return Time{plan_.overhead.ps + std::llround(static_cast<double>(plan_.overhead.ps) * plan_.spread * even)};
  }

  enum Part : std::uint32_t { wait_data, wait_credit, think, begun, move, wait_end, tell_data, tell_credit, parts };

  bool reaches(Rank a, Rank b) const { return plan_.node_stores && a / plan_.gpus_per_node == b / plan_.gpus_per_node; }
  // The receiver sees every line as it comes, so it works while the sender does.
  bool line_by_line(Rank a, Rank b) const { return plan_.lines && reaches(a, b); }

  void tell(Rank from, Rank to, program::FlagRef flag, double bytes, std::uint32_t queue_pair, Phase& phase) const {
    phase.kind = reaches(from, to) ? Phase::Kind::signal : Phase::Kind::put;
    phase.proxied = true;
    phase.peer = to;
    phase.bytes = Bytes{std::ceil(bytes)};  // whole, so that what is sent and what arrives add up to the same
    phase.queue_pair = queue_pair;
    phase.flag = flag;
  }

  static void wait(program::FlagRef flag, std::int64_t target, Phase& phase) {
    phase.kind = Phase::Kind::wait;
    phase.flag = flag;
    phase.target = target;
  }

  void order(Rank rank, const Step& step, std::uint32_t part, Phase& phase) const {
    if (part == wait_data && step.wait != no_semaphore) {
      wait(plan_.order.at(rank, step.wait), step.wait_count, phase);
    } else if (part == think && !step.more) {
      phase.kind = Phase::Kind::delay;
      phase.duration = plan_.order_overhead;
    } else if (part == tell_data && step.raise != no_semaphore) {
      phase.kind = Phase::Kind::signal;
      phase.peer = rank;
      phase.flag = plan_.order.at(rank, step.raise);
    }
  }

  void receive(Rank rank, const Step& step, double bytes, std::uint32_t slice, std::uint32_t part, Phase& phase) const {
    const std::int64_t before = std::int64_t{step.received} * plan_.slices + slice;
    const bool by_line = line_by_line(step.from, rank);
    if (part == wait_data) {
      wait(plan_.filled.at(rank, step.in), by_line ? 2 * before + 1 : before + 1, phase);
    } else if (part == wait_end && by_line && bytes > 0) {
      wait(plan_.filled.at(rank, step.in), 2 * before + 2, phase);
    } else if (part == tell_credit) {
      tell(rank, step.from, plan_.credit.at(step.from, step.in), credit_bytes, step.in, phase);
    }
  }

  void send(Rank rank, const Step& step, double bytes, std::uint32_t slice, std::uint32_t part, std::uint32_t channel,
            Phase& phase) const {
    const std::int64_t before = std::int64_t{step.sent} * plan_.slices + slice;
    if (part == wait_credit) {
      if (before >= plan_.slots) wait(plan_.credit.at(rank, step.out), before - plan_.slots + 1, phase);
    } else if ((part == begun && line_by_line(rank, step.to)) || part == tell_data) {
      tell(rank, step.to, plan_.filled.at(step.to, step.out), bytes * plan_.wire, channel, phase);
      if (phase.kind == Phase::Kind::signal && part == tell_data && bytes > 0) phase.duration = plan_.posting;
    }
  }

  Plan plan_;
};

// For a unit of `unit` bytes of data. Between nodes what is sent goes to a staging buffer.
PhaseShape shape_of(Op op, std::uint32_t sources, bool staged, const ChannelsSpec& channels,
                    const ProtocolSpec& protocol, double unit, double element_bytes, std::uint32_t strands) {
  Traffic needs = traffic(op);
  needs.loads += static_cast<int>(sources) - 1;
  const double from_fifo = needs.receives ? protocol.wire : 0;
  const double to_fifo = needs.sends ? protocol.wire : 0;
  PhaseShape shape;
  shape.name = names[static_cast<std::size_t>(op)];
  if (staged) shape.name += " (staged)";
  shape.read = unit * (needs.loads + from_fifo);
  shape.write = unit * (needs.stores + (staged ? to_fifo : 0));
  shape.peer_write = staged ? 0 : unit * to_fifo;
  shape.peer_write_cost = channels.link_cost;
  shape.issue_cost = channels.copy_cost;
  if (needs.reduces) shape.flop = unit * sources / element_bytes;
  const double in_flight = protocol.bytes_in_flight.value / strands;
  shape.in_flight = Bytes{in_flight};
  shape.pipelined = false;  // its loops load a batch, wait for it and store it
  shape.active_threads = std::max<std::int64_t>(1, protocol.threads / strands);
  if (protocol.lines) {
    // Lines that came are still in the cache.
    const double loaded = std::max(1e-9, needs.loads + from_fifo);
    shape.read_miss = needs.loads / loaded;
    // Further sources are loaded one after the other.
    shape.in_flight = Bytes{in_flight * loaded / sources};
    shape.pause = protocol.batch_pause;
  }
  return shape;
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

void append_channel_kernel(builder::Builder& build, std::shared_ptr<const ChannelProgram> steps,
                           const libraries::LibrarySpec& library, const ProtocolSpec& protocol, double element_bytes,
                           const std::string& name) {
  const ChannelsSpec& channels = *library.channels;
  program::Kernel kernel;
  kernel.name = build.unique(name);
  kernel.resources = resources_of(library, build.gpu(), protocol.threads, steps->channels());

  ChannelKernel::Plan plan;
  plan.gpus_per_node = static_cast<Rank>(build.system.node.gpus);
  plan.node_stores = build.system.node.wiring != link::Wiring::none;
  plan.slices = static_cast<std::uint32_t>(protocol.slices);
  plan.slots = static_cast<std::uint32_t>(protocol.slots);
  plan.smallest_slice = protocol.smallest_slice.value;
  plan.wire = protocol.wire;
  plan.lines = protocol.lines;
  // A whole batch, so that its pause is a whole time.
  plan.unit = protocol.lines ? protocol.bytes_in_flight.value / steps->strands() : 1;
  plan.setup = channels.setup;
  plan.overhead = protocol.step_overhead;
  plan.posting = protocol.posting;
  plan.empty_slice = protocol.empty_slice;
  plan.local_overhead = channels.local_overhead;
  plan.order_overhead = channels.order_overhead;
  plan.spread = protocol.step_spread;
  const auto add_shape = [&](Op op, std::uint32_t sources, bool staged) {
    kernel.shapes.push_back(
        shape_of(op, sources, staged, channels, protocol, plan.unit, element_bytes, steps->strands()));
  };
  for (const bool staged : {false, true}) {
    for (std::uint32_t op = 0; op < ops; ++op) add_shape(static_cast<Op>(op), 1, staged);
  }
  for (std::uint32_t sources = 2; sources <= most_sources; ++sources) add_shape(Op::reduce, sources, false);
  const auto flags = [&](const char* what, auto other_end) {
    return build.program.add_flags({kernel.name + what, steps->connections(),
                                    [steps, other_end, kernel_name = kernel.name](Rank rank, std::uint32_t connection) {
                                      return std::pair{(steps.get()->*other_end)(rank, connection), kernel_name};
                                    }});
  };
  plan.filled = flags(".filled", &ChannelProgram::sender);
  plan.credit = flags(".credit", &ChannelProgram::receiver);
  plan.order = build.program.add_flags(
      {kernel.name + ".order", steps->semaphores(), [kernel_name = kernel.name](Rank rank, std::uint32_t) {
         return std::pair{rank, kernel_name};
       }});
  plan.steps = std::move(steps);
  kernel.body = std::make_shared<ChannelKernel>(std::move(plan));
  build.queue.operations.emplace_back(std::move(kernel));
}

}  // namespace moire::collective
