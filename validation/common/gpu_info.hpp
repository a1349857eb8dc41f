// Records the provenance of measurements: GPUs, driver and clocks. NVML is loaded at run time, so building needs no
// library.
#pragma once

#include <string>

struct GpuInfo {
  std::string name;
  std::string driver;
  std::string cuda;
};
GpuInfo gpu_info(int device);

// Clocks and power of one GPU, read without stopping any work.
struct GpuLoad {
  bool known = false;
  double sm_mhz = 0, memory_mhz = 0, watt = 0;
};
GpuLoad gpu_load(int device);

// The state of a GPU under a long load; values that the driver does not report are negative.
struct GpuPower {
  double sm_mhz = -1;
  double watt = -1;          // mean over the driver's averaging window (25 to 100 ms)
  double watt_instant = -1;  // the driver's latest reading
  double celsius = -1;
  double joule = -1;  // energy since the driver was loaded
};
GpuPower gpu_power(int device);

// Returns a text such as "sm 1980 1980 MHz, mem 3201 3201 MHz, power 250 248 W", with one number per GPU. The values
// are read without stopping any work.
std::string clocks_text(int ranks);

std::string utc_now();
