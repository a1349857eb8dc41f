#include "tests/laws/stragglers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace moire::laws {

namespace {

Scenario perturbed(Scenario scenario, const std::string& what) {
  scenario.changes.push_back({"perturb", what});
  return scenario;
}

// Returns text for a key whose value is a list of one or two numbers from 0 to `all` - 1, such as "ranks: [3, 0], ".
// May also return "": without the key all ranks or nodes are perturbed.
std::string some(const char* key, std::int64_t all, Random& random) {
  const auto drawn = [&] { return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(all))); };
  const std::int64_t first = drawn(), second = drawn();
  if (random.one_in(4)) return "";
  if (random.one_in(4) && first != second) return fmt::format("{}: [{}, {}], ", key, first, second);
  return fmt::format("{}: [{}], ", key, first);
}

// Returns how much later than by the delay a run may end, as a fraction of its time. A late rank can make other ranks
// compete for ports that they used in turn before. If many ranks share ports, this may cost the whole time of the run
// once more (Graham's bound). Many ranks share ports in direct exchanges, copies and custom kernels, and with switches
// that sum for all ranks. They also do in recursive exchanges, because a delay brings channels to different peers. In
// rings and trees a receiver has one sender, and workgroups forward the data that they have received, so only channels
// get out of step. In send_recv workgroups send and receive at the same time, and send more slowly while they receive.
double most_met(const Case& one) {
  return in_a_row(one) || one.work.is("algorithm", "tree") ? std::max(most_out_of_step, most_reordered_of(one)) : 1;
}

Verdict judged(const Case& one, const char* kind, const std::string& what, const Outcome& before, const Outcome& after,
               double most_later, const std::vector<Scenario>& runs) {
  const double small = rounding(before, after);
  const auto broken = [&](const char* how) {
    return Verdict{Found::broken, kind,
                   fmt::format("{}: {:.6f} us -> {:.6f} us ({}; {:+.3g} %)", what, before.ps() / 1e6, after.ps() / 1e6,
                               how, 100 * (after.ps() / before.ps() - 1)),
                   runs};
  };
  if (after.ps() < before.ps() - small) {
    if (after.ps() >= before.ps() * (1 - most_apart(one)))
      return reordered(broken("faster"), 1 - after.ps() / before.ps());
    return broken("faster");
  }
  const double beyond = after.ps() - before.ps() - most_later;
  if (beyond <= small) return {};
  const Verdict later = broken("later by more than the delay");
  if (beyond <= before.ps() * most_met(one)) return reordered(later, beyond / before.ps());
  return later;
}

Verdict held(const Case& one, const char* kind, const std::string& what, double most_later, const Cost& cost) {
  const Scenario base = one.scenario();
  const Scenario other = perturbed(base, what);
  const Outcome before = simulate(base, cost.most_spans);
  if (!before.ran()) return not_run(one, before, base);
  const Outcome after = simulate(other, 2 * cost.most_spans);
  if (!after.ran()) return not_run(one, after, other);
  return judged(one, kind, what, before, after, most_later, {base, other});
}

}  // namespace

Verdict slower(const Case& one, Random random, const Cost& cost) {
  constexpr double never = 1e30;
  const std::int64_t ranks = one.nodes * one.gpus;
  const bool network = one.nodes > 1 && number_of(one.system, "system.node.nics", 0) > 0;
  const bool ports = one.gpus > 1 && wired(one.system);
  const double share = random.of({0.99, 0.9, 0.5, 0.1});
  const std::string value = fmt::format("{{value: {}}}}}]}}", share);
  const std::uint64_t kind = random.below(3);
  if (kind == 1 && ports)
    return held(one, "ports", "{ports: [{" + some("ranks", ranks, random) + "bandwidth: " + value, never, cost);
  if (kind == 2 && network)
    return held(one, "nics", "{nics: [{" + some("nodes", one.nodes, random) + "bandwidth: " + value, never, cost);
  return held(one, "gpus", "{gpus: [{" + some("ranks", ranks, random) + "clock: " + value, never, cost);
}

Verdict late(const Case& one, Random random, const Cost& cost) {
  const double delay = random.of({1e3, 1e6, 2e7, 1e9});  // ps
  const std::string who = some("ranks", one.nodes * one.gpus, random);
  const std::string how = random.one_in(2) ? fmt::format("{{value: {} ps}}", delay)
                                           : fmt::format("{{uniform: {{from: 0 ps, to: {} ps}}}}", delay);
  return held(one, "start", fmt::format("{{start: [{{{}delay: {}}}]}}", who, how), delay, cost);
}

}  // namespace moire::laws
