#include "models/workload/codec/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "sim/config/suggest.hpp"
#include "sim/config/units.hpp"

namespace moire::codec {

namespace {

constexpr double flop_of_operation = 2;  // vector_fp32 counts an instruction, a fused multiply-add, as two FLOP

// The main kernel of a call. To save time, it is simulated with at most as many workgroups as the GPU holds at once.
// Each of them also processes the blocks of workgroups that would follow it in its place on the CU. It takes these
// blocks from the kernel's queue. If another kernel holds the place for a while, the workgroup starts later and takes
// fewer blocks. An item of the queue has several blocks at first and one block in the end, so workgroups that start at
// the same time get as many blocks as the dispatcher would give them.
//
// On a GPU, the workgroups of a CU do not end at the same time, and those that follow fill the gaps: a kernel whose
// arithmetic or bytes keep the CUs busy takes time in proportion to its blocks, without a step at each round. The
// simulated workgroups of a CU share it evenly and do end at the same time. So the last items of such a kernel are
// parts of a block.
class BlocksBody final : public program::KernelBody {
 public:
  class OfRank {
   public:
    OfRank(std::uint16_t shape, std::int64_t blocks, std::int64_t resident, std::int64_t parts, Time begin)
        : shape(shape), workgroups(std::min(blocks, resident)), begin(begin), parts_(parts) {
      for (std::int64_t left = blocks * parts; left > 0;) {
        // An item takes half of what is left for a place, so a place that becomes free late still finds items.
        constexpr std::int64_t half = 2;
        const std::int64_t size = std::max<std::int64_t>(1, left / (half * workgroups));
        const std::int64_t number = size == 1 ? left : workgroups;
        rounds_.push_back({items, size});
        items += number;
        left -= number * size;
      }
    }
    double blocks_of(std::int64_t item) const {
      const auto after = [](std::int64_t at, const Round& round) { return at < round.first; };
      const auto round = std::prev(std::upper_bound(rounds_.begin(), rounds_.end(), item, after));
      return static_cast<double>(round->size) / static_cast<double>(parts_);
    }

    std::uint16_t shape;
    std::int64_t workgroups, items = 0;
    Time begin;  // of each workgroup, before it takes blocks: its start-up and its first load

   private:
    struct Round {
      std::int64_t first, size;  // item that begins the round, parts of blocks of each of its items
    };
    std::vector<Round> rounds_;
    std::int64_t parts_;  // of a block
  };
  explicit BlocksBody(std::vector<OfRank> ranks) : ranks_(std::move(ranks)) {}
  std::int64_t workgroups(program::Rank rank) const override { return of(rank).workgroups; }
  bool turns(program::Rank) const override { return ranks_.size() == 1; }
  bool by_itself() const override { return ranks_.size() == 1; }
  bool phase(program::Rank rank, std::int64_t, std::uint32_t step, program::Phase& phase) const override {
    const bool begins = of(rank).begin.ps > 0;
    if (step == 0 && begins) {
      phase.kind = program::Phase::Kind::delay;
      phase.duration = of(rank).begin;
      return true;
    }
    phase.kind = program::Phase::Kind::take;
    return step == (begins ? 1 : 0);
  }
  std::int64_t items(program::Rank rank) const override { return of(rank).items; }
  bool item_phase(program::Rank rank, std::int64_t item, std::uint32_t step, program::Phase& phase) const override {
    phase.kind = program::Phase::Kind::work;
    phase.shape = of(rank).shape;
    phase.amount = of(rank).blocks_of(item);
    return step == 0;
  }

 private:
  const OfRank& of(program::Rank rank) const { return ranks_[ranks_.size() == 1 ? 0 : rank]; }
  std::vector<OfRank> ranks_;
};

program::WorkgroupResources times(program::WorkgroupResources one, std::int64_t together) {
  one.threads *= together;
  one.lds = one.lds * static_cast<double>(together);
  return one;
}

constexpr double sector = 32;  // bytes

// The small kernels that run before the main kernel. They are modelled as one kernel with one workgroup, which occupies
// a place on a CU for the total time of these kernels.
class PrepareBody final : public program::KernelBody {
 public:
  PrepareBody(Time time, std::vector<bool> ranks) : time_(time), ranks_(std::move(ranks)) {}
  std::int64_t workgroups(program::Rank rank) const override { return ranks_[ranks_.size() == 1 ? 0 : rank] ? 1 : 0; }
  bool turns(program::Rank) const override { return ranks_.size() == 1; }
  bool by_itself() const override { return ranks_.size() == 1; }
  bool phase(program::Rank, std::int64_t, std::uint32_t step, program::Phase& phase) const override {
    phase.kind = program::Phase::Kind::delay;
    phase.duration = time_;
    return step == 0;
  }

