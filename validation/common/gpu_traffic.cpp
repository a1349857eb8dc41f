#include "gpu_traffic.hpp"

#include <dlfcn.h>

#include <type_traits>

#include "cuda_check.hpp"

namespace {

using Handle = void*;
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
  int (*init)() = nullptr;
  int (*by_bus)(const char*, Handle*) = nullptr;
  int (*support)(Handle, Support*) = nullptr;
  int (*allocate)(Sample*) = nullptr;
  int (*release)(Sample) = nullptr;
  int (*sample)(Handle, Sample) = nullptr;
  int (*metrics)(Metrics*) = nullptr;
  bool ready = false;

  Gpm() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) return;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    ready = find(init, "nvmlInit_v2") && find(by_bus, "nvmlDeviceGetHandleByPciBusId_v2") &&
            find(support, "nvmlGpmQueryDeviceSupport") && find(allocate, "nvmlGpmSampleAlloc") &&
            find(release, "nvmlGpmSampleFree") && find(sample, "nvmlGpmSampleGet") &&
            find(metrics, "nvmlGpmMetricsGet") && init() == 0;
  }
};

const Gpm& gpm() {
  static const Gpm instance;
  return instance;
}

}  // namespace

struct TrafficCounter::Samples {
  Handle gpu = nullptr;
  Sample from = nullptr, to = nullptr;
};

TrafficCounter::TrafficCounter(int device) : samples_(std::make_unique<Samples>()) {
  if (!gpm().ready) return;
  char bus[64];
  CUDA_CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
  Handle gpu = nullptr;
  Support support{1, 0};
  if (gpm().by_bus(bus, &gpu) != 0 || gpm().support(gpu, &support) != 0 || support.supported == 0) return;
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
