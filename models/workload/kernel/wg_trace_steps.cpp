// Replays a trace of version 2. Its rows are the steps of workgroups, which the replay does in their recorded order.
#include <fmt/format.h>

#include <algorithm>

#include "models/hardware/memory/cache.hpp"
#include "models/workload/kernel/wg_trace.hpp"

namespace moire::kernel {

namespace {

using program::Phase;
using program::Rank;
using program::WgTraceRow;
using Kind = program::WgTraceRow::Kind;

class StepsBody final : public program::KernelBody {
 public:
  explicit StepsBody(std::vector<std::vector<std::vector<Phase>>> steps) : steps_(std::move(steps)) {}
  std::int64_t workgroups(Rank rank) const override { return std::ssize(steps_[rank]); }
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    const std::vector<Phase>& steps = steps_[rank][static_cast<std::size_t>(workgroup)];
    if (step >= steps.size()) return false;
    phase = steps[step];
    return true;
  }

 private:
  std::vector<std::vector<std::vector<Phase>>> steps_;  // [rank][workgroup]
};

struct Recorded {
  program::PhaseTotal work{"work", 0, {}};
  program::PhaseTotal fence{"fence", 0, {}};
  program::PhaseTotal wait{"wait", 0, {}};

  void add(const WgTraceRow& row) {
    program::PhaseTotal* phase = row.kind == Kind::work    ? &work
                                 : row.kind == Kind::fence ? &fence
                                 : row.kind == Kind::wait  ? &wait
                                                           : nullptr;
    if (phase == nullptr) return;
    ++phase->count;
    phase->total += program::whole_ns(row.end_ns - row.start_ns);
  }
};

program::Arithmetic arithmetic(WgTraceRow::Unit unit) {
  return unit == WgTraceRow::Unit::none || unit == WgTraceRow::Unit::vector_fp32 ? program::Arithmetic::vector_fp32
                                                                                 : program::Arithmetic::matrix_16bit;
}

class Steps {
 public:
  enum Shape : std::uint16_t { store_to_peer, store };

  Steps(const builder::Builder& build, const WgTraceSpec& spec, const program::WgTrace& trace, program::Kernel& kernel)
      : build_(build), spec_(spec), trace_(trace), kernel_(kernel), all_(trace.header.ranks) {
    const Bytes in_flight{static_cast<double>(trace.header.bytes_in_flight_per_wg)};
    kernel.shapes = {{.name = "store to peer", .peer_write = 1, .in_flight = in_flight},
                     {.name = "store", .write = 1, .in_flight = in_flight}};
    work_.name = "work";
    work_.read_miss = spec.cache_miss;
    if (spec.row) memory::loads_rows(build.gpu().hbm, *spec.row, work_);
    work_.random_rows = spec.row && !spec.pipelined;
    work_.pipelined = spec.pipelined;
    work_.in_flight = in_flight;
    for (auto& rank : all_) rank.resize(trace.header.wgs_per_rank);
    std::int64_t flags = 0;
    for (const WgTraceRow& row : trace.rows) flags = std::max(flags, row.flag + 1);
    per_rank_ = static_cast<std::uint32_t>(flags);
    raised_.resize(std::size_t{trace.header.ranks} * per_rank_);
    awaited_.resize(raised_.size());
    raisers_ = std::make_shared<std::vector<Rank>>(raised_.size());
  }

  // Returns what cannot be replayed; nothing if everything can.
  std::optional<config::Problem> run(program::Program& program) {
    flags_ =
        program.add_flags({kernel_.name + ".flag", per_rank_,
                           [raisers = raisers_, each = per_rank_, name = kernel_.name](Rank rank, std::uint32_t index) {
                             return std::pair{(*raisers)[std::size_t{rank} * each + index], name};
                           }});
    const WgTraceRow* before = nullptr;
    for (const WgTraceRow& row : trace_.rows) {
      const bool same = before != nullptr && before->rank == row.rank && before->wg == row.wg;
      if (!same) staged_.clear();
      steps_ = &all_[row.rank][row.wg];
      if (same && spec_.gaps == TraceGaps::kept) gap(before->end_ns, row.start_ns);
      if (auto problem = step(row)) return problem;
      before = &row;
    }
    for (std::size_t flag = 0; flag < raised_.size(); ++flag) {
      if (raised_[flag] >= awaited_[flag]) continue;
      return config::Problem{
          fmt::format("rank {} waits until flag {} was raised {} times, but the trace raises it {} times",
                      flag / per_rank_, flag % per_rank_, awaited_[flag], raised_[flag]),
          "record all ranks and all signals"};
    }
    return std::nullopt;
  }

  std::vector<std::vector<std::vector<Phase>>> take() { return std::move(all_); }

 private:
  Phase& add(Phase::Kind kind) {
    Phase& phase = steps_->emplace_back();
    phase.kind = kind;
    return phase;
  }
  void gap(std::int64_t end, std::int64_t start) {
    if (start > end) add(Phase::Kind::delay).duration = program::whole_ns(start - end);
  }
  void fence() { add(Phase::Kind::fence).duration = spec_.fence.value_or(build_.gpu().port.fence); }

