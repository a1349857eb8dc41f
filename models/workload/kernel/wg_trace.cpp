#include "models/workload/kernel/wg_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/hardware/memory/cache.hpp"
#include "models/workload/kernel/operators.hpp"
#include "sim/config/spec.hpp"
#include "sim/core/invariant.hpp"

namespace moire::kernel {

namespace {

using program::Phase;
using program::Rank;
using program::WgTraceRow;

constexpr double bare_flag = 8;  // bytes of a put that carries no result

struct Task {
  Rank peer = 0;
  bool last_for_peer = false;  // its physical workgroup's last task for the peer
  TraceShapes::Use gather;
  double store = 0;  // bytes
  Time computing;    // recorded time of gather and arithmetic
};

// The tasks of the trace, dealt to the physical workgroups of the machine that replays it.
struct Deal {
  Rank ranks = 0;
  TraceTiming timing = TraceTiming::modelled;
  Time fence;
  std::vector<std::vector<std::vector<Task>>> tasks;  // [rank][workgroup]
  std::vector<std::vector<std::int64_t>> raises;      // [rank][source]: how often its ready flag rises
  part::Reach reach;
  program::FlagBlock ready;  // one flag per source
};

class WgTraceBody final : public program::KernelBody {
 public:
  enum Shape : std::uint16_t { store_to_peer, store, first_gather };

  explicit WgTraceBody(Deal deal) : deal_(std::move(deal)) {}

  std::int64_t workgroups(Rank rank) const override { return static_cast<std::int64_t>(deal_.tasks[rank].size()); }

  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    const std::vector<Task>& tasks = deal_.tasks[rank][static_cast<std::size_t>(workgroup)];
    if (step < 4 * tasks.size()) {
      task_step(rank, tasks[step / 4], step % 4, phase);
      return true;
    }
    const std::int64_t source = workgroup + (step - 4 * std::ssize(tasks)) * workgroups(rank);
    if (source >= deal_.ranks - 1) return false;
    const Rank from = (rank + 1 + static_cast<Rank>(source)) % deal_.ranks;
    phase.kind = Phase::Kind::wait;
    phase.flag = deal_.ready.at(rank, from);
    phase.target = deal_.raises[rank][from];
    return true;
  }

 private:
  void task_step(Rank rank, const Task& task, std::uint32_t part, Phase& phase) const {
    const bool reached = deal_.reach.stores(rank, task.peer);
    phase.peer = task.peer;
    switch (part) {
      case 0:
        if (deal_.timing == TraceTiming::recorded) {
          phase.kind = Phase::Kind::delay;
          phase.duration = task.computing;
          phase.shape = task.gather.shape;
          phase.stands_for_work = true;
        } else {
          phase.kind = Phase::Kind::work;
          phase.shape = task.gather.shape;
          phase.amount = task.gather.amount;
        }
        return;
      case 1:
        phase.kind = Phase::Kind::work;
        phase.shape = task.peer != rank && reached ? store_to_peer : store;
        phase.amount = task.store;
        phase.posted = true;
        return;
      case 2:
        // The stores must be complete before the workgroup puts their data or raises the flag.
        if (task.peer == rank || (reached && !task.last_for_peer)) return;
        phase.kind = Phase::Kind::fence;
        phase.duration = deal_.fence;
        return;
      default:
        if (task.peer == rank || (reached && !task.last_for_peer)) return;
        // For another node, the workgroup has stored the result of the task locally and now puts it.
        phase.kind = reached ? Phase::Kind::signal : Phase::Kind::put;
        phase.bytes = Bytes{reached ? 0 : std::max(task.store, bare_flag)};
        phase.flag = deal_.ready.at(task.peer, rank);
    }
  }

  Deal deal_;
};

// Totals of the recorded rows, for comparison with the simulation. Stores are left out because their times are not
// comparable: a trace records when they were issued, and the replay records when they have arrived.
struct Recorded {
  program::PhaseTotal gather{"gather", 0, {}};
  program::PhaseTotal fence{"fence", 0, {}};  // from the end of the last task for a peer to the next task
  program::PhaseTotal wait{"wait", 0, {}};
  double read = 0;
  double stored = 0;
  double flop = 0;
  std::map<std::pair<Rank, std::uint32_t>, WgTraceRow> last;  // the latest task of each physical workgroup

