#include "app/study/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>
#include <utility>

#include "app/study/blame.hpp"
#include "models/hardware/machine/parts.hpp"
#include "sim/core/invariant.hpp"

namespace moire::study {

namespace {

const MetricInfo& info_of(std::string_view kind) {
  const std::vector<MetricInfo>& all = metric_infos();
  const auto known = std::find_if(all.begin(), all.end(), [kind](const MetricInfo& info) { return info.name == kind; });
  MOIRE_INVARIANT(known != all.end(), "no code declares the metric " + std::string(kind));
  return *known;
}

// Returns the name of a metric for users: the name of its kind, with the subject and the phase in place of <operation>,
// <queue> and <phase>.
std::string name_of(const Metric& metric) {
  std::string name = metric.recorded ? "recorded_" : "";
  const std::string_view kind = metric.info->name;
  for (std::size_t at = 0; at < kind.size();) {
    if (kind[at] != '<') {
      name += kind[at++];
      continue;
    }
    const std::size_t end = kind.find('>', at);
    name += kind.substr(at, end - at) == "<phase" ? metric_word(metric.phase) : metric.subject;
    at = end + 1;
  }
  return name;
}

bool of_operation(const Metric& metric) { return metric.info->name.starts_with("<operation>"); }

}  // namespace

Metric::Metric(std::string_view kind, double value_, std::string subject_, std::string phase_, bool recorded_)
    : Metric(info_of(kind), value_, std::move(subject_), std::move(phase_), recorded_) {}

Metric::Metric(const MetricInfo& kind, double value_, std::string subject_, std::string phase_, bool recorded_)
    : value(value_), info(&kind), subject(std::move(subject_)), phase(std::move(phase_)), recorded(recorded_) {
  name = name_of(*this);
}

void Metric::rename(std::string other_subject) {
  subject = std::move(other_subject);
  name = name_of(*this);
}

std::optional<double> value_of(const std::vector<Metric>& metrics, std::string_view name) {
  const auto known =
      std::find_if(metrics.begin(), metrics.end(), [name](const Metric& metric) { return metric.name == name; });
  return known == metrics.end() ? std::nullopt : std::optional(known->value);
}

std::optional<double> value_of(const std::vector<Metric>& metrics, std::string_view kind, std::string_view subject) {
  const auto known = std::find_if(metrics.begin(), metrics.end(), [&](const Metric& metric) {
    return metric.is(kind) && metric.subject == subject && !metric.recorded;
  });
  return known == metrics.end() ? std::nullopt : std::optional(known->value);
}

void tell_apart(std::vector<Metric>& metrics) {
  std::unordered_map<std::string, std::size_t> taken;
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    auto [known, fresh] = taken.try_emplace(metrics[m].name, m);
    if (fresh) continue;
    std::size_t other = m;  // the metric to rename
    if (metrics[m].subject.empty() || (!of_operation(metrics[m]) && of_operation(metrics[known->second])))
      std::swap(other, known->second);
    Metric& metric = metrics[other];
    MOIRE_INVARIANT(!metric.subject.empty(), "two metrics of a run have the name " + metric.name);
    const std::string before = metric.subject;
    const bool beside_operation = of_operation(metric) && !of_operation(metrics[known->second]);
    for (int number = beside_operation ? 1 : 2; !taken.try_emplace(metric.name, other).second; ++number) {
      metric.rename(number == 1 ? before + "_operation" : before + "_" + std::to_string(number));
    }
  }
}

