#include "tests/laws/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "models/workload/libraries/collective_library.hpp"
#include "models/workload/libraries/plan_library.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::laws {

namespace {

// Returns the scenario of a case with all rates multiplied by `factor`. Also sets every time to its present value,
// because some times would otherwise scale with the clock.
Scenario with_rates(const Case& one, double factor) {
  Scenario scenario = one.scenario();
  for (const Parameter& number : numbers_of_run(one)) {
    if (is_rate(number)) scenario.changes.push_back({number.path, number.text(number.value * factor)});
    if (number.dimension == config::Dimension::time)
      scenario.changes.push_back({number.path, number.text(number.value)});
  }
  return scenario;
}

// Multiplies all rates by a million, and sets all times to the smallest values that their keys accept.
void idealise(const Case& one, Scenario& scenario) {
  for (const Parameter& number : numbers_of_run(one)) {
    if (is_rate(number)) scenario.changes.push_back({number.path, number.text(number.value * 1e6)});
    if (number.dimension == config::Dimension::time)
      scenario.changes.push_back({number.path, number.text(number.field->limits.low)});
  }
}

}  // namespace

std::vector<Parameter> numbers_of_run(const Case& one) {
  std::vector<Parameter> numbers = all_numbers_of(one.system);
  const std::string* library = one.work.find("library");
  if (library == nullptr) return numbers;
  static std::map<std::string, config::Node> trees;
  const auto [at, fresh] = trees.try_emplace(*library);
  if (fresh) {
    config::Diagnostics diagnostics;
    at->second = config::load(support::source_dir() + "/configs/scenarios/" + *library, {}, diagnostics).value();
  }
  const std::string path =
      fmt::format("program.queues.main.0.{}.{}library", one.op, one.work.group.empty() ? "" : one.work.group + ".");
  const config::Description& spec = one.op == "mscclpp" ? config::description<libraries::PlanLibrarySpec>()
                                                        : config::description<libraries::LibrarySpec>();
  for (Parameter& number : parameters_of(at->second, spec, path)) numbers.push_back(std::move(number));
  return numbers;
}

Verdict floor_law(const Case& one, Random, const Cost& cost) {
  const Scenario base = one.scenario(), fast = with_rates(one, 1e6), faster = with_rates(one, 5e6);
  const Outcome slow = simulate(base, cost.most_spans);
  if (!slow.ran()) return not_run(one, slow, base);
  const Outcome a = simulate(fast, 2 * cost.most_spans);
  if (!a.ran()) return not_run(one, a, fast);
  const Outcome b = simulate(faster, 2 * cost.most_spans);
  if (!b.ran()) return not_run(one, b, faster);
  if (slow.metric("workgroups") != a.metric("workgroups")) return {Found::incomparable};
  if (a.ps() > slow.ps() + rounding(a, slow)) {
    Verdict slower{Found::broken,
                   "faster rates",
                   fmt::format("{:.6f} us, with rates x 1e6 {:.6f} us", slow.ps() / 1e6, a.ps() / 1e6),
                   {base, fast}};
    const double later = a.ps() / slow.ps() - 1;
    const bool allowed = later <= most_reordered_of(one) || a.ps() <= slow.ps() + looks(one);
    return moves_bytes(one.op) && allowed ? reordered(std::move(slower), later) : slower;
  }
  const auto apart = [](const Outcome& x, const Outcome& y) {
    return std::abs(x.ps() - y.ps()) > 0.01 * y.ps() + rounding(x, y);
  };
  if (!apart(a, b)) return {};
  // With 1 GiB and many ranks the transfer time at these rates may not be negligible yet.
  const Scenario fastest = with_rates(one, 25e6);
  const Outcome c = simulate(fastest, 2 * cost.most_spans);
  if (!c.ran()) return not_run(one, c, fastest);
  // From one run to the next the transfer time falls by a factor of 5, so the times of two runs determine the time
  // without transfers.
  const auto floor_by = [](const Outcome& x, const Outcome& y) { return y.ps() - (x.ps() - y.ps()) / 4; };
  const double floor = floor_by(b, c);
  if (apart(b, c) && std::abs(floor_by(a, b) - floor) > 0.01 * floor + rounding(b, c))
    return {Found::broken,
            "no floor",
            fmt::format("rates x 1e6 {:.6f} us, x 5e6 {:.6f} us, x 25e6 {:.6f} us", a.ps() / 1e6, b.ps() / 1e6,
                        c.ps() / 1e6),
            {base}};
  return {};
}