  void add(const WgTraceRow& row) {
    const auto count = [](program::PhaseTotal& phase, std::int64_t from, std::int64_t to) {
      ++phase.count;
      phase.total += program::whole_ns(to - from);
    };
    if (row.kind == WgTraceRow::Kind::wait) return count(wait, row.start_ns, row.end_ns);
    const auto [before, first] = last.try_emplace({row.rank, row.wg}, row);
    if (!first) {
      const WgTraceRow& task = before->second;
      if (task.peer != row.rank && task.peer != row.peer) count(fence, task.end_ns, row.start_ns);
      before->second = row;
    }
    count(gather, row.start_ns, row.compute_end_ns);
    read += static_cast<double>(row.read_bytes);
    stored += static_cast<double>(row.store_bytes);
    flop += static_cast<double>(row.flop);
  }
};

// Deals tasks to their recorded workgroups. If the machine cannot hold all these workgroups at once, they would wait
// for each other for ever. In this case, as many workgroups as the machine holds get the tasks in turn, in recorded
// order.
void deal_tasks(std::vector<std::vector<Task>>& workgroups, const std::vector<std::pair<std::uint32_t, Task>>& in_order,
                std::int64_t recorded, std::int64_t resident) {
  workgroups.resize(static_cast<std::size_t>(std::min(recorded, resident)));
  std::size_t turn = 0;
  for (const auto& [recorded_on, task] : in_order) {
    const std::size_t at = recorded <= resident ? recorded_on : turn++ % workgroups.size();
    workgroups[at].push_back(task);
  }
}

void mark_last_for_peer(std::vector<Task>& tasks, Rank ranks) {
  std::vector<bool> seen(ranks, false);
  for (std::size_t i = tasks.size(); i-- > 0;) {
    Task& task = tasks[i];
    task.last_for_peer = !seen[task.peer];
    seen[task.peer] = true;
  }
}

// Returns the first task that follows a wait of its workgroup; null if every workgroup waits only after its last task.
const WgTraceRow* task_behind_wait(const std::vector<WgTraceRow>& rows) {
  std::map<std::pair<Rank, std::uint32_t>, std::int64_t> waited;  // start of each workgroup's first wait
  for (const WgTraceRow& row : rows) {
    const auto before = waited.find({row.rank, row.wg});
    if (row.kind == WgTraceRow::Kind::wait) {
      if (before == waited.end()) waited.emplace(std::pair{row.rank, row.wg}, row.start_ns);
    } else if (before != waited.end() && row.start_ns > before->second) {
      return &row;
    }
  }
  return nullptr;
}

bool too_many_shapes(const config::Node& node, config::Diagnostics& diagnostics) {
  diagnostics.error(node.place, "the trace has more than 60,000 different ratios of FLOP to bytes",
                    "round the amounts of its tasks");
  return false;
}

}  // namespace

std::optional<TraceShapes::Use> TraceShapes::use(const Demand& demand, const program::PhaseShape& made,
                                                 std::vector<program::PhaseShape>& shapes) {
  constexpr std::size_t most = 60'000;
  const bool loads = demand.bytes > 0;
  const double ratio = loads ? demand.flop / demand.bytes : -1;
  const auto [known, fresh] = known_.try_emplace(
      {demand.from_peer && loads, demand.flop > 0 ? demand.unit : program::Arithmetic::vector_fp32, ratio},
      static_cast<std::uint16_t>(shapes.size()));
  if (fresh) {
    if (shapes.size() >= most) return std::nullopt;
    program::PhaseShape& shape = shapes.emplace_back(made);
    (demand.from_peer ? shape.peer_read : shape.read) = loads ? 1 : 0;
    shape.flop = loads ? ratio : 1;
    shape.unit = std::get<1>(known->first);
    shape.power = shape.flop > 0 && shape.unit == program::Arithmetic::matrix_16bit ? 1 : 0;
  }
  return Use{known->second, loads ? demand.bytes : demand.flop};
}

