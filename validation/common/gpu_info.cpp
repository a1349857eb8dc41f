#include "gpu_info.hpp"

#include <ctime>
#include <vector>

#include "cuda_check.hpp"
#include "nvml.hpp"

namespace {

constexpr int kSmClock = 1;              // NVML_CLOCK_SM
constexpr int kMemoryClock = 2;          // NVML_CLOCK_MEM
constexpr unsigned kPowerInstant = 186;  // NVML_FI_DEV_POWER_INSTANT, milliwatt

// Has the layout of NVML's nvmlFieldValue_t
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp_us;
  long long latency_us;
  int type;
  int status;
  union {
    double real;
    unsigned number;
    unsigned long long large;
  } value;
};

struct Functions {
  int (*driver)(char*, unsigned) = nullptr;
  int (*clock)(nvml::Gpu, int, unsigned*) = nullptr;  // MHz
  int (*power)(nvml::Gpu, unsigned*) = nullptr;       // milliwatt
  // Only some GPUs and drivers provide the following values.
  int (*temperature)(nvml::Gpu, int, unsigned*) = nullptr;  // degrees Celsius; sensor 0 is the chip
  int (*energy)(nvml::Gpu, unsigned long long*) = nullptr;  // millijoule
  int (*fields)(nvml::Gpu, int, FieldValue*) = nullptr;     // nvmlDeviceGetFieldValues
  bool ready = nvml::find(driver, "nvmlSystemGetDriverVersion") && nvml::find(clock, "nvmlDeviceGetClockInfo") &&
               nvml::find(power, "nvmlDeviceGetPowerUsage");

  Functions() {
    nvml::find(temperature, "nvmlDeviceGetTemperature");
    nvml::find(energy, "nvmlDeviceGetTotalEnergyConsumption");
    nvml::find(fields, "nvmlDeviceGetFieldValues");
  }
};

const Functions& functions() {
  static const Functions instance;
  return instance;
}

}  // namespace

GpuInfo gpu_info(int device) {
  GpuInfo info;
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  info.name = properties.name;
  int version = 0;
  CUDA_CHECK(cudaRuntimeGetVersion(&version));
  info.cuda = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  char driver[96] = "unknown";
  if (functions().ready) functions().driver(driver, sizeof driver);
  info.driver = driver;
  return info;
}

GpuLoad gpu_load(int device) {
  GpuLoad load;
  if (!functions().ready) return load;
  const nvml::Gpu gpu = nvml::gpu(device);
  if (gpu == nullptr) return load;
  unsigned sm_mhz = 0, memory_mhz = 0, milliwatt = 0;
  load.known = functions().clock(gpu, kSmClock, &sm_mhz) == 0 &&
               functions().clock(gpu, kMemoryClock, &memory_mhz) == 0 && functions().power(gpu, &milliwatt) == 0;
  load.sm_mhz = sm_mhz;
  load.memory_mhz = memory_mhz;
  load.watt = milliwatt / 1e3;
  return load;
}

GpuPower gpu_power(int device) {
  GpuPower read;
  if (!functions().ready) return read;
  const nvml::Gpu gpu = nvml::gpu(device);
  if (gpu == nullptr) return read;
  unsigned number = 0;
  if (functions().clock(gpu, kSmClock, &number) == 0) read.sm_mhz = number;
  if (functions().power(gpu, &number) == 0) read.watt = number / 1e3;
  if (functions().temperature != nullptr && functions().temperature(gpu, 0, &number) == 0) read.celsius = number;
  unsigned long long millijoule = 0;
  if (functions().energy != nullptr && functions().energy(gpu, &millijoule) == 0) read.joule = double(millijoule) / 1e3;
  FieldValue field{};
  field.field = kPowerInstant;
  if (functions().fields != nullptr && functions().fields(gpu, 1, &field) == 0 && field.status == 0)
    read.watt_instant = field.value.number / 1e3;
  return read;
}

std::string clocks_text(int ranks) {
  if (!functions().ready) return "unknown";
  std::string sm = "sm", memory = ", mem", power = ", power";
  for (int r = 0; r < ranks; ++r) {
    const GpuLoad load = gpu_load(r);
    sm += " " + std::to_string(int(load.sm_mhz));
    memory += " " + std::to_string(int(load.memory_mhz));
    power += " " + std::to_string(int(load.watt));
  }
  return sm + " MHz" + memory + " MHz" + power + " W";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}
