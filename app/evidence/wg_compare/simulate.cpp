#include "app/evidence/wg_compare/simulate.hpp"

#include "app/evidence/wg_compare/recorder.hpp"
#include "app/study/child.hpp"
#include "app/study/packed.hpp"
#include "app/study/simulate.hpp"

namespace moire::wg_compare {

using study::MaybeConst;

void each_field(MaybeConst<Record> auto& record, const auto& each) {
  each(record.kernel, record.ranks, record.workgroups_per_rank, record.makespan, record.knows_arrivals, record.tasks,
       record.stores);
}

void each_field(MaybeConst<Recorded> auto& recorded, const auto& each) {
  each(recorded.record, recorded.deadlock, recorded.kernels);
}

Recorded simulate_recorded(const study::PreparedRun& run, const std::string& kernel) {
  const auto simulated = [&] {
    Recorder recorder(run.program->ranks());
    Recorded recorded;
    study::PreparedRun all_ranks = run;
    all_ranks.fold = {};
    recorded.deadlock = simulate(all_ranks, &recorder).deadlock;
    recorded.kernels = recorder.kernels();
    if (recorded.deadlock.empty()) recorded.record = recorder.record(kernel);
    return study::packed(recorded);
  };
  return study::unpacked<Recorded>(study::run_in_child(simulated, [] {}).text);
}

}  // namespace moire::wg_compare
