#include "app/study/spread.hpp"

#include "sim/config/suggest.hpp"

namespace moire::study {

PreparedRunPtr with_spread(const PreparedRun& run, const config::Place& asked, config::Diagnostics& diagnostics) {
  const machine::GpuSpec& gpu = run.system->node.gpu;
  if (!gpu.spread) {
    diagnostics.error(asked, "the file of the GPU " + config::in_quotes(gpu.name) + " has no 'spread'",
                      "write it there (`moire explain spread`), or remove 'spread' here");
    return nullptr;
  }
  const auto at_end = [&run](bool fast) {
    auto system = std::make_shared<libraries::EquippedSystem>(*run.system);
    system->node.gpu = system->node.gpu.at_end(fast);
    auto end = std::make_shared<PreparedRun>(run);
    end->system = std::move(system);
    end->machine = nullptr;
    return end;
  };
  auto own = std::make_shared<PreparedRun>(run);
  own->fastest = at_end(true);
  own->slowest = at_end(false);
  return own;
}

void simulate_spread(const PreparedRun& prepared, RunResult& result) {
  if (!result.deadlock.empty()) return;
  const auto add = [&result](const char* name, const PreparedRun& end) {
    const RunResult other = simulate_more(end);
    study::add(other.stats, result.stats);
    result.metrics.push_back({name, microseconds(other.time)});
  };
  add("fastest_us", *prepared.fastest);
  add("slowest_us", *prepared.slowest);
}

}  // namespace moire::study
