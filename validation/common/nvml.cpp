#include "nvml.hpp"

#include "cuda_check.hpp"

namespace nvml {
namespace {

void* initialised() {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library == nullptr) return nullptr;
  const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
  return init != nullptr && init() == 0 ? library : nullptr;
}

}  // namespace

void* library() {
  static void* const loaded = initialised();
  return loaded;
}

Gpu gpu(int device) {
  static int (*by_bus)(const char*, Gpu*) = nullptr;
  if (by_bus == nullptr && !find(by_bus, "nvmlDeviceGetHandleByPciBusId_v2")) return nullptr;
  char bus[64];
  CUDA_CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
  Gpu handle = nullptr;
  return by_bus(bus, &handle) == 0 ? handle : nullptr;
}

}  // namespace nvml
