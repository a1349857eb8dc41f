// libFuzzer: the bytes choose a machine of few GPUs and an operation. The operation is simulated, and all invariants
// are checked. It must run or be refused. MSCCL algorithms that send before they receive may also deadlock.
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "models/workload/operators/registry.hpp"
#include "tests/laws/workload.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace moire::laws;
  constexpr std::size_t most_spans = 2'000;  // a run with more steps is stopped and counts as having run
  static const std::vector<std::string> systems = system_names();
  Random random(std::string_view(reinterpret_cast<const char*>(data), size));
  const auto& operators = moire::operators::all();
  Case one;
  one.law = "fuzz";
  one.op = operators[random.below(operators.size())].name;
  one.system = random.of(systems);
  one.size = static_cast<Size>(random.below(3));
  draw(one, random, random.one_in(2) ? Draw::loose : Draw::strict, few_ranks);
  const Scenario scenario = one.scenario();
  const Outcome outcome = simulate(scenario, most_spans);
  const bool hangs = one.op == "msccl" && outcome.kind == Outcome::Kind::deadlocked;
  const bool held =
      outcome.ran() || hangs || outcome.kind == Outcome::Kind::cut || outcome.kind == Outcome::Kind::refused;
  if (held) return 0;
  std::fprintf(stderr, "%s: %s\n%smoire run FILE%s\n", name_of(outcome.kind), outcome.text.c_str(),
               scenario.yaml().c_str(), scenario.command().c_str());
  std::abort();
}
