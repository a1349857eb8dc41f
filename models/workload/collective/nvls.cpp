// NVLS: every rank owns a part of the buffer. The threads of a channel form three groups. Scatter copies the input to
// buffers in the rank's own memory that the switch can reach. Reduce loads the sums of the rank's part over all ranks
// from the switch, and stores them through the switch to the buffers of all ranks. Gather copies from these buffers to
// the output. An all-reduce of n bytes moves n + n / ranks bytes through a port in each direction. An all-gather has no
// scatter, since reduce loads the rank's input instead of sums. A reduce-scatter has no gather, since reduce stores to
// the rank's output.
#include "models/workload/collective/nvls.hpp"

#include <algorithm>
#include <cmath>

#include "models/workload/collective/algorithms.hpp"
#include "models/workload/collective/channel_kernel.hpp"
#include "models/workload/collective/spread.hpp"

namespace moire::collective {

namespace {

using libraries::NvlsSpec;
using program::Phase;

class NvlsBody final : public program::KernelBody {
 public:
  struct Terms {
    Kind kind = Kind::all_reduce;
    Rank ranks = 0;
    NvlsParts parts;  // one for each rank
    std::uint32_t slots = 1;
    Time setup, overhead;
    double spread = 0;  // largest deviation of a chunk's overhead from `overhead`, as a share of it
    // Each of these blocks has one flag for each channel. `ready` counts the chunks that the scatter threads of all
    // ranks have copied to buffers. `done` counts the results that all ranks have stored to this rank's buffers.
    // `freed` counts the chunks whose buffers can be used again.
    program::FlagBlock ready, done, freed;
  };
  enum Strand : std::uint32_t { scatter, reduce, gather, strands_of_all };

  explicit NvlsBody(Terms terms) : terms_(std::move(terms)) {
    if (terms_.kind != Kind::all_gather) strands_.push_back(scatter);
    strands_.push_back(reduce);
    if (terms_.kind != Kind::reduce_scatter) strands_.push_back(gather);
  }

  std::int64_t workgroups(Rank) const override { return terms_.parts.shares.channels; }
  std::uint32_t strands(Rank) const override { return static_cast<std::uint32_t>(strands_.size()); }
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    return strand_phase(rank, workgroup, 0, step, phase);
  }

  bool strand_phase(Rank rank, std::int64_t workgroup, std::uint32_t strand, std::uint32_t number,
                    Phase& phase) const override {
    if (number == 0) {
      phase.kind = Phase::Kind::delay;
      phase.instructions = true;
      phase.duration = terms_.setup;
      return true;
    }
    const std::uint32_t parts = moves + terms_.ranks;  // phases per chunk: wait, overhead, move, a flag to each rank
    const auto channel = static_cast<std::uint32_t>(workgroup);
    const std::uint32_t loop = (number - 1) / parts, part = (number - 1) % parts;
    if (!terms_.parts.has(channel, loop)) return false;
    const Strand own = strands_[strand];
    if (part == waits) {
      wait(rank, channel, own, loop, phase);
    } else if (part == thinks) {
      phase.kind = Phase::Kind::delay;
      phase.instructions = true;
      phase.duration = spread_out(terms_.overhead, terms_.spread, channel, strand, loop);
    } else if (part < moves) {
      phase.kind = Phase::Kind::work;
      phase.shape = static_cast<std::uint16_t>(own);
      phase.peer = rank;
      phase.amount = own == reduce ? terms_.parts.bytes(rank, channel, loop) : terms_.parts.bytes_of_all(channel, loop);
      if (phase.amount <= 0) phase = {};
    } else {
      tell(rank, part - moves, channel, own, phase);
    }
    return true;
  }

 private:
  enum Part : std::uint32_t { waits, thinks, works, moves };

  // Makes a group of threads wait. The first group (scatter, or reduce in an all-gather) uses a buffer again after
  // `slots` chunks. It waits until the data in the buffer have been read: in an all-reduce by gather of the same rank,
  // in other collectives by the last group of every rank. Each other group waits until the group before it has handled
  // the chunk on every rank.
  void wait(Rank rank, std::uint32_t channel, Strand strand, std::uint32_t loop, Phase& phase) const {
    const bool first = strand == strands_.front();
    if (first && loop < terms_.slots) return;
    phase.kind = Phase::Kind::wait;
    const program::FlagBlock& flags = first ? terms_.freed : strand == reduce ? terms_.ready : terms_.done;
    phase.flag = flags.at(rank, channel);
    const std::int64_t each = first && terms_.kind == Kind::all_reduce ? 1 : terms_.ranks;
    phase.target = each * (first ? loop - terms_.slots + 1 : loop + 1);
  }

  void tell(Rank rank, Rank to, std::uint32_t channel, Strand strand, Phase& phase) const {
    const bool last = strand == strands_.back();
    if (last && terms_.kind == Kind::all_reduce && to != rank) return;
    phase.kind = Phase::Kind::signal;
    phase.peer = to;
    phase.flag = (last ? terms_.freed : strand == scatter ? terms_.ready : terms_.done).at(to, channel);
  }