namespace {

// Returns the bytes per rank that all channels together move in one round of whole chunks. A library divides the data
// into such rounds, and a partial round may take as long as a whole one.
double round_of(const Case& one, const Outcome& few) {
  const auto number = [&](const std::string& path) { return number_of(one.system, "system.library." + path, 4096); };
  const std::string* protocol = one.work.find("protocol");
  if (!protocol) return few.ranks * number("max_channels") * number("node.slot");
  const double channels = std::max(1.0, few.metric("workgroups"));  // over all ranks
  return channels * number("channels." + *protocol + ".chunk") / (one.op == "all_gather" ? few.ranks : 1);
}

}  // namespace

// Doubles the number of whole rounds (round_of) until every further byte takes the same time. Small sizes take longer
// per byte, because a pipeline has to fill first, and because the library uses more channels for larger messages.
Verdict rate_law(const Case& one, Random, const Cost& cost) {
  constexpr double least = 2, most = 1024;  // rounds; channels may get out of step, and so faster, only after many
  if (one.nodes * one.gpus > few_ranks) return {Found::incomparable};  // too many steps to simulate
  // The times of steps vary (step_spread). The offset between channels that share a NIC therefore drifts, and with it
  // the time that they lose to each other.
  const double near = one.nodes > 1 && one.work.collective() ? most_out_of_step : 0.01;
  const std::size_t most_spans = 4 * cost.most_spans;
  Case own = one;
  own.work.size = std::exp2(22);
  const Outcome few = simulate(own.scenario(), most_spans);
  if (!few.ran()) return not_run(one, few, own.scenario());
  const double round = std::ceil(round_of(one, few));
  Verdict broken{Found::broken, one.work.find("engine") ? *one.work.find("engine") : "", "", {}};
  std::vector<double> ps;
  Workload work = one.work;
  own.work.size = 8 * least * round;  // so that all runs have the same network.chunk
  for (double rounds = least; rounds <= most; rounds *= 2) {
    work.size = rounds * round;
    const Scenario& scenario = broken.runs.emplace_back(own.scenario(work));
    const Outcome outcome = simulate(scenario, most_spans);
    if (!outcome.ran()) return not_run(one, outcome, scenario);
    broken.why += fmt::format("{}{} B: {:.3f} us", ps.empty() ? "" : ", ", work.size, outcome.ps() / 1e6);
    ps.push_back(outcome.ps());
    if (ps.size() > 2) {
      const double last = ps.back() - ps.end()[-2], before = ps.end()[-2] - ps.end()[-3];
      if (std::abs(last - 2 * before) <= near * last) return {};
    }
    if (2 * outcome.steps > most_spans) return {Found::cut};
  }
  return broken;
}

bool has_bottleneck(const std::string& op) {
  return op == "stream" || op == "gemm" || op == "send_recv" || op == "all_to_all" || op == "all_gather";
}

