#include "app/study/blame.hpp"

#include <algorithm>
#include <numeric>

#include "models/hardware/machine/parts.hpp"
#include "sim/core/invariant.hpp"

namespace moire::study {

using machine::Apart;

const std::vector<LostPart>& lost_parts() {
  static const std::vector<LostPart> all = [] {
    std::vector<LostPart> made;
    for (const machine::RegisteredPart& part : machine::parts()) {
      for (const part::BlameKind& kind : part.declaration().blame) {
        if (!kind.waited.empty()) made.push_back({kind.waited, kind.waited_meaning});
        made.push_back({kind.lost, kind.meaning});
      }
    }
    return made;
  }();
  return all;
}

namespace {

std::size_t number_of(std::string_view part) {
  const auto& all = lost_parts();
  const auto known = std::find_if(all.begin(), all.end(), [part](const LostPart& lost) { return lost.name == part; });
  MOIRE_INVARIANT(known != all.end(), "time was lost to a cause that no part declares");
  return static_cast<std::size_t>(known - all.begin());
}

}  // namespace

void QueueBlame::charge(std::string_view part, Time more) { lost[number_of(part)] += more; }

Time QueueBlame::of(std::string_view part) const { return lost[number_of(part)]; }

Time QueueBlame::sum() const { return std::accumulate(lost.begin(), lost.end(), Time{}); }

std::vector<QueueBlame> blame(const PreparedRun& run, const std::vector<QueueResult>& together,
                              const std::vector<QueueResult>& alone,
                              const std::function<RunResult(const Apart&)>& simulated) {
  MOIRE_INVARIANT(together.size() == alone.size(), "blame without the time of every queue alone");
  std::vector<QueueBlame> queues;
  for (const QueueResult& queue : together) queues.push_back({queue.name});
  std::vector<QueueResult> before = together;
  const auto charge = [&](std::string_view part, const std::vector<QueueResult>& after) {
    for (std::size_t q = 0; q < queues.size(); ++q) queues[q].lost[number_of(part)] += before[q].end - after[q].end;
  };
  // Kinds of sharing that can cost time in this run.
  std::vector<const part::BlameKind*> kinds;
  for (const machine::RegisteredPart& part : machine::parts()) {
    for (const part::BlameKind& kind : part.declaration().blame) {
      if (part.shares(kind, *run.system, *run.program)) kinds.push_back(&kind);
    }
  }
  // Without any sharing a queue ends as it does alone. The last kind is therefore charged with the remaining difference
  // to the queue alone, without another simulation. If a counterfactual run cannot remove one kind completely (`rest`),
  // this kind is charged with the remaining difference instead.
  const std::optional<std::string_view> rest = machine::kind_that_stays_shared(*run.system);
  Apart apart{run.program->families(), {}};
  for (const part::BlameKind* kind : kinds) {
    if (kind == kinds.back() && !rest) {
      charge(kind->lost, alone);
      break;
    }
    apart.kinds.push_back(kind->key);
    std::vector<QueueResult> after = simulated(apart).queues;
    if (after.size() != queues.size()) return {};
    charge(kind->lost, after);
    for (std::size_t q = 0; !kind->waited.empty() && q < queues.size(); ++q) {
      const Time waited = before[q].waited - after[q].waited;
      queues[q].lost[number_of(kind->waited)] += waited;
      Time& others = queues[q].lost[number_of(kind->lost)];
      others = others - waited;
    }
    before = std::move(after);
  }
  for (const machine::RegisteredPart& part : machine::parts()) {
    for (const part::BlameKind& kind : part.declaration().blame) {
      if (rest && kind.key == *rest) charge(kind.lost, alone);
    }
  }
  return queues;
}

}  // namespace moire::study