void WgTraceSpec::describe(config::Describer<WgTraceSpec>& d) {
  d.component("wg_trace", "A kernel replayed from a workgroup trace (docs/reference/wg-trace.md).");
  d.field("file", &WgTraceSpec::file, "The trace, a .csv or .csv.zst file").exists();
  d.field("timing", &WgTraceSpec::timing,
          "modelled: Moire's models time everything; recorded: gathers take the recorded time, while stores and flags "
          "are modelled")
      .choices({{"modelled", TraceTiming::modelled}, {"recorded", TraceTiming::recorded}})
      .or_default();
  d.field("row", &WgTraceSpec::row,
          "Bytes of a row; loads are rows at random addresses. Version 1 requires it; absent in version 2: loads are "
          "long contiguous runs")
      .positive()
      .optional();
  d.field("unit", &WgTraceSpec::unit,
          "Version 1: the units of a CU that do the arithmetic of the trace; a trace of version 2 states them")
      .choices({{"vector", TraceUnit::vector}, {"matrix", TraceUnit::matrix}})
      .or_default();
  d.field("ranks", &WgTraceSpec::ranks,
          "Version 1, if the system has a multiple of the ranks of the trace: rank r does the tasks of recorded rank r "
          "modulo the number of recorded ranks, and its peers are counted from rank r. Its tasks for a recorded peer "
          "are divided among the peers that replace it (split: as much work per rank as recorded) or repeated for each "
          "of these peers (repeat)")
      .choices({{"as_recorded", RankRule::as_recorded}, {"split", RankRule::split}, {"repeat", RankRule::repeat}})
      .or_default();
  d.field("math_efficiency", &WgTraceSpec::math_efficiency,
          "Share of the peak rate of its units that the kernel's arithmetic reaches if nothing else limits it; measure "
          "it with the kernel alone")
      .range(0.001, 1)
      .or_default();
  d.field("gaps", &WgTraceSpec::gaps,
          "Version 2: time of a workgroup between two of its rows. left_out: the replay skips it; kept: the replay has "
          "a delay of this length")
      .choices({{"left_out", TraceGaps::left_out}, {"kept", TraceGaps::kept}})
      .or_default();
  d.field("pipelined", &WgTraceSpec::pipelined,
          "Version 2: true: a workgroup keeps loads in flight all the time, as in a software pipeline; false: it waits "
          "for a batch of loads before it requests the next")
      .or_default();
  d.field("cache_miss", &WgTraceSpec::cache_miss, "Share of the gathered bytes that no cache holds")
      .range(0.001, 1)
      .or_default();
  d.field("fence", &WgTraceSpec::fence, "Time to fence the stores before a ready flag; absent: port.fence of the GPU")
      .optional();
}