Verdict bottleneck_law(const Case& one, Random random, const Cost& cost) {
  Case own = one;
  Workload& work = own.work;
  const std::string gpu = "system.node.gpu.";
  const auto number = [&](const std::string& path, double absent = 0) { return number_of(one.system, path, absent); };
  double cus = 0, group = 0;
  for (const Parameter& each : hardware_of(one.system)) {
    if (each.name == "cu_group.cus") cus += group = each.value;
    if (each.name == "cu_group.count") cus += group * (each.value - 1);
  }
  const bool mesh = system_tree(one.system).find("node")->find("wiring")->text == "full_mesh";
  const double nics = std::min(number("system.node.nics"), static_cast<double>(own.gpus));
  std::string limit;
  double seconds = 0;
  work.keys.clear();
  if (one.op == "stream") {
    work.size = std::exp2(26) * static_cast<double>(1 + random.below(4));
    work.keys = {{"half", "read"}};
    limit = gpu + "hbm.bandwidth";
    seconds = work.size / number(limit);
    if (random.one_in(2)) {
      // Every CU has the same number of workgroups, and every workgroup the same number of blocks.
      const double block = 65536;
      const double places = std::floor(number(gpu + "compute.threads_per_cu") / 256);
      work.size = cus * places * block * static_cast<double>(4 + random.below(4));
      work.keys.push_back({"block", "64 KiB"});
      work.keys.push_back({"schedule", "grid_stride"});
      limit = gpu + "compute.load_store_per_cu";
      seconds = work.size / (cus * number(limit));
    }
  } else if (one.op == "gemm") {
    const double across = 1 + static_cast<double>(random.below(8)), down = 1 + static_cast<double>(random.below(8));
    work.size = 64 * static_cast<double>(16 + random.below(64));
    work.keys = {{"m", fmt::format("{}", 64 * across)},
                 {"n", fmt::format("{}", 64 * down)},
                 {"dtype", "fp32"},
                 {"tile", "{m: 64, n: 64, k: 32, stages: 2}"},
                 {"split_k", "1"},
                 {"cluster", "{m: 1, n: 1}"},
                 {"schedule", "one_tile"}};
    if (across * down > cus) return {Found::incomparable};
    limit = gpu + "compute.vector_fp32";
    const double main_loop = number(gpu + "gemm.main_loop", 1);
    seconds = 2 * 64 * 64 * work.size / main_loop / (number(limit) / cus);
  } else {
    const double ranks = static_cast<double>(own.nodes * own.gpus);
    // Fraction of the size that a rank sends to each peer.
    const double share = one.op == "all_to_all" ? 1 / ranks : 1;
    work.size = std::exp2(own.nodes == 1 ? 24 : 28) * static_cast<double>(1 + random.below(4));
    if (own.nodes == 1) {
      if (!wired(one.system) || own.gpus < 2) return {Found::incomparable};
      work.keys = {{"engine", "dma"}, {"own_share", "left"}};
      const double peers = one.op == "send_recv" ? 1 : ranks - 1;
      limit = gpu + (random.one_in(2) ? "dma.bandwidth" : "port.link_bandwidth");
      if (limit.ends_with("link_bandwidth")) {
        const double efficiency = number(gpu + "port.copy_efficiency", number(gpu + "port.payload_efficiency"));
        const double links = number(gpu + "port.links");
        // On a mesh each peer has its own links, and the copies of a queue run one after the other. A copy therefore
        // uses only the links to one peer.
        seconds = peers * work.size * share /
                  (number(limit) * efficiency * (mesh ? number("system.node.links_per_pair") : links));
      } else {
        seconds = peers * work.size * share / number(limit);
      }
    } else {
      if (nics == 0 || own.gpus % static_cast<std::int64_t>(nics) != 0) return {Found::incomparable};
      work.keys = {{"engine", "nic"}};
      double peers = ranks - static_cast<double>(wired(one.system) ? own.gpus : 1);  // peers that need a put
      if (one.op == "send_recv") {
        work.keys.push_back({"peer_offset", std::to_string(own.gpus)});
        peers = 1;
      }
      const double of_nic = static_cast<double>(own.gpus) / nics * peers;  // puts per NIC
      limit = std::string("system.node.nic.") + random.of<const char*>({"bandwidth", "pcie_bandwidth", "message_rate"});
      if (limit.ends_with("message_rate")) {
        work.size = one.op == "all_to_all" ? ranks : 1;
        seconds = 2 * of_nic / number(limit);  // two messages per put: data and flag
      } else {
        // The bandwidth of the NIC includes packet headers; the bandwidth of its PCIe link is for payload only.
        seconds = of_nic * work.size * share / number(limit);
        if (limit.ends_with("nic.bandwidth")) seconds /= number("system.node.nic.payload_efficiency", 1);
      }
    }
  }
  Scenario scenario = own.scenario();
  idealise(own, scenario);
  scenario.changes.push_back({limit, fmt::format("{} {}", number(limit),
                                                 limit.ends_with("fp32")           ? "FLOP/s"
                                                 : limit.ends_with("message_rate") ? "/s"
                                                                                   : "B/s")});
  const Outcome outcome = simulate(scenario, 4 * cost.most_spans);
  if (!outcome.ran()) return not_run(one, outcome, scenario);
  const double expected = seconds * 1e12;
  if (std::abs(outcome.ps() - expected) <= 0.01 * expected + rounding(outcome, outcome)) return {};
  return {Found::broken,
          limit.substr(limit.find("node.") + 5),
          fmt::format("only {} limits: {:.6f} us expected, {:.6f} us found", limit, expected / 1e6, outcome.ps() / 1e6),
          {own.scenario()}};
}

}  // namespace moire::laws