const std::vector<MetricInfo>& metric_infos() {
  static const std::vector<MetricInfo> infos = [] {
    std::vector<MetricInfo> all = {
        {"time_us", "Time from enqueueing the first operation to the end of the last rank"},
        {"between_events_us",
         "Time that two events around a program that is already enqueued would show: from the first workgroup or copy "
         "(of a queue that begins with a kernel: from this kernel's first workgroup) to the last end, plus "
         "host.event_pair (one GPU: host.event_pair_alone) if a kernel comes first"},
        {"repeated_us",
         "Time of each repetition if the program is enqueued repeatedly, as nccl-tests does: from the first workgroup "
         "or copy (as for between_events_us) to the last end, plus host.queue_gap; at least host.enqueue for each "
         "operation"},
        {"skew_percent", "100 x (latest - earliest end of a rank) / latest"},
        {"rank_min_us", "End of the rank that ends first"},
        {"rank_max_us", "End of the rank that ends last"},
        {"<operation>_us", "Time from the operation's first begin on any rank to its last end on any rank"},
        {"<operation>_begin_us", "First begin of the operation on any rank"},
        {"<operation>_end_us", "Last end of the operation on any rank"},
        {"<operation>_kernel_us",
         "For a kernel: time from the start of its first workgroup on any rank to the end of its last one"},
        {"<operation>_<phase>_mean_us",
         "For a kernel: mean time that a workgroup takes for the phase once; wait is for flags"},
        {"<operation>_<phase>_per_workgroup_us",
         "For a kernel that is replayed from a WG trace: total time that a workgroup of its grid spends in the phase, "
         "mean "
         "over the workgroups"},
        {"<operation>_spent_us",
         "For an operation in parts, such as the chunks of a broadcast: total time that a rank spends in its parts, "
         "mean over the ranks that have parts"},
        {"<operation>_ratio", "For a compressed collective: plain bytes over compressed bytes, over all chunks"},
        {"<operation>_lossy_hops",
         "For a compressed collective: largest number of lossy codings that a value passes one after the other"},
        {"<operation>_error_bound",
         "For a compressed collective: largest error after lossy_hops codings, according to the codec's stated bound, "
         "relative to the largest value; for a sum, relative to the sum of the ranks' largest values"},
        {"<operation>_algbw_gb_per_s",
         "For a collective, as nccl-tests defines it: its size over its time (first begin to last end). The size is "
         "that of a rank's buffer; for all_gather, of its output"},
        {"<operation>_busbw_gb_per_s",
         "For a collective, as nccl-tests defines it: algbw x the bytes that a rank has to send per byte of the size. "
         "With n ranks this factor is 2 (n - 1) / n for all_reduce, (n - 1) / n for all_gather, reduce_scatter and "
         "all_to_all, and 1 for others. The result can be compared with the bandwidth of a rank's links"},
        {"<operation>_rank_wait_min_us",
         "For a collective: time that a rank waits in it for its peers, from its own arrival (when its queue reaches "
         "the collective) until the last member of its communicator has arrived, or until its own end if that is "
         "earlier; minimum over ranks"},
        {"<operation>_rank_wait_mean_us", "The same, mean over ranks"},
        {"<operation>_rank_wait_max_us", "The same, maximum over ranks"},
        {"<operation>_rank_move_min_us",
         "For a collective: the remaining time of a rank, after all have arrived, so that rank_wait + rank_move lasts "
         "from its own arrival to its own end; minimum over ranks"},
        {"<operation>_rank_move_mean_us", "The same, mean over ranks"},
        {"<operation>_rank_move_max_us", "The same, maximum over ranks"},
        {"recorded_<metric>", "The metric as recorded on hardware, if a kernel is replayed from a trace"},
        {"ranks", "GPUs that took part"},
        {"workgroups", "Workgroups that ran, over all ranks"},
    };
    for (const machine::RegisteredPart& part : machine::parts()) {
      for (const auto& [name, meaning] : part.declaration().traffic)
        all.push_back({std::string(name), std::string(meaning)});
    }
    for (const machine::RegisteredPart& part : machine::parts()) {
      for (const auto& [name, meaning] : part.declaration().occupied)
        all.push_back({std::string(name), std::string(meaning)});
    }
    const std::vector<MetricInfo> power = {
        {"clock_mhz",
         "With an operating point: clock at which the GPUs worked (matrix arithmetic may lower it further)"},
        {"power_mean_w", "Mean power of a GPU while the program is repeated (repeated_us), mean over GPUs"},
        {"power_hottest_w", "Mean power of the GPU that draws most"},
        {"power_peak_w", "Largest power of a GPU at any moment"},
        {"energy_j", "Energy of all GPUs for one repetition"},
        {"energy_per_matrix_flop_pj",
         "energy_j over the operations of the matrix units, including the padding of tiles"},
        {"energy_per_moved_byte_pj", "energy_j over the bytes that GPUs stored to, copied or put to each other"},
    };
    all.insert(all.end(), power.begin(), power.end());
    const std::vector<MetricInfo> overlap = {
        {"<queue>_isolated_us",
         "If several queues run (compare.ideal: overlap): time of the queue alone, with the settings of the variant "
         "that compare.to names, or else with its own"},
        {"serial_us", "Sum of the isolated times"},
        {"ideal_us", "Longest of the isolated times: the time of a perfect overlap"},
        {"<queue>_us",
         "End of the queue in this run, from the common start. If an operation has the same name, its metric is "
         "<operation>_operation_us"},
        {"<queue>_alone_us", "With compare.to: time of the queue alone with the settings of this run"},
        {"speedup", "serial_us / time_us"},
        {"ideal_speedup", "serial_us / ideal_us"},
        {"fraction_of_ideal", "(speedup - 1) / (ideal_speedup - 1)"},
        {"<queue>_lost_us",
         "With compare.blame: <queue>_us - <queue>_isolated_us. The following metrics are its parts and add up to it"},
        {"<queue>_lost_schedule_us",
         "With compare.to: <queue>_alone_us - <queue>_isolated_us, the time that the run's own settings cost the queue "
         "(fewer CUs, another engine)"},
    };
    all.insert(all.end(), overlap.begin(), overlap.end());
    for (const LostPart& lost : lost_parts()) {
      all.push_back({fmt::format("<queue>_lost_{}_us", lost.name), std::string(lost.meaning)});
    }
    const std::vector<MetricInfo> compared = {
        {"unperturbed_us", "With compare.unperturbed: time of the run without its `perturb`"},
        {"slow_down_percent", "100 x (time_us / unperturbed_us - 1)"},
        {"fastest_us", "With compare.spread: time of the run on the fastest GPUs of their type"},
        {"slowest_us", "With compare.spread: time of the run on the slowest GPUs of their type"},
        {"reduction_percent", "100 x (1 - time / time of the reference variant), at the same point"},
        {"effective_communication_us",
         "With compare.compute_only: time_us - the time of that variant, at the same point"},
        {"overlap_efficiency",
         "1 - effective_communication_us / that of compare.to: 1 if all communication is hidden, below 0 if not "
         "overlapping would be faster"},
        {"speedup", "In a comparison: time of the reference variant / time, at the same point"},
    };
    all.insert(all.end(), compared.begin(), compared.end());
    return all;
  }();
  return infos;
}

std::string_view unit_of(std::string_view metric) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> units = {{{"_us", "us"},
                                                                                   {"_percent", "%"},
                                                                                   {"_bytes", "B"},
                                                                                   {"_gb_per_s", "GB/s"},
                                                                                   {"_w", "W"},
                                                                                   {"_j", "J"},
                                                                                   {"_pj", "pJ"},
                                                                                   {"_mhz", "MHz"}}};
  for (const auto& [ending, unit] : units) {
    if (metric.ends_with(ending)) return unit;
  }
  return "";
}

std::string metric_word(std::string_view name) {
  std::string word;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    word += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return word;
}

std::vector<std::string> metric_words(const std::vector<std::string>& names) {
  std::vector<std::string> words;
  for (const std::string& name : names) {
    const std::string word = metric_word(name);
    std::string own = word;
    for (int number = 2; std::find(words.begin(), words.end(), own) != words.end(); ++number) {
      own = word + "_" + std::to_string(number);
    }
    words.push_back(std::move(own));
  }
  return words;
}

}  // namespace moire::study
