#include "provenance.hpp"

#include "gpu_info.hpp"

void write_provenance(std::FILE* file, int gpus, const std::string& command) {
  const GpuInfo gpu = gpu_info(0);
  std::fprintf(file, "# gpu: %s\n# gpus: %d\n# driver: %s\n# date: %s\n# command: %s\n", gpu.name.c_str(), gpus,
               gpu.driver.c_str(), utc_now().c_str(), command.c_str());
  std::fprintf(file, "# cuda: %s\n# clocks: %s\n", gpu.cuda.c_str(), clocks_text(gpus).c_str());
}
