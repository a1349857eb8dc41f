#include "app/study/metrics.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace moire::study {

std::optional<double> value_of(const std::vector<Metric>& metrics, std::string_view name) {
  const auto known =
      std::find_if(metrics.begin(), metrics.end(), [name](const Metric& metric) { return metric.name == name; });
  return known == metrics.end() ? std::nullopt : std::optional(known->value);
}

const std::vector<MetricInfo>& metric_infos() {
  static const std::vector<MetricInfo> infos = {
      {"time_us", "From the first operation's enqueueing to the end of the last rank"},
      {"between_events_us",
       "What two events around an already enqueued program say: from the first workgroup or copy to the last end, and "
       "host.event_pair where a kernel comes first"},
      {"repeated_us",
       "Of each repetition when the program is enqueued again and again, as nccl-tests does: from the first workgroup "
       "or copy to the last end and host.queue_gap; at least host.enqueue for each operation"},
      {"skew_percent", "100 x (latest - earliest end of a rank) / latest"},
      {"<operation>_us", "From the operation's first begin on any rank to its last end on any rank"},
      {"<operation>_begin_us", "First begin of the operation on any rank"},
      {"<operation>_end_us", "Last end of the operation on any rank"},
      {"<operation>_kernel_us", "Of a kernel: from its first workgroup's start on any rank to its last one's end"},
      {"<operation>_<phase>_mean_us", "Of a kernel: mean time a workgroup takes for the phase once; wait is for flags"},
      {"<operation>_<phase>_per_workgroup_us",
       "Of a replayed kernel: what a physical workgroup spends in the phase in all, mean"},
      {"recorded_<metric>", "The metric as recorded on hardware, where a kernel is replayed from a trace"},
      {"ranks", "GPUs that took part"},
      {"workgroups", "Workgroups that ran, over all ranks"},
      {"puts", "NIC messages that workgroups or host proxies posted"},
      {"put_bytes", "Payload of the puts"},
      {"scale_up_bytes", "Payload stored through the GPUs' scale-up ports (NVLink, xGMI, PCIe)"},
      {"network_bytes", "Payload the scale-out network delivered"},
      {"hbm_busy_percent", "HBM time used over the time of the run, mean over ranks"},
      {"scale_up_busy_percent", "The same of the scale-up port or link that is used most"},
      {"network_busy_percent", "The same of the network link that is used most"},
      {"<queue>_isolated_us",
       "Queues that run beside each other (compare.ideal: overlap): time of the queue alone, with the settings of the "
       "variant that compare.to names, else with its own"},
      {"serial_us", "Sum of the isolated times"},
      {"ideal_us", "Longest of the isolated times: what perfect overlap takes"},
      {"<queue>_us", "End of the queue in this run, from the common start; where an operation has the same name, this"},
      {"<queue>_alone_us", "With compare.to: time of the queue alone with the settings of this run"},
      {"speedup", "serial_us / time_us"},
      {"ideal_speedup", "serial_us / ideal_us"},
      {"fraction_of_ideal", "(speedup - 1) / (ideal_speedup - 1)"},
      {"<queue>_lost_us",
       "compare.blame: <queue>_us - <queue>_isolated_us. The next ones are its parts and add up to it"},
      {"<queue>_lost_schedule_us",
       "With compare.to: <queue>_alone_us - <queue>_isolated_us, what the run's own settings cost the queue (fewer "
       "CUs, "
       "another engine)"},
      {"<queue>_lost_memory_us", "To sharing caches and HBM: their bandwidth, and latency under load"},
      {"<queue>_lost_link_us", "To sharing links, NICs and the network between nodes"},
      {"<queue>_lost_engine_queue_us", "To waiting for DMA engines behind copies of other queues"},
      {"<queue>_lost_cu_share_us",
       "To workgroups of others on the same CU (arithmetic, loads and stores), and on its ways to memory"},
      {"<queue>_lost_clock_us", "To the clock that the power of other queues' arithmetic lowers"},
      {"<queue>_lost_cu_wait_us", "To waiting for places on CUs, until each kernel's first workgroup has one"},
      {"<queue>_lost_extra_waves_us", "To places on CUs that others hold, after that"},
      {"<queue>_lost_launch_us",
       "To the host, which enqueues others first; with program.order: serial, to the queues before it"},
      {"reduction_percent", "100 x (1 - time / time of the variant compared with), at the same point"},
      {"speedup", "In a comparison: time of the variant compared with / time, at the same point"},
  };
  return infos;
}

std::string_view unit_of(std::string_view metric) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> units = {
      {{"_us", "us"}, {"_percent", "%"}, {"_bytes", "B"}}};
  for (const auto& [ending, unit] : units) {
    if (metric.ends_with(ending)) return unit;
  }
  return "";
}

std::string metric_word(std::string_view operation) {
  std::string word;
  for (const char c : operation) {
    const auto byte = static_cast<unsigned char>(c);
    word += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return word;
}

}  // namespace moire::study