  Terms terms_;
  std::vector<Strand> strands_;
};

std::optional<std::string> wrong_machine(const machine::SystemSpec& system) {
  if (system.nodes > 1) return "nvls sums in the switch of one node, but there are several nodes";
  return no_nvls(system);
}

}  // namespace

NvlsParts nvls_parts(const Parts& parts, std::uint32_t owners, std::uint32_t channels, double chunk, double smallest,
                     const std::vector<double>& halved_below) {
  for (std::size_t i = 0; i < halved_below.size(); ++i) {
    const double least = smallest * std::exp2(static_cast<double>(halved_below.size() - 1 - i));
    if (parts.bytes < halved_below[i] * channels * owners * chunk && chunk > least) chunk = std::max(chunk / 2, least);
  }
  return {owners, parts, deal(parts.each, channels, 16), chunk};
}

std::optional<std::string> no_nvls(const machine::SystemSpec& system) {
  if (system.node.wiring != link::Wiring::nvswitch || !system.node.gpu.port.multicast_efficiency ||
      system.node.gpus < 2)
    return "nvls needs a switch that copies and sums for the GPUs of a node (gpu.port.multicast_efficiency)";
  return std::nullopt;
}

program::PhaseShape nvls_shape(const libraries::ChannelsSpec& channels, const char* name, std::int64_t threads) {
  program::PhaseShape made;
  made.name = name;
  made.issue_cost = channels.copy_cost;
  made.pipelined = false;
  made.active_threads = threads;
  made.in_flight = channels.nvls->bytes_in_flight * static_cast<double>(threads);
  return made;
}

void append_nvls(builder::Builder& build, const libraries::LibrarySpec& library, Kind kind, double bytes,
                 std::uint32_t channels, const std::string& name) {
  const libraries::ChannelsSpec& all = *library.channels;
  const NvlsSpec& nvls = *all.nvls;
  const Rank ranks = build.ranks();
  NvlsBody::Terms terms;
  terms.kind = kind;
  terms.ranks = ranks;
  const Parts parts = kind == Kind::all_gather ? Parts{bytes * ranks, bytes} : cut(bytes, ranks, 16);
  terms.parts = nvls_parts(parts, ranks, channels, nvls.chunk.value, nvls.smallest_chunk.value, {64, 8, 2});
  check_pieces(parts.bytes / terms.parts.chunk * ranks, fmt::format("chunks of {:.0f} B", terms.parts.chunk));
  terms.slots = static_cast<std::uint32_t>(nvls.slots);
  terms.setup = all.setup;
  terms.overhead = all.simple.step_overhead;
  terms.spread = all.simple.step_spread;

  program::Kernel kernel;
  kernel.name = build.unique(name);
  kernel.resources = resources_of(library, build.gpu(), nvls.threads, terms.parts.shares.channels);
  program::PhaseShape& copied = kernel.shapes.emplace_back(nvls_shape(all, "scatter", nvls.scatter_threads));
  copied.read = copied.write = 1;
  program::PhaseShape summed = nvls_shape(all, "reduce", nvls.reduce_threads);
  summed.by_switch = true;
  (kind == Kind::all_gather ? summed.read : summed.peer_read) = 1;
  (kind == Kind::reduce_scatter ? summed.write : summed.peer_write) = 1;
  kernel.shapes.push_back(summed);
  program::PhaseShape gathered = nvls_shape(all, "gather", nvls.gather_threads);
  gathered.read = gathered.write = 1;
  kernel.shapes.push_back(gathered);

  const auto flags = [&](const char* what) {
    return build.program.add_flags(
        {kernel.name + what, terms.parts.shares.channels, [kernel_name = kernel.name](Rank rank, std::uint32_t) {
           return std::pair{rank, kernel_name};
         }});
  };
  terms.ready = flags(".ready");
  terms.done = flags(".done");
  terms.freed = flags(".freed");
  kernel.body = std::make_shared<NvlsBody>(std::move(terms));
  build.queue.operations.emplace_back(std::move(kernel));
}

constinit const ChannelAlgorithm nvls_algorithm{.name = "nvls",
                                                .expectation = nullptr,  // the estimate is in ChannelsSpec::nvls
                                                .does = [](Kind kind) { return kind != Kind::broadcast; },
                                                .wrong_machine = wrong_machine,
                                                .hops = [](const machine::SystemSpec&, Kind) { return Hops{}; },
                                                .traffic =
                                                    [](Kind kind, double ranks, double bytes) {
                                                      // Bytes in the busier direction of a port. An all-reduce receives
                                                      // the stores of all owners and the sums of the rank's part. An
                                                      // all-gather receives its output. A reduce-scatter sends its
                                                      // input.
                                                      if (kind == Kind::all_gather) return ranks * bytes;
                                                      return kind == Kind::all_reduce ? bytes + bytes / ranks : bytes;
                                                    },
                                                .nics_together = false,
                                                .program = nullptr};

}  // namespace moire::collective