bool append_wg_trace(builder::Builder& build, const WgTraceSpec& spec, const config::Node& node,
                     config::Diagnostics& diagnostics) {
  MOIRE_INVARIANT(build.traces != nullptr, "a trace is replayed by a builder without files");
  const std::shared_ptr<const program::WgTrace> trace = build.traces->read(spec.file, diagnostics);
  if (!trace) return false;
  const program::WgTraceHeader& header = trace->header;
  const Rank ranks = build.ranks();
  const TraceRanks by_rank(*trace, ranks, header.ranks == ranks ? RankRule::as_recorded : spec.ranks);
  if (auto problem = by_rank.problem()) {
    diagnostics.error(node.place, *problem);
    return false;
  }
  program::Kernel kernel;
  kernel.name = build.unique(header.kernel);
  kernel.resources.threads = header.threads_per_wg;
  kernel.resources.registers_per_thread = header.registers_per_thread;
  kernel.resources.lds = Bytes{static_cast<double>(header.lds_bytes_per_wg)};
  if (header.version > 1) return append_steps(build, spec, *trace, std::move(kernel), node, diagnostics);
  if (!spec.row) {
    diagnostics.error(node.place, "a trace of version 1 gathers rows, but their size is missing", "write row: 256 B");
    return false;
  }
  if (const WgTraceRow* row = task_behind_wait(trace->rows)) {
    diagnostics.error(node.place,
                      fmt::format("rank {} workgroup {} waits between its tasks (before task {}), but version 1 of the "
                                  "format does not state what for",
                                  row->rank, row->wg, row->task),
                      "write the trace as version 2");
    return false;
  }
  Recorded recorded;
  for (const WgTraceRow& row : trace->rows) recorded.add(row);
  const Bytes in_flight{static_cast<double>(header.bytes_in_flight_per_wg)};
  const double stores = recorded.stored > 0 ? recorded.stored / (recorded.read + recorded.stored) : 0;
  kernel.shapes = {{.name = "store to peer", .peer_write = 1, .mixed_stores = stores, .in_flight = in_flight},
                   {.name = "store", .write = 1, .mixed_stores = stores, .in_flight = in_flight}};
  program::PhaseShape gather = {.name = recorded.gather.name,
                                .read_miss = spec.cache_miss,
                                .mixed_stores = stores,
                                .pipelined = false,
                                .random_rows = true,
                                .in_flight = in_flight};
  memory::loads_rows(build.gpu().hbm, *spec.row, gather);
  const auto unit =
      spec.unit == TraceUnit::matrix ? program::Arithmetic::matrix_16bit : program::Arithmetic::vector_fp32;
  TraceShapes shapes;
  std::vector<std::vector<std::pair<std::uint32_t, Task>>> in_order(ranks);
  for (Rank rank = 0; rank < ranks; ++rank) {
    for (const WgTraceRow& row : by_rank.tasks_of(rank)) {
      const auto use = shapes.use({.bytes = static_cast<double>(row.read_bytes),
                                   .flop = static_cast<double>(row.flop) / spec.math_efficiency,
                                   .unit = unit},
                                  gather, kernel.shapes);
      if (!use) return too_many_shapes(node, diagnostics);
      in_order[rank].push_back({row.wg,
                                {row.peer, false, *use, static_cast<double>(row.store_bytes),
                                 program::whole_ns(row.compute_end_ns - row.start_ns)}});
    }
  }

  Deal dealt;
  dealt.ranks = ranks;
  dealt.timing = spec.timing;
  dealt.fence = spec.fence.value_or(build.gpu().port.fence);
  dealt.tasks.resize(ranks);
  dealt.raises.assign(ranks, std::vector<std::int64_t>(ranks, 0));
  dealt.reach = build.reach();
  const std::int64_t resident = std::max<std::int64_t>(1, builder::resident_workgroups(build, kernel.resources));
  for (Rank rank = 0; rank < ranks; ++rank) {
    deal_tasks(dealt.tasks[rank], in_order[rank], header.wgs_per_rank, resident);
    for (std::vector<Task>& tasks : dealt.tasks[rank]) {
      mark_last_for_peer(tasks, ranks);
      for (const Task& task : tasks) {
        if (task.last_for_peer || !dealt.reach.stores(rank, task.peer)) ++dealt.raises[task.peer][rank];
      }
    }
  }
  dealt.ready =
      build.program.add_flags({kernel.name + ".ready", ranks, [name = kernel.name](Rank, std::uint32_t source) {
                                 return std::pair{source, name};
                               }});

  if (build.notes != nullptr && !by_rank.told().empty()) build.notes->push_back(by_rank.told());
  if (build.recorded != nullptr && header.ranks == ranks) {
    build.recorded->push_back({kernel.name,
                               program::whole_ns(header.recorded_end_ns),
                               std::int64_t{header.wgs_per_rank} * ranks,
                               {recorded.gather, recorded.fence, recorded.wait}});
  }
  kernel.body = std::make_shared<WgTraceBody>(std::move(dealt));
  build.queue.operations.emplace_back(std::move(kernel));
  return true;
}

builder::Operator wg_trace_operator() { return builder::make_operator<WgTraceSpec>("wg_trace", append_wg_trace); }

}  // namespace moire::kernel
