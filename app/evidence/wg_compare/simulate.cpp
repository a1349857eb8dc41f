#include "app/evidence/wg_compare/simulate.hpp"

#include "app/evidence/wg_compare/recorder.hpp"
#include "app/study/child.hpp"
#include "app/study/packed.hpp"
#include "app/study/simulate.hpp"

namespace moire::wg_compare {

using study::MaybeConst;

template <MaybeConst<Record> T, class Each>
void each_field(T& record, const Each& each) {
  each(record.kernel);
  each(record.ranks);
  each(record.workgroups_per_rank);
  each(record.makespan);
  each(record.knows_arrivals);
  each(record.tasks);
  each(record.stores);
}

template <MaybeConst<Recorded> T, class Each>
void each_field(T& recorded, const Each& each) {
  each(recorded.record);
  each(recorded.deadlock);
  each(recorded.kernels);
}

Recorded simulate_recorded(const study::PreparedRun& run, const std::string& kernel) {
  const auto simulated = [&] {
    Recorder recorder(run.program->ranks());
    Recorded recorded;
    recorded.deadlock = simulate(run, &recorder).deadlock;
    recorded.kernels = recorder.kernels();
    if (recorded.deadlock.empty()) recorded.record = recorder.record(kernel);
    return study::packed(recorded);
  };
  return study::unpacked<Recorded>(study::run_in_child(simulated, [] {}).text);
}

}  // namespace moire::wg_compare
