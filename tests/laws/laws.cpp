#include "tests/laws/laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/config/load.hpp"
#include "tests/laws/limits.hpp"
#include "tests/laws/operating.hpp"
#include "tests/laws/stragglers.hpp"

namespace moire::laws {

namespace {

bool any(const std::string&) { return true; }
// True if the operator has the same kernels on another machine and for another size. Laws that compare times need this.
bool fixed(const std::string& op) { return op != "transformer" && op != "data_parallel_step"; }
bool has_size(const std::string& op) { return op != "wg_trace" && fixed(op); }
bool is_collective(const std::string& op) {
  Workload work;
  work.op = op;
  return work.collective();
}

}  // namespace

bool moves_bytes(const std::string& op) {
  return op != "gemm" && op != "stream" && op != "delay" && !op.ends_with("compress");
}

Verdict not_run(const Case& one, const Outcome& outcome, const Scenario& scenario) {
  // A user's algorithm may deadlock; the report says where.
  if (outcome.kind == Outcome::Kind::deadlocked && (one.op == "msccl" || one.op == "mscclpp"))
    return {Found::refused, "", outcome.text, {scenario}};
  if (outcome.kind == Outcome::Kind::refused) return {Found::refused, "", outcome.text, {scenario}};
  if (outcome.kind == Outcome::Kind::cut) return {Found::cut, "", "", {scenario}};
  return {Found::broken, name_of(outcome.kind), fmt::format("{}: {}", name_of(outcome.kind), outcome.text), {scenario}};
}

namespace {

Scenario with(Scenario scenario, const std::vector<Change>& changes) {
  scenario.changes.insert(scenario.changes.end(), changes.begin(), changes.end());
  return scenario;
}

// True if both runs have the same number of workgroups and the same kinds of metrics. This is false, for example, for
// different protocols, because their phases have different names.
bool same_kernels(const Outcome& a, const Outcome& b) {
  if (a.metric("workgroups") != b.metric("workgroups") || a.result.metrics.size() != b.result.metrics.size())
    return false;
  for (std::size_t i = 0; i < a.result.metrics.size(); ++i)
    if (a.result.metrics[i].name != b.result.metrics[i].name) return false;
  return true;
}

// The run `after` has `more` times the data of the run `before`. True if it uses another protocol: per byte of data it
// then has at most three quarters of the bytes on the wire. At some size a library changes from the protocol LL, whose
// flags take half of the bytes, to Simple.
bool other_protocol(const Outcome& before, const Outcome& after, double more) {
  const auto wire = [](const Outcome& o) { return o.metric("scale_up_bytes") + o.metric("network_bytes"); };
  return wire(after) <= 0.75 * more * wire(before) && wire(before) > 0;
}

// --- A case runs, or is refused with the place of the error

bool has_place(const std::string& line) {
  if (line.starts_with("--set ") || line.find(" more errors; ") != std::string::npos) return true;
  std::size_t at = line.find(':');
  for (int number = 0; number < 2; ++number) {
    if (at == std::string::npos) return false;
    std::size_t end = at + 1;
    while (end < line.size() && line[end] >= '0' && line[end] <= '9') ++end;
    if (end == at + 1 || end >= line.size() || line[end] != ':') return false;
    at = end;
  }
  return line.size() > at + 2;
}

Verdict runs(const Case& one, Random, const Cost& cost) {
  const Scenario scenario = one.scenario();
  const Outcome outcome = simulate(scenario, cost.most_spans);
  if (outcome.ran()) return {};
  if (outcome.kind != Outcome::Kind::refused) return not_run(one, outcome, scenario);
  for (std::size_t at = 0; at < outcome.text.size();) {
    const std::size_t end = outcome.text.find('\n', at);
    const std::string line = outcome.text.substr(at, end - at);
    if (!has_place(line))
      return {Found::broken, "place", "refused without the place of the error: " + line, {scenario}};
    at = end + 1;
  }
  return {Found::refused};
}

// --- More is never slower

bool one_wave(const Case& one, const Outcome& outcome) {
  double cus = 0, group = 0;
  for (const Parameter& number : hardware_of(one.system)) {
    if (number.name == "cu_group.cus") cus += group = number.value;
    if (number.name == "cu_group.count") cus += group * (number.value - 1);
  }
  return outcome.metric("workgroups") <= cus * outcome.ranks;
}

// True for parameters that determine how many workgroups are resident, or which workgroup is placed next.
bool of_places(const std::string& name) {
  for (const char* place :
       {"cu_group.cus", "cu_array.threads_per_cu", "cu_array.workgroups_per_cu", "cu_array.registers_per_cu",
        "cu_array.lds_per_cu", "cu_array.launch_interval", "cu_array.slot_refill", "cu_array.refill_interval"})
    if (name == place) return true;
  return false;
}

Verdict capacity(const Case& one, Random random, const Cost& cost) {
  const std::vector<Parameter>& all = hardware_of(one.system);
  std::optional<std::vector<Change>> changes;
  const Parameter* changed = nullptr;
  double factor = 1;
  for (int attempt = 0; attempt < 50 && !changes; ++attempt) {
    changed = &random.of(all);
    factor = changed->whole || changed->name == "host_memory.poll_interval"
                 ? random.of({2., 3., 4., 10.})
                 : random.of({1.01, 1.1, 1.5, 2., 3., 4., 10., 1000.});
    changes = made_better(all, *changed, factor);
  }
  if (!changes) return {Found::incomparable};
  const Scenario base = one.scenario();
  const Scenario better = with(base, *changes);
  const Outcome before = simulate(base, cost.most_spans);
  if (!before.ran()) return not_run(one, before, base);
  const Outcome after = simulate(better, 2 * cost.most_spans);
  if (!after.ran()) return not_run(one, after, better);
  // If not all workgroups fit on the GPUs at once, the order in which workgroups end determines where and when the
  // others run.
  const bool ordered = of_places(changed->name) || !moves_bytes(one.op) || one.work.is("schedule", "gemm");
  if (!same_kernels(before, after) || (ordered && !one_wave(one, before))) return {Found::incomparable};
  if (after.ps() <= before.ps() + rounding(before, after)) return {};
  const double later = after.ps() / before.ps() - 1;
  Verdict slower{
      Found::broken,
      changed->name,
      fmt::format("{} {} -> {}: {:.6f} us -> {:.6f} us ({:+.3g} %)", changed->path, changed->text(changed->value),
                  changes->front().value.substr(0, 60), before.ps() / 1e6, after.ps() / 1e6, 100 * later),
      {base, better}};
  const bool meets = moves_bytes(one.op) || of_places(changed->name);
  if ((meets && later <= most_reordered_of(one)) || after.ps() <= before.ps() + looks(one))
    return reordered(std::move(slower), later);
  return slower;
}

Verdict bytes(const Case& one, Random random, const Cost& cost) {
  Workload more = one.work;
  const double factor = random.of({1.01, 1.5, 2., 4., 16.});
  more.size = std::max(one.work.size + 1, std::floor(one.work.size * factor));
  if (one.op == "mscclpp") more.size = one.work.size * std::ceil(factor);
  const Scenario small = one.scenario(), large = one.scenario(more);
  const Outcome before = simulate(small, cost.most_spans);
  if (!before.ran()) return not_run(one, before, small);
  const Outcome after = simulate(large, 4 * cost.most_spans);
  if (!after.ran()) return not_run(one, after, large);
  if (!same_kernels(before, after)) return {Found::incomparable};
  if (other_protocol(before, after, more.size / one.work.size)) return {Found::incomparable};
  // A library may divide larger data into more concurrent pieces, or into pieces of another size. If the data grow by
  // less than a factor of two, this can save more time than the additional bytes cost.
  const double crossing = after.metric("network_bytes") / more.size * one.work.size;
  const bool same_pieces = before.steps == after.steps &&
                           std::abs(crossing - before.metric("network_bytes")) <= 0.01 * before.metric("network_bytes");
  if (factor < 2 && !same_pieces) return {Found::incomparable};
  if (before.ps() <= after.ps() + rounding(before, after)) return {};
  const double sooner = before.ps() / after.ps() - 1;
  Verdict faster{Found::broken,
                 one.work.collective() && one.work.find("engine") ? *one.work.find("engine") : "",
                 fmt::format("size {} -> {}: {:.6f} us -> {:.6f} us ({:+.3g} %)", one.work.size, more.size,
                             before.ps() / 1e6, after.ps() / 1e6, -100 * sooner),
                 {small, large}};
  return moves_bytes(one.op) && sooner <= most_reordered_of(one) ? reordered(std::move(faster), sooner) : faster;
}

// --- No more than the bandwidth of the wires

// Returns the bytes that the busiest rank must receive with any algorithm that does not sum in the switch.
double received_at_least(const Workload& work, double ranks) {
  const double others = (ranks - 1) / ranks;
  if (work.op == "all_gather") return (ranks - 1) * work.size;
  if (work.op == "all_reduce") return 2 * others * work.size;
  if (work.op == "reduce_scatter" || work.op == "all_to_all") return others * work.size;
  return work.size;
}

Verdict wire(const Case& one, Random, const Cost& cost) {
  const Scenario scenario = one.scenario();
  const Outcome outcome = simulate(scenario, cost.most_spans);
  if (!outcome.ran()) return not_run(one, outcome, scenario);
  for (const study::Metric& metric : outcome.result.metrics) {
    if (!metric.name.ends_with("_percent") || metric.value <= 100 + 1e-5) continue;
    return {Found::broken, metric.name, fmt::format("{} is {}", metric.name, metric.value), {scenario}};
  }
  if (!one.work.collective() || one.nodes > 1 || !wired(one.system) || one.work.is("engine", "nic")) return {};
  const double wire = number_of(one.system, "system.node.gpu.port.links", 1) *
                      number_of(one.system, "system.node.gpu.port.link_bandwidth", 1);
  if (one.work.by_switch()) return {};  // sums in the switch halve the bytes of an all-reduce
  const double rate = received_at_least(one.work, outcome.ranks) / (outcome.ps() * 1e-12);
  if (rate <= wire * (1 + 1e-9)) return {};
  return {Found::broken,
          "busbw",
          fmt::format("{:.4g} GB/s a rank over a port of {:.4g} GB/s", rate / 1e9, wire / 1e9),
          {scenario}};
}

// --- Ranks that do the same end together

// On one node: true if all ranks do the same. On several nodes: true if ranks with the same index in their nodes do the
// same. Ranks of one node differ in this case, because peers are in the order of ranks: the first peer of a rank may be
// in its own node or in another.
bool symmetric(const Case& one) {
  const Workload& work = one.work;
  if (work.op == "broadcast" || work.op == "chunked_broadcast" || work.op == "wg_trace" || work.op == "msccl" ||
      work.op == "mscclpp" || work.op == "transformer" || work.op == "data_parallel_step")
    return false;
  if (work.is("order", "ascending") || work.is("order", "by_destination") || work.is("order", "by_table") ||
      work.is("algorithm", "tree") || work.is("algorithm", "nvls_tree") ||
      work.find("gemm.m") != nullptr)  // ranks have unequal numbers of rows, or all begin with the same block
    return false;
  // On a dragonfly the next node is at the same router for some nodes, and at another router for others.
  if (one.nodes > 1 && number_of(one.system, "system.fabric.dragonfly.groups", 0) > 0) return false;
  if (work.chunked_ring())
    return one.nodes == 1;  // the next node of the ring may be nearer for some ranks than for others
  // On a mesh channels use different rings, and some rings have one channel more than others.
  if (work.is("algorithm", "ring") && meshed(one.system) && !work.is("channels", "1")) return false;
  return one.nodes == 1 || !(work.is("engine", "cu") || work.op == "kernel" || work.group == "embedding" ||
                             work.is("schedule", "bulk_synchronous") ||
                             work.is("schedule", "all_to_all"));  // rings enter and leave a node at different GPUs
}

// Returns the workload with a size for which all ranks own equal parts of the data. In a reduction every channel
// handles a share of every part; the shares are equal if the size is a multiple of ranks x channels x 16 KiB.
Workload with_even_parts(const Case& one) {
  Workload work = one.work;
  if (work.chunked_ring()) {
    const double unit = static_cast<double>(one.nodes * one.gpus) * std::stod(*work.find("chunks"));
    work.size = std::ceil(work.size / unit) * unit;
    return work;
  }
  if (work.op != "all_reduce" && work.op != "reduce_scatter") return work;
  const std::string* channels = work.find("channels");
  const double unit =
      static_cast<double>(one.nodes * one.gpus) * (channels != nullptr ? std::stod(*channels) : 1) * 16384;
  work.size = std::ceil(work.size / unit) * unit;
  return work;
}

Verdict alike(const Case& one, Random, const Cost& cost) {
  if (!symmetric(one)) return {Found::incomparable};
  const Scenario scenario = one.scenario(with_even_parts(one));
  const Outcome outcome = simulate(scenario, cost.most_spans);
  if (!outcome.ran()) return not_run(one, outcome, scenario);
  const std::size_t step = one.nodes == 1 ? 1 : static_cast<std::size_t>(one.gpus);
  for (std::size_t rank = step; rank < outcome.rank_end.size(); ++rank) {
    const Time end = outcome.rank_end[rank], other = outcome.rank_end[rank - step];
    if (std::abs(static_cast<double>(end.ps - other.ps)) <= rounding(outcome, outcome) + ties(one)) continue;
    return {Found::broken,
            one.work.find("engine") ? *one.work.find("engine") : "",
            fmt::format("rank {} ends at {:.6f} us, rank {} at {:.6f} us", rank - step, other.us(), rank, end.us()),
            {scenario}};
  }
  return {};
}

// --- What is sent is received

// Returns the bytes that all ranks of a chunked ring send together. The share of each rank passes the whole ring, plain
// or compressed. Returns nothing for other operators, and if data are compressed only between nodes.
std::optional<double> sent_round(const Case& one, double ranks) {
  const Workload& work = one.work;
  if (!work.chunked_ring() || work.is("between_nodes", "true")) return std::nullopt;
  const std::string* codec = work.find("codec");
  const double ratio = codec != nullptr ? std::stod(*codec) : 1;  // its first number
  const double times = work.op == "chunked_all_gather" ? ranks : work.op == "chunked_all_reduce" ? 2 : 1;
  return (ranks - 1) * times * work.size / ratio;
}

Verdict conserved(const Case& one, Random, const Cost& cost) {
  // The library may let switches compute the sums, and no rank counts the bytes that a switch sends.
  if (const std::string* by = one.work.find("gradients"); by != nullptr && by->starts_with("{by: library"))
    return {Found::incomparable};
  if (one.work.by_switch()) return {Found::incomparable};
  const Scenario scenario = one.scenario();
  const Outcome outcome = simulate(scenario, cost.most_spans);
  if (!outcome.ran()) return not_run(one, outcome, scenario);
  double sent = 0, received = 0;
  for (const double bytes : outcome.sent) sent += bytes;
  for (const double bytes : outcome.received) received += bytes;
  const auto equal = [](double a, double b) { return std::abs(a - b) <= 1 + 1e-9 * std::max(a, b); };
  const auto wrong = [&](const char* what, double a, double b) {
    return Verdict{Found::broken, what, fmt::format("{}: {} B and {} B", what, a, b), {scenario}};
  };
  if (!equal(sent, received)) return wrong("sent and received", sent, received);
  const double counted = outcome.metric("scale_up_bytes") + outcome.metric("put_bytes");
  if (!equal(sent, counted)) return wrong("sent and counted", sent, counted);
  if (outcome.metric("network_bytes") + 1 < outcome.metric("put_bytes") * (1 - 1e-9))
    return wrong("put and delivered", outcome.metric("put_bytes"), outcome.metric("network_bytes"));
  if (const std::optional<double> round = sent_round(one, outcome.ranks)) {
    // The size of each compressed chunk is rounded up to whole bytes.
    const double most = *round + 2 * outcome.ranks * outcome.ranks * std::stod(*one.work.find("chunks"));
    // A chunk that goes through the memory of a host is copied twice, and counts as sent by no rank.
    const double all = sent + outcome.metric("host_memory_bytes") / 2;
    if (all < *round * (1 - 1e-9) || all > most) return wrong("sent round the ring", all, *round);
  }
  if (!one.work.collective()) return {};
  // Every rank receives at least the bytes that the definition of the collective requires, not counting bytes that it
  // forwards for others. Without a library's FIFOs it receives no more than that. The root of a broadcast needs no
  // bytes. A leaf of a tree receives the result but no partial sums, which is half of the bytes of an all-reduce.
  const double needed = received_at_least(one.work, outcome.ranks) / (one.op == "all_reduce" ? 2 : 1);
  // All shares of an all-to-all have the same whole number of bytes.
  const double whole = one.op == "all_to_all" ? (outcome.ranks - 1) * std::ceil(one.work.size / outcome.ranks) : needed;
  const bool exact = !one.work.is("engine", "cu");
  const std::size_t root = one.work.is("root", "1") ? 1 : 0;
  for (std::size_t rank = 0; rank < outcome.received.size(); ++rank) {
    if (one.op == "broadcast" && rank == root) continue;
    const double got = outcome.received[rank] - outcome.handed_on[rank];
    if (one.op == "reduce_scatter") break;  // parts are whole elements, and ranks also receive sums to forward
    if (got < needed * (1 - 1e-9) - 1 || (exact && !equal(got, needed) && !equal(got, whole)))
      return wrong("received and needed", got, needed);
    if (exact && one.op != "broadcast" && !equal(outcome.received[rank], outcome.sent[rank]))
      return wrong("received and sent by a rank", got, outcome.sent[rank]);
  }
  return {};
}

// --- All times and rates scaled

// Returns how sensitive a run is to rounding, in picoseconds. This is the largest difference to runs in which all times
// are up to 3 ps longer or shorter, or all rates differ by up to 1e-8. Suppose that a transfer begins slightly later,
// at a moment when few transfers share a port, and ends at a moment when many do. It then ends later by a multiple of
// the initial difference. In most programs such differences vanish, but in some they grow.
double grown_rounding(const Case& one, const Scenario& base, const Outcome& outcome, const Cost& cost) {
  double most = 0;
  const auto beside = [&](auto&& changed) {
    std::vector<Change> changes;
    for (const Parameter& number : numbers_of_run(one)) {
      const double value = changed(number);
      if (value != number.value)
        changes.push_back({number.path, number.text(std::max(number.field->limits.low, value))});
    }
    const Outcome other = simulate(with(base, changes), 2 * cost.most_spans);
    if (other.ran()) most = std::max(most, std::abs(other.ps() - outcome.ps()));
  };
  for (const double ps : {-3., -2., -1., 1., 2., 3.})
    beside([ps](const Parameter& number) {
      return number.dimension == config::Dimension::time ? number.value + ps : number.value;
    });
  // The rates of activities that share resources are computed to 1e-9.
  for (const double share : {-1e-8, -1e-9, 1e-9, 1e-8})
    beside([share](const Parameter& number) { return is_rate(number) ? number.value * (1 + share) : number.value; });
  return most;
}

Verdict scaled(const Case& one, Random random, const Cost& cost) {
  const double k = random.of({2., 3., 5., 10.});
  std::vector<Change> changes;
  for (const Parameter& number : numbers_of_run(one)) {
    const double value = number.dimension == config::Dimension::time ? number.value * k
                         : is_rate(number)                           ? number.value / k
                                                                     : number.value;
    if (value != number.value) changes.push_back({number.path, number.text(value)});
  }
  const Scenario base = one.scenario();
  const Scenario slow = with(one.scenario(one.work, k), changes);
  const Outcome before = simulate(base, cost.most_spans);
  if (!before.ran()) return not_run(one, before, base);
  const Outcome after = simulate(slow, 2 * cost.most_spans);
  if (!after.ran()) return not_run(one, after, slow);
  const double difference = std::abs(after.ps() - k * before.ps());
  if (difference <= k * rounding(before, after)) return {};
  Verdict broken{
      Found::broken,
      "",
      fmt::format("times {0}: {1:.6f} us -> {2:.6f} us, {3:.8g} times as long (all times x {0}, rates / {0})", k,
                  before.ps() / 1e6, after.ps() / 1e6, after.ps() / before.ps()),
      {base}};
  // Rounding can change which message a port serves first, and rounding errors can grow.
  if (difference <= k * ties(one) || difference <= 2 * k * grown_rounding(one, base, before, cost))
    return reordered(std::move(broken), difference / (k * before.ps()));
  return broken;
}

// --- No queue is faster beside another one than alone

Verdict together(const Case& one, Random random, const Cost& cost) {
  Case other = one;
  other.op = random.of<const char*>({"gemm", "stream", "all_to_all", "all_gather", "delay"});
  draw(other, random, Draw::strict, cost.most_ranks);
  other.nodes = one.nodes;
  other.gpus = one.gpus;
  const std::string a = one.work.text(), b = other.work.text();
  const auto program = [&](const std::string& queues) {
    return Scenario{one.system, "{queues: {" + queues + "}}", one.machine()};
  };
  const Scenario both = program("a: [" + a + "], b: [" + b + "]");
  const Outcome outcome = simulate(both, 2 * cost.most_spans);
  if (!outcome.ran()) return not_run(one, outcome, both);
  for (const std::string& queue : {"a: [" + a + "]", "b: [" + b + "]"}) {
    const Scenario alone = program(queue);
    const Outcome lone = simulate(alone, cost.most_spans);
    if (!lone.ran()) return not_run(one, lone, alone);
    if (lone.ps() <= outcome.ps() + rounding(lone, outcome)) continue;
    Verdict broken{Found::broken,
                   "",
                   fmt::format("alone {:.6f} us, beside another queue {:.6f} us", lone.ps() / 1e6, outcome.ps() / 1e6),
                   {both, alone}};
    if (lone.ps() * (1 - most_apart(one)) <= outcome.ps())
      return reordered(std::move(broken), lone.ps() / outcome.ps() - 1);
    return broken;
  }
  return {};
}

struct Told {
  const char* how;
  const std::vector<study::Metric>& metrics;
};

Verdict same_metrics(const Scenario& scenario, const Told& one, const Told& other) {
  const auto broken = [&](const std::string& name, double a, double b) {
    return Verdict{
        Found::broken, "", fmt::format("{}: {} {:.17g}, {} {:.17g}", name, one.how, a, other.how, b), {scenario}};
  };
  if (one.metrics.size() != other.metrics.size())
    return broken("metrics", static_cast<double>(one.metrics.size()), static_cast<double>(other.metrics.size()));
  for (std::size_t i = 0; i < one.metrics.size(); ++i) {
    const study::Metric &a = one.metrics[i], &b = other.metrics[i];
    if (a.name != b.name || a.value != b.value) return broken(a.name, a.value, b.value);
  }
  return {};
}

// --- An observer does not change a run

Verdict observed(const Case& one, Random, const Cost& cost) {
  const Scenario scenario = one.scenario();
  const Outcome seen = simulate(scenario, cost.most_spans);
  if (!seen.ran()) return not_run(one, seen, scenario);
  const Outcome unseen = simulate(scenario, 0, study::Folding::off);
  if (!unseen.ran()) return not_run(one, unseen, scenario);
  return same_metrics(scenario, {"without an observer", unseen.result.metrics}, {"observed", seen.result.metrics});
}

// --- A run takes as long in the queue model of the network as with max-min fair flows

Verdict fluid(const Case& one, Random, const Cost& cost) {
  if (one.nodes == 1) return {Found::incomparable};
  // To limit their cost, some cases get large network chunks, which do not behave like a fluid.
  const std::vector<Change> machine = one.machine();
  if (std::any_of(machine.begin(), machine.end(),
                  [](const Change& change) { return change.path == "system.network.chunk"; }))
    return {Found::incomparable};
  const Scenario scenario = one.scenario();
  const Outcome queues = simulate(scenario, cost.most_spans);
  if (!queues.ran()) return not_run(one, queues, scenario);
  if (queues.metric("network_bytes") == 0) return {Found::incomparable};
  const Scenario fair = with(scenario, {{"system.network.model", "flow"}});
  const Outcome flows = simulate_in_child(fair);
  if (!flows.ran()) return not_run(one, flows, fair);
  const double longer = queues.ps() / flows.ps() - 1;
  if (std::abs(longer) <= most_reordered) return {};
  Verdict apart{
      Found::broken,
      "",
      fmt::format("queues {:.6f} us, flows {:.6f} us ({:+.3g} %)", queues.ps() / 1e6, flows.ps() / 1e6, 100 * longer),
      {scenario, fair}};
  const double later = queues.ps() - flows.ps();
  return std::abs(longer) <= most_unfair || (later > 0 && later <= ties(one))
             ? reordered(std::move(apart), std::abs(longer))
             : apart;
}

// --- Folding gives the same metrics as simulating all ranks

Verdict folded(const Case& one, Random random, const Cost& cost) {
  if (one.nodes == 1) return {Found::incomparable};
  const Scenario scenario = one.scenario(random.one_in(4) ? one.work : with_even_parts(one));
  const Outcome whole = simulate(scenario, cost.most_spans);
  if (!whole.ran()) return not_run(one, whole, scenario);
  const Outcome block = simulate(scenario, cost.most_spans, study::Folding::automatic);
  if (!block.ran()) return not_run(one, block, scenario);
  if (block.result.fold.images == 1) return {Found::incomparable};
  return same_metrics(scenario, {"all ranks", whole.result.metrics}, {"folded", block.result.metrics});
}

}  // namespace

const std::vector<Law>& all_laws() {
  static const std::vector<Law> laws = {
      {"runs", "a case runs, or is refused with the place of the error", 1, Draw::loose, any, runs},
      {"capacity", "more of a capacity, less of a latency, is never slower", 6, Draw::strict, fixed, capacity},
      {"bytes", "more bytes are never faster", 1, Draw::strict, has_size, bytes},
      {"floor", "with unlimited rates, only the latencies remain", 1, Draw::strict, fixed, floor_law},
      {"rate", "in a large transfer, every further byte takes the same time", 1, Draw::strict, is_collective, rate_law},
      {"bottleneck", "if one capacity alone limits, the time is the work over its rate", 2, Draw::strict,
       has_bottleneck, bottleneck_law},
      {"wire", "no part is busy for more than 100 % of the time, and no bus bandwidth is above the port's", 1,
       Draw::strict, any, wire},
      {"alike", "ranks that do the same end at the same time", 1, Draw::strict, any, alike},
      {"scaled", "with all rates / k and all times x k, a run takes k times as long", 2, Draw::strict, fixed, scaled},
      {"conserved", "bytes sent are received", 1, Draw::strict, moves_bytes, conserved},
      {"observed", "a run with an observer, as for a timeline, gives the same metrics as a run without", 1,
       Draw::strict, any, observed},
      {"fluid", "between nodes, queues take as long as max-min fair flows", 1, Draw::strict, moves_bytes, fluid},
      {"folded", "the simulation of one of several equal blocks of nodes gives the metrics of all, to the last digit",
       2, Draw::strict, moves_bytes, folded},
      {"slower", "a slower GPU, NIC or link never makes a run faster", 2, Draw::strict, fixed, slower},
      {"late", "ranks that begin s later make a run end 0 to s later", 1, Draw::strict, fixed, late},
      {"operated", "a higher clock or power limit is never slower, and energy is power times time", 1, Draw::strict,
       fixed, operated},
      {"together", "no queue is faster beside another queue than alone", 1, Draw::strict, fixed, together},
  };
  return laws;
}

}  // namespace moire::laws
