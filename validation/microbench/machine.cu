// The benchmarks property, timer and power. With --header COMMAND, the program also writes the header of the
// measurements file.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "clock_sync.hpp"
#include "cuda_check.hpp"
#include "device_clock.cuh"
#include "gpu_info.hpp"
#include "harness.hpp"
#include "provenance.hpp"

namespace {

__global__ void clock_kernel(uint64_t spin_ns, double* mhz) {
  const uint64_t t0 = global_ns();
  const int64_t c0 = clock64();
  while (global_ns() < t0 + spin_ns) {
  }
  const uint64_t t1 = global_ns();
  *mhz = double(clock64() - c0) * 1e3 / double(t1 - t0);
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

void bench_property(Collector& c) {
  const Parameters none{};
  const auto property = [&](const char* metric, double value, const char* unit) {
    c.row("property", none, metric, {value}, unit);
  };
  size_t free_bytes = 0, bytes = 0;
  CUDA_CHECK(cudaMemGetInfo(&free_bytes, &bytes));
  property("sms", attribute(cudaDevAttrMultiProcessorCount), "1");
  property("l2_bytes", attribute(cudaDevAttrL2CacheSize), "B");
  property("memory_bytes", double(bytes), "B");
  // The factor 2 is the double data rate of the memory: two transfers per clock.
  property("memory_peak",
           2.0 * attribute(cudaDevAttrMemoryClockRate) * 1e3 * attribute(cudaDevAttrGlobalMemoryBusWidth) / 8 / 1e9,
           "GB/s");
  property("clock", attribute(cudaDevAttrClockRate) / 1e3, "MHz");
  property("threads_per_sm", attribute(cudaDevAttrMaxThreadsPerMultiProcessor), "1");
  property("wgs_per_sm", attribute(cudaDevAttrMaxBlocksPerMultiprocessor), "1");
  property("registers_per_sm", attribute(cudaDevAttrMaxRegistersPerMultiprocessor), "1");
  property("shared_bytes_per_sm", attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor), "B");
  property("copy_engines", attribute(cudaDevAttrAsyncEngineCount), "1");

  // nvidia-smi prints one line per NVLink, such as "Link 0: 26.562 GB/s".
  char bus[64];
  CUDA_CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
  const std::string command = std::string("nvidia-smi nvlink -s -i ") + bus + " 2>/dev/null";
  int links = 0;
  double rate = 0;
  if (std::FILE* pipe = popen(command.c_str(), "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, pipe) != nullptr) {
      int link = 0;
      double one = 0;
      if (std::sscanf(line, " Link %d: %lf GB/s", &link, &one) != 2) continue;
      ++links;
      rate = one;
    }
    pclose(pipe);
  }
  if (links > 0) {
    property("link_count", links, "1");
    property("link_rate", rate, "GB/s");
  } else {
    std::fprintf(stderr, "machine: nvidia-smi names no links between GPUs; link_count and link_rate left out\n");
  }
}

void bench_timer(Collector& c) {
  const Parameters none{};
  std::vector<double> resolution, cost, mhz;
  for (int r = 0; r < c.gpus(); ++r) {
    const TimerTick tick = measure_timer_tick(r);
    resolution.push_back(tick.tick_ns);
    cost.push_back(tick.read_cost_ns);
    double* value = reinterpret_cast<double*>(c.sink(r));
    clock_kernel<<<1, 1>>>(5'000'000, value);
    CUDA_CHECK(cudaGetLastError());
    double host = 0;
    CUDA_CHECK(cudaMemcpy(&host, value, sizeof host, cudaMemcpyDeviceToHost));
    mhz.push_back(host);
  }
  c.row("timer", none, "resolution", resolution, "ns");
  c.row("timer", none, "read_cost", cost, "ns");
  c.row("timer", none, "sm_clock", mhz, "MHz");
}

void bench_power(Collector& c, int when) {
  Parameters p;
  p("when", when);
  std::vector<double> sm, memory, power;
  for (int r = 0; r < c.gpus(); ++r) {
    const GpuLoad load = gpu_load(r);
    if (!load.known) continue;
    sm.push_back(load.sm_mhz);
    memory.push_back(load.memory_mhz);
    power.push_back(load.watt);
  }
  if (sm.empty()) std::fprintf(stderr, "machine: NVML cannot be loaded; power left out\n");
  c.row("power", p, "sm_clock", sm, "MHz");
  c.row("power", p, "memory_clock", memory, "MHz");
  c.row("power", p, "power", power, "W");
}

int write_header(const char* path, const char* gpus, const char* command) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) {
    std::perror(path);
    return 2;
  }
  int count = std::atoi(gpus);
  if (count == 0) CUDA_CHECK(cudaGetDeviceCount(&count));
  std::fprintf(file, "# moire-measurements 1\n");
  write_provenance(file, count, command);
  std::fprintf(file, "benchmark,parameters,metric,value,unit,repetitions,low,high\n");
  return std::fclose(file) == 0 ? 0 : 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "--header") == 0) return write_header(argv[2], argv[3], argv[4]);
  Collector c(argc, argv, "machine", 0);
  const int when = std::atoi(c.option("--when", "0").c_str());
  if (when == 0 && c.wants("property")) bench_property(c);
  if (when == 0 && c.wants("timer")) bench_timer(c);
  if (c.wants("power")) bench_power(c, when);
  return 0;
}