  std::optional<config::Problem> step(const WgTraceRow& row) {
    const bool near = build_.reach().stores(row.rank, row.peer);
    switch (row.kind) {
      case Kind::work:
        return work(row, near);
      case Kind::store: {
        // Data for another node are stored locally first. The signal to the same peer that follows puts them.
        if (!near) staged_[row.peer] += static_cast<double>(row.bytes);
        Phase& phase = add(Phase::Kind::work);
        phase.shape = near && row.peer != row.rank ? store_to_peer : store;
        phase.peer = row.peer;
        phase.amount = static_cast<double>(row.bytes);
        phase.posted = true;
        return std::nullopt;
      }
      case Kind::fence:
        fence();
        return std::nullopt;
      case Kind::signal:
        send(row, near, staged_[row.peer]);
        staged_[row.peer] = 0;
        return std::nullopt;
      case Kind::put:
        if (near && row.peer != row.rank) {
          Phase& phase = add(Phase::Kind::work);
          phase.shape = store_to_peer;
          phase.peer = row.peer;
          phase.amount = static_cast<double>(row.bytes);
          phase.posted = true;
          fence();
        }
        send(row, near, static_cast<double>(row.bytes));
        return std::nullopt;
      case Kind::wait: {
        Phase& phase = add(Phase::Kind::wait);
        phase.flag = flags_.at(row.rank, static_cast<std::uint32_t>(row.flag));
        phase.target = row.count;
        std::int64_t& most = awaited_[std::size_t{row.rank} * per_rank_ + static_cast<std::size_t>(row.flag)];
        most = std::max(most, row.count);
        return std::nullopt;
      }
      case Kind::task:
        break;  // only in version 1
    }
    return std::nullopt;
  }

  std::optional<config::Problem> work(const WgTraceRow& row, bool near) {
    if (!near) {
      return config::Problem{
          fmt::format("rank {} loads from the memory of rank {}, which is on another node", row.rank, row.peer),
          "use nodes at least as large as the recorded ones"};
    }
    const auto use = shapes_.use({.from_peer = row.peer != row.rank,
                                  .bytes = static_cast<double>(row.bytes),
                                  .flop = static_cast<double>(row.flop) / spec_.math_efficiency,
                                  .unit = arithmetic(row.unit)},
                                 work_, kernel_.shapes);
    if (!use)
      return config::Problem{"the trace has more than 60,000 different ratios of FLOP to bytes",
                             "round the amounts of its rows"};
    Phase& phase = add(spec_.timing == TraceTiming::recorded ? Phase::Kind::delay : Phase::Kind::work);
    phase.shape = use->shape;
    phase.peer = row.peer;
    phase.amount = use->amount;
    phase.stands_for_work = spec_.timing == TraceTiming::recorded;
    if (phase.stands_for_work) phase.duration = program::whole_ns(row.end_ns - row.start_ns);
    return std::nullopt;
  }

  void send(const WgTraceRow& row, bool near, double bytes) {
    constexpr double bare_flag = 8;  // bytes of a put that carries nothing else
    Phase& phase = add(near ? Phase::Kind::signal : Phase::Kind::put);
    phase.peer = row.peer;
    phase.bytes = Bytes{near ? 0 : std::max(bytes, bare_flag)};
    phase.flag = flags_.at(row.peer, static_cast<std::uint32_t>(row.flag));
    const std::size_t flag = std::size_t{row.peer} * per_rank_ + static_cast<std::size_t>(row.flag);
    ++raised_[flag];
    (*raisers_)[flag] = row.rank;
  }

  const builder::Builder& build_;
  const WgTraceSpec& spec_;
  const program::WgTrace& trace_;
  program::Kernel& kernel_;
  std::vector<std::vector<std::vector<Phase>>> all_;
  std::vector<Phase>* steps_ = nullptr;  // of the current workgroup
  std::map<Rank, double> staged_;        // bytes stored locally for a rank of another node and not put yet
  program::PhaseShape work_;
  TraceShapes shapes_;
  program::FlagBlock flags_;
  std::uint32_t per_rank_ = 0;
  std::vector<std::int64_t> raised_, awaited_;  // [rank][flag]
  std::shared_ptr<std::vector<Rank>> raisers_;
};

}  // namespace

bool append_steps(builder::Builder& build, const WgTraceSpec& spec, const program::WgTrace& trace,
                  program::Kernel kernel, const config::Node& node, config::Diagnostics& diagnostics) {
  const bool waits =
      std::any_of(trace.rows.begin(), trace.rows.end(), [](const WgTraceRow& row) { return row.kind == Kind::wait; });
  const std::int64_t resident = builder::resident_workgroups(build, kernel.resources);
  if (waits && resident < trace.header.wgs_per_rank) {
    diagnostics.error(node.place,
                      fmt::format("{} workgroups per GPU wait for each other, but {} holds only {} of them at once",
                                  trace.header.wgs_per_rank, build.gpu().name, resident),
                      "use a GPU with more CUs, or a trace with fewer workgroups");
    return false;
  }
  Steps steps(build, spec, trace, kernel);
  if (auto problem = steps.run(build.program)) {
    diagnostics.error(node.place, *problem);
    return false;
  }
  if (build.recorded != nullptr) {
    Recorded recorded;
    for (const WgTraceRow& row : trace.rows) recorded.add(row);
    build.recorded->push_back({kernel.name,
                               program::whole_ns(trace.header.recorded_end_ns),
                               std::int64_t{trace.header.wgs_per_rank} * trace.header.ranks,
                               {recorded.work, recorded.fence, recorded.wait}});
  }
  kernel.body = std::make_shared<StepsBody>(steps.take());
  build.queue.operations.emplace_back(std::move(kernel));
  return true;
}

}  // namespace moire::kernel
