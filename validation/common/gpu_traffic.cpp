#include "gpu_traffic.hpp"

#include <initializer_list>

#include "nvml.hpp"

namespace {

using Sample = void*;
constexpr unsigned kMemoryShare = 10, kSent = 61;  // NVML_GPM_METRIC_*: %, MiB/s

// Have the layouts of NVML's nvmlGpmMetric_t, nvmlGpmMetricsGet_t and nvmlGpmSupport_t.
struct Metric {
  unsigned id;
  int status;
  double value;
  const char* names[3];
};
struct Metrics {
  unsigned version;
  unsigned count;
  Sample from, to;
  Metric metrics[512];
};
struct Support {
  unsigned version;
  unsigned supported;
};

struct Gpm {
  int (*support)(nvml::Gpu, Support*) = nullptr;
  int (*allocate)(Sample*) = nullptr;
  int (*release)(Sample) = nullptr;
  int (*sample)(nvml::Gpu, Sample) = nullptr;
  int (*metrics)(Metrics*) = nullptr;
  bool ready = nvml::find(support, "nvmlGpmQueryDeviceSupport") && nvml::find(allocate, "nvmlGpmSampleAlloc") &&
               nvml::find(release, "nvmlGpmSampleFree") && nvml::find(sample, "nvmlGpmSampleGet") &&
               nvml::find(metrics, "nvmlGpmMetricsGet");
};

const Gpm& gpm() {
  static const Gpm instance;
  return instance;
}

}  // namespace

struct TrafficCounter::Samples {
  nvml::Gpu gpu = nullptr;
  Sample from = nullptr, to = nullptr;
};

TrafficCounter::TrafficCounter(int device) : samples_(std::make_unique<Samples>()) {
  if (!gpm().ready) return;
  const nvml::Gpu gpu = nvml::gpu(device);
  Support support{1, 0};
  if (gpu == nullptr || gpm().support(gpu, &support) != 0 || support.supported == 0) return;
  if (gpm().allocate(&samples_->from) != 0 || gpm().allocate(&samples_->to) != 0) return;
  if (gpm().sample(gpu, samples_->from) == 0) samples_->gpu = gpu;
}

TrafficCounter::~TrafficCounter() {
  for (const Sample sample : {samples_->from, samples_->to})
    if (sample != nullptr) gpm().release(sample);
}

GpuTraffic TrafficCounter::mean() const {
  GpuTraffic traffic;
  if (samples_->gpu == nullptr || gpm().sample(samples_->gpu, samples_->to) != 0) return traffic;
  const auto metrics = std::make_unique<Metrics>();
  metrics->version = 1;
  metrics->count = 2;
  metrics->from = samples_->from;
  metrics->to = samples_->to;
  metrics->metrics[0].id = kMemoryShare;
  metrics->metrics[1].id = kSent;
  if (gpm().metrics(metrics.get()) != 0 || metrics->metrics[0].status != 0) return traffic;
  traffic.known = true;
  traffic.memory_share = metrics->metrics[0].value / 100;
  traffic.sent_per_s = metrics->metrics[1].value * (1 << 20);
  return traffic;
}