 private:
  Time time_;
  std::vector<bool> ranks_;
};

// Returns the spec of the kernel (compress or decompress) that determines threads, registers, LDS and block of a
// workgroup. For a kernel that decompresses and compresses, this is the spec of compression, which needs more
// resources.
const StageSpec& geometry(const CodecSpec& codec, Work work) {
  return work == Work::decompress || work == Work::decompress_reduce ? codec.decompress : codec.compress;
}

// Returns the number of small workgroups that are simulated as one large workgroup, because fewer workgroups are faster
// to simulate. With this number, a CU must hold as many small workgroups as without it. Of a grid of `workgroups`
// workgroups, the CU with the most must also get as many.
std::int64_t gathered(const builder::Builder& build, const program::WorkgroupResources& one, std::int64_t workgroups) {
  constexpr std::int64_t most_threads = 512;
  const std::int64_t resident = builder::resident_workgroups(build, one);
  const auto fullest = [&](std::int64_t together) {
    const std::int64_t all = (std::min(workgroups, resident) + together - 1) / together;
    return (all + build.cus() - 1) / build.cus() * together;
  };
  std::int64_t most = 1;
  for (std::int64_t together = 2; together * one.threads <= most_threads; together *= 2)
    if (builder::resident_workgroups(build, times(one, together)) * together == resident &&
        fullest(together) == fullest(1))
      most = together;
  return most;
}

// Returns the demands of one unit of work: one block of each of `together` workgroups.
program::PhaseShape shape_of(const CodecSpec& codec, Work work, double ratio, const machine::GpuSpec& gpu,
                             std::int64_t together = 1) {
  const StageSpec& stage = geometry(codec, work);
  const double plain = stage.block.value * static_cast<double>(together);
  const double values = plain * 8 / static_cast<double>(codec.value_bits);
  program::PhaseShape shape;
  shape.threads = stage.threads * together;
  shape.walk = program::Walk::in_order;
  shape.pipelined = false;  // loads its block, processes it, stores it
  double clocks = 0;        // clock cycles of a thread per value
  double added = 0;         // bytes of the L2 sectors to which the unit adds
  const double bits = static_cast<double>(codec.value_bits) / ratio;
  const auto add = [&](const StageSpec& one, bool from_plain) {
    shape.read += plain * one.extra_read + (from_plain ? plain : plain / ratio);
    shape.write += plain * one.extra_write + (from_plain ? plain / ratio : plain);
    shape.flop += flop_of_operation * values * one.operations_at(bits);
    clocks += one.operations_at(bits) * one.cycles;
    added += values * one.l2_adds_at(bits) * sector;
  };
  if (work != Work::compress) add(codec.decompress, false);
  if (work == Work::decompress_reduce) shape.read += plain;            // the rank's own data
  if (work == Work::decompress_reduce_compress) shape.write -= plain;  // the plain data stay in registers
  if (work == Work::decompress_reduce || work == Work::decompress_reduce_compress) shape.flop += values;  // the sum
  if (work == Work::compress || work == Work::decompress_reduce_compress) add(codec.compress, true);
  shape.name = work == Work::compress            ? "compress"
               : work == Work::decompress        ? "decompress"
               : work == Work::decompress_reduce ? "decompress and add"
                                                 : "decompress and compress";
  shape.in_flight = Bytes{shape.read};
  shape.l2_extra = added * gpu.l2.add_cost;
  const double each = std::ceil(values / static_cast<double>(shape.threads));
  shape.pause = Time::from_seconds(each * clocks / gpu.compute.clock.value);
  return shape;
}

// The following two functions return times in seconds: of the memory and the L2 for one block, and of the arithmetic of
// a CU for `on_one` blocks.
double memory_time(const program::PhaseShape& shape, const machine::GpuSpec& gpu) {
  const double bytes = shape.read + shape.write;
  return std::max(bytes / gpu.hbm.bandwidth.value, (bytes + shape.l2_extra) / gpu.l2.bandwidth.value);
}
double arithmetic_time(const program::PhaseShape& shape, std::int64_t on_one, const machine::GpuSpec& gpu) {
  return static_cast<double>(on_one * gpu.compute.total_cus()) * shape.flop / gpu.compute.vector_fp32.value;
}

// True if the blocks that the GPU holds at once keep it busy for longer than one of them takes alone, so that
// workgroups that follow fill the gaps of others. `resources`: of the workgroup that processes a block.
bool fills_gaps(const program::PhaseShape& shape, const program::WorkgroupResources& resources,
                const machine::GpuSpec& gpu) {
  const std::int64_t resident = builder::resident_workgroups(gpu, resources);
  return std::max(static_cast<double>(resident) * memory_time(shape, gpu),
                  arithmetic_time(shape, resident / gpu.compute.total_cus(), gpu)) >
         (shape.pause + gpu.hbm.unloaded_latency).seconds();
}

// Returns the pause of a workgroup in each block, in seconds, such that a call of `blocks` blocks does not end before
// the busiest slice of the L2 has made its additions. Meanwhile, other calls can use the slices that idle. So the pause
// takes time of the workgroup, but no bandwidth of the L2. A workgroup processes up to `most` blocks, one after the
// other. While it loads a block other than its first, other workgroups add, so the latency of these loads is
// subtracted.
double of_busiest_slice(const program::PhaseShape& shape, double blocks, double most, const Part& part,
                        const machine::GpuSpec& gpu) {
  if (shape.l2_extra == 0 || blocks == 0 || gpu.l2.slices == 1) return 0;
  const double lines = std::max(1.0, part.bytes / part.ratio / gpu.l2.line.value);
  const double all = blocks * shape.l2_extra / gpu.l2.bandwidth.value * gpu.l2.busiest_slice(lines);
  return std::max(0.0, (all - (most - 1) * gpu.hbm.unloaded_latency.seconds()) / most);
}

// Returns a time of the stages that a kernel for `work` contains.
Time of_stages(const CodecSpec& codec, Work work, Time StageSpec::*time) {
  if (work == Work::compress) return codec.compress.*time;
  return codec.decompress.*time + (work == Work::decompress_reduce_compress ? codec.compress.*time : Time{});
}

Time prepare(const CodecSpec& codec, Work work) { return of_stages(codec, work, &StageSpec::prepare); }
Time start_up(const CodecSpec& codec, Work work) { return of_stages(codec, work, &StageSpec::start_up); }

// Returns the part of a workgroup's first load that nothing hides, in seconds. A CU with several workgroups hides the
// load of one behind the arithmetic of others. But all workgroups of an idle CU begin with their loads, so a call takes
// the latency and then the arithmetic of the CU with the most workgroups (`on_one`), or the `pause` of one, whichever
// is longer. A workgroup is simulated as the longer one of the arithmetic and of latency and pause.
double first_load(const program::PhaseShape& shape, double pause, std::int64_t on_one, const machine::GpuSpec& gpu) {
  return std::clamp(arithmetic_time(shape, on_one, gpu) - pause, 0.0, gpu.hbm.unloaded_latency.seconds());
}

program::Kernel main_kernel(const builder::Builder& build, const CodecSpec& codec, Work work,
                            const std::vector<Part>& parts, const std::string& name) {
  const StageSpec& stage = geometry(codec, work);
  program::Kernel kernel;
  kernel.name = name;
  const program::WorkgroupResources one{stage.threads, stage.registers_per_thread, stage.lds, 1};
  double most = 0;
  for (const Part& part : parts) most = std::max(most, part.bytes);
  const std::int64_t together = gathered(build, one, static_cast<std::int64_t>(std::ceil(most / stage.block.value)));
  kernel.resources = times(one, together);
  const double block = stage.block.value * static_cast<double>(together);
  const std::int64_t resident = std::max<std::int64_t>(1, builder::resident_workgroups(build, kernel.resources));
  std::map<std::pair<double, double>, std::uint16_t> shapes;  // by ratio and pause for the busiest slice
  std::vector<BlocksBody::OfRank> ranks;
  for (const Part& part : parts) {
    const auto blocks = static_cast<std::int64_t>(std::ceil(part.bytes / block));
    program::PhaseShape shape = shape_of(codec, work, part.ratio, build.gpu(), together);
    constexpr std::int64_t quarters = 4;  // smaller parts would be closer to the GPU and take more events
    const bool divides = blocks > resident && fills_gaps(shape, kernel.resources, build.gpu());
    const std::int64_t cut = divides ? quarters : 1;
    const double most = static_cast<double>((blocks * cut + resident - 1) / resident) / static_cast<double>(cut);
    const double pause = of_busiest_slice(shape, static_cast<double>(blocks), most, part, build.gpu());
    const std::int64_t on_one = (std::min(blocks, resident) + build.cus() - 1) / build.cus();
    const double load = first_load(shape, std::max(pause, shape.pause.seconds()), on_one, build.gpu());
    const auto [known, fresh] =
        shapes.try_emplace({part.ratio, pause}, static_cast<std::uint16_t>(kernel.shapes.size()));
    if (fresh) {
      shape.pause = std::max(shape.pause, Time::from_seconds(pause));
      kernel.shapes.push_back(std::move(shape));
    }
    ranks.emplace_back(known->second, blocks, resident, cut, start_up(codec, work) + Time::from_seconds(load));
  }
  kernel.body = std::make_shared<BlocksBody>(std::move(ranks));
  return kernel;
}

bool on_engine(const CodecSpec& codec, Work work) {
  return work == Work::decompress && codec.decompress_on == Runs::engine;
}

}  // namespace

std::vector<program::Kernel> make_kernels(const builder::Builder& build, const CodecSpec& codec, Work work,
                                          const std::vector<Part>& parts, const std::string& name) {
  std::vector<program::Kernel> kernels;
  if (const Time time = prepare(codec, work); time.ps > 0) {
    std::vector<bool> ranks;
    for (const Part& part : parts) ranks.push_back(part.bytes > 0);
    program::Kernel small;
    small.name = name + ".prepare";
    small.resources = {32, 32, Bytes{}, 1};
    small.body = std::make_shared<PrepareBody>(time, std::move(ranks));
    kernels.push_back(std::move(small));
  }
  kernels.push_back(main_kernel(build, codec, work, parts, name));
  return kernels;
}

std::vector<program::Operation> make_operations(const builder::Builder& build, const CodecSpec& codec, Work work,
                                                const std::vector<Part>& parts, const std::string& name) {
  std::vector<program::Operation> operations;
  if (on_engine(codec, work)) {
    const auto transfer = [parts](program::Rank rank) {
      const Part& part = parts[parts.size() == 1 ? 0 : rank];
      return program::Transfer{rank, Bytes{part.bytes}, program::no_flag, part.ratio};
    };
    operations.emplace_back(program::Copy{name, transfer});
    return operations;
  }
  for (program::Kernel& kernel : make_kernels(build, codec, work, parts, name)) {
    kernel.together = !operations.empty();
    operations.emplace_back(std::move(kernel));
  }
  return operations;
}

Inside inside(const CodecSpec& codec, Work work, double ratio, const machine::GpuSpec& gpu,
              const program::WorkgroupResources& kernel) {
  const StageSpec& stage = geometry(codec, work);
  std::int64_t together = std::max<std::int64_t>(1, kernel.threads / stage.threads);
  if (stage.lds.value > 0)
    together = std::clamp<std::int64_t>(static_cast<std::int64_t>(gpu.compute.lds_per_cu.value / stage.lds.value), 1,
                                        together);
  Inside made{shape_of(codec, work, ratio, gpu, together), stage.block.value * static_cast<double>(together),
              prepare(codec, work), kernel};
  const program::WorkgroupResources all =
      times({stage.threads, std::max(kernel.registers_per_thread, stage.registers_per_thread), stage.lds, 1}, together);
  made.resources.threads = std::max(kernel.threads, all.threads);
  made.resources.registers_per_thread = all.registers_per_thread;
  made.resources.lds = std::max(kernel.lds, all.lds);
  return made;
}

std::optional<config::Problem> engine_refuses(const CodecSpec& codec, double bytes, const machine::GpuSpec& gpu) {
  if (codec.decompress_on != Runs::engine) return std::nullopt;
  const std::string by_kernel = "write decompress_on: kernel";
  if (!gpu.decompressor)
    return config::Problem{fmt::format("'{}' has no decompression engine", gpu.name),
                           by_kernel + ", or take a GPU with one (configs/hardware/b200.yaml)"};
  const auto& formats = gpu.decompressor->formats;
  if (std::find(formats.begin(), formats.end(), *codec.format) == formats.end())
    return config::Problem{
        fmt::format("the decompression engine of '{}' does not read {}", gpu.name, config::in_quotes(*codec.format)),
        fmt::format("{}; it reads {}", by_kernel, config::join(formats))};
  const double largest = gpu.decompressor->largest.value;
  if (bytes > largest)
    return config::Problem{
        fmt::format("a chunk of {:.0f} B is too large for the decompression engine of '{}'", bytes, gpu.name),
        fmt::format("take chunks of at most {} each, or {}", config::format_quantity(Bytes{largest}), by_kernel)};
  return std::nullopt;
}

Bytes compressed(const Part& part) { return Bytes{std::ceil(part.bytes / part.ratio)}; }

double seconds(const CodecSpec& codec, Work work, const Part& part, const machine::GpuSpec& gpu) {
  if (on_engine(codec, work) && gpu.decompressor)
    return gpu.decompressor->command.seconds() +
           part.bytes * std::max(1 / gpu.decompressor->bandwidth.value, (1 + 1 / part.ratio) / gpu.hbm.bandwidth.value);
  const StageSpec& stage = geometry(codec, work);
  const program::PhaseShape shape = shape_of(codec, work, part.ratio, gpu);
  const auto blocks = static_cast<std::int64_t>(std::ceil(part.bytes / stage.block.value));
  const std::int64_t cus = gpu.compute.total_cus();
  const program::WorkgroupResources resources{stage.threads, stage.registers_per_thread, stage.lds, 1};
  const std::int64_t resident = std::max(cus, builder::resident_workgroups(gpu, resources));
  const std::int64_t on_cu = resident / cus, full = blocks / resident, rest = blocks % resident;
  // If rounds of workgroups keep the GPU busy, there is no step in the time from one round to the next.
  const double even = static_cast<double>(blocks) / static_cast<double>(resident);
  const bool smooth = full > 0 && fills_gaps(shape, resources, gpu);
  const double most = smooth ? even : static_cast<double>(full + (rest > 0 ? 1 : 0));
  const double pause =
      std::max(shape.pause.seconds(), of_busiest_slice(shape, static_cast<double>(blocks), most, part, gpu));
  // A round of workgroups takes as long as one of them alone, or as the arithmetic or the loads of a CU with `on_one`.
  const auto round = [&](std::int64_t on_one) {
    const double loads = static_cast<double>(on_one) * shape.in_flight.value / gpu.compute.bytes_in_flight_per_cu.value;
    return std::max(pause + gpu.hbm.unloaded_latency.seconds() * std::max(1.0, loads),
                    arithmetic_time(shape, on_one, gpu));
  };
  const std::int64_t last = (rest + cus - 1) / cus;
  const double rounds =
      smooth ? even * round(on_cu) : static_cast<double>(full) * round(on_cu) + (rest > 0 ? round(last) : 0);
  const double load = start_up(codec, work).seconds() + first_load(shape, pause, full > 0 ? on_cu : last, gpu);
  const double memory = static_cast<double>(blocks) * memory_time(shape, gpu);
  const Time before = prepare(codec, work);
  return (before.ps > 0 ? before + gpu.host.queue_gap : Time{}).seconds() + load + std::max(rounds, memory);
}

std::int64_t kernels(const CodecSpec& codec, Work work) {
  return !on_engine(codec, work) && prepare(codec, work).ps > 0 ? 2 : 1;
}

double memory_of(const CodecSpec& codec, const Part& part, std::int64_t streams) {
  return part.bytes * (1 + 1 / part.ratio + codec.workspace * static_cast<double>(streams));
}

}  // namespace moire::codec
