#include "app/study/told.hpp"

#include <algorithm>
#include <utility>

#include "app/study/metrics.hpp"

namespace moire::study {

std::vector<Told> told(const replay::Result& result) {
  std::vector<Told> all;
  std::unordered_map<std::string, std::size_t> known;
  for (const replay::OperationTimes& one : result.operations) {
    const auto [at, fresh] = known.try_emplace(one.name, all.size());
    if (fresh) {
      all.push_back({one, 1, one.ran});
      continue;
    }
    Told& whole = all[at->second];
    ++whole.parts;
    whole.ranks = std::max(whole.ranks, one.ran);
    whole.times.begin = std::min(whole.times.begin, one.begin);
    whole.times.end = std::max(whole.times.end, one.end);
    whole.times.first_workgroup = std::min(whole.times.first_workgroup, one.first_workgroup);
    whole.times.spent += one.spent;
    whole.times.workgroups += one.workgroups;
    whole.times.phases.insert(whole.times.phases.end(), one.phases.begin(), one.phases.end());
  }
  return all;
}

Words words_of(const std::vector<Told>& operations) {
  std::vector<std::string> names;
  for (const Told& operation : operations) names.push_back(operation.times.name);
  std::vector<std::string> words = metric_words(names);
  Words all;
  for (std::size_t o = 0; o < names.size(); ++o) all.emplace(std::move(names[o]), std::move(words[o]));
  return all;
}

}  // namespace moire::study
