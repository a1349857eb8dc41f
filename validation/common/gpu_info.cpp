#include "gpu_info.hpp"

#include <dlfcn.h>

#include <ctime>
#include <type_traits>
#include <vector>

#include "cuda_check.hpp"

namespace {

// The functions of NVML that are used, declared here because not every toolkit installs nvml.h. All of them return 0 on
// success.
using Handle = void*;
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

struct Nvml {
  int (*init)() = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  int (*by_bus)(const char*, Handle*) = nullptr;
  int (*clock)(Handle, int, unsigned*) = nullptr;  // MHz
  int (*power)(Handle, unsigned*) = nullptr;       // milliwatt
  // Only some GPUs and drivers provide the following values.
  int (*temperature)(Handle, int, unsigned*) = nullptr;  // degrees Celsius; sensor 0 is the chip
  int (*energy)(Handle, unsigned long long*) = nullptr;  // millijoule
  int (*fields)(Handle, int, FieldValue*) = nullptr;     // nvmlDeviceGetFieldValues
  bool ready = false;

  Nvml() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) return;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    ready = find(init, "nvmlInit_v2") && find(driver, "nvmlSystemGetDriverVersion") &&
            find(by_bus, "nvmlDeviceGetHandleByPciBusId_v2") && find(clock, "nvmlDeviceGetClockInfo") &&
            find(power, "nvmlDeviceGetPowerUsage") && init() == 0;
    find(temperature, "nvmlDeviceGetTemperature");
    find(energy, "nvmlDeviceGetTotalEnergyConsumption");
    find(fields, "nvmlDeviceGetFieldValues");
  }
};

const Nvml& nvml() {
  static const Nvml instance;
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
  if (nvml().ready) nvml().driver(driver, sizeof driver);
  info.driver = driver;
  return info;
}

GpuLoad gpu_load(int device) {
  GpuLoad load;
  if (!nvml().ready) return load;
  char bus[64];
  CUDA_CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
  Handle handle = nullptr;
  unsigned sm_mhz = 0, memory_mhz = 0, milliwatt = 0;
  if (nvml().by_bus(bus, &handle) != 0) return load;
  load.known = nvml().clock(handle, kSmClock, &sm_mhz) == 0 && nvml().clock(handle, kMemoryClock, &memory_mhz) == 0 &&
               nvml().power(handle, &milliwatt) == 0;
  load.sm_mhz = sm_mhz;
  load.memory_mhz = memory_mhz;
  load.watt = milliwatt / 1e3;
  return load;
}

GpuPower gpu_power(int device) {
  GpuPower read;
  if (!nvml().ready) return read;
  char bus[64];
  CUDA_CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
  Handle handle = nullptr;
  if (nvml().by_bus(bus, &handle) != 0) return read;
  unsigned number = 0;
  if (nvml().clock(handle, kSmClock, &number) == 0) read.sm_mhz = number;
  if (nvml().power(handle, &number) == 0) read.watt = number / 1e3;
  if (nvml().temperature != nullptr && nvml().temperature(handle, 0, &number) == 0) read.celsius = number;
  unsigned long long millijoule = 0;
  if (nvml().energy != nullptr && nvml().energy(handle, &millijoule) == 0) read.joule = double(millijoule) / 1e3;
  FieldValue field{};
  field.field = kPowerInstant;
  if (nvml().fields != nullptr && nvml().fields(handle, 1, &field) == 0 && field.status == 0)
    read.watt_instant = field.value.number / 1e3;
  return read;
}

std::string clocks_text(int ranks) {
  if (!nvml().ready) return "unknown";
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
