#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <type_traits>

#include "cuda_check.hpp"
#include "kernel_facts.hpp"

#if CUDA_VERSION >= 12030

namespace {

// The driver functions that are used. They are looked up at run time, so that the build does not need the driver's
// library.
struct Driver {
  decltype(&cuGraphKernelNodeGetParams_v2) node_params = nullptr;
  decltype(&cuGraphKernelNodeGetAttribute) node_attribute = nullptr;
  decltype(&cuKernelGetFunction) kernel_function = nullptr;
  decltype(&cuFuncGetName) function_name = nullptr;
  decltype(&cuFuncGetAttribute) function_attribute = nullptr;
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) occupancy = nullptr;
  bool ready = false;

  Driver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    ready = find(node_params, "cuGraphKernelNodeGetParams_v2") &&
            find(node_attribute, "cuGraphKernelNodeGetAttribute") && find(kernel_function, "cuKernelGetFunction") &&
            find(function_name, "cuFuncGetName") && find(function_attribute, "cuFuncGetAttribute") &&
            find(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    if (!ready) std::fprintf(stderr, "kernel_facts: the driver lacks an entry point; no facts\n");
  }
};

bool read_node(const Driver& driver, CUgraphNode node, KernelFact& fact) {
  CUDA_KERNEL_NODE_PARAMS_v2 params{};
  if (driver.node_params(node, &params) != CUDA_SUCCESS) return false;
  CUfunction function = params.func;
  if (function == nullptr && driver.kernel_function(&function, params.kern) != CUDA_SUCCESS) return false;
  const char* name = nullptr;
  if (driver.function_name(&name, function) == CUDA_SUCCESS) fact.name = name;
  fact.grid[0] = int(params.gridDimX);
  fact.grid[1] = int(params.gridDimY);
  fact.grid[2] = int(params.gridDimZ);
  fact.threads = int(params.blockDimX * params.blockDimY * params.blockDimZ);
  const auto attribute = [&](CUfunction_attribute which) {
    int value = 0;
    driver.function_attribute(&value, which, function);
    return value;
  };
  fact.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  fact.shared_bytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) + int(params.sharedMemBytes);
  // The size of a cluster is either requested at the launch or compiled into the kernel.
  CUkernelNodeAttrValue value{};
  int cluster = 0;
  if (driver.node_attribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value) == CUDA_SUCCESS)
    cluster = int(value.clusterDim.x * value.clusterDim.y * value.clusterDim.z);
  const int compiled = std::max(1, attribute(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)) *
                       std::max(1, attribute(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT)) *
                       std::max(1, attribute(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH));
  fact.cluster = std::max(cluster, compiled);
  driver.occupancy(&fact.wgs_per_sm, function, fact.threads, params.sharedMemBytes);
  return true;
}

}  // namespace

std::vector<KernelFact> kernels_of(Work& work, int gpus) {
  static const Driver driver;
  std::vector<KernelFact> facts;
  if (!driver.ready) return facts;
  std::vector<cudaStream_t> streams(gpus);
  std::vector<cudaGraph_t> graphs(gpus);
  for (int r = 0; r < gpus; ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaStreamCreateWithFlags(&streams[r], cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamBeginCapture(streams[r], cudaStreamCaptureModeRelaxed));
  }
  work.enqueue(streams);
  for (int r = 0; r < gpus; ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaStreamEndCapture(streams[r], &graphs[r]));
  }
  CUDA_CHECK(cudaSetDevice(0));
  size_t count = 0;
  CUDA_CHECK(cudaGraphGetNodes(graphs[0], nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  CUDA_CHECK(cudaGraphGetNodes(graphs[0], nodes.data(), &count));
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    CUDA_CHECK(cudaGraphNodeGetType(node, &type));
    KernelFact fact;
    if (type == cudaGraphNodeTypeKernel && read_node(driver, node, fact)) facts.push_back(fact);
  }
  for (int r = 0; r < gpus; ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaGraphDestroy(graphs[r]));
    CUDA_CHECK(cudaStreamDestroy(streams[r]));
  }
  return facts;
}

#else

std::vector<KernelFact> kernels_of(Work&, int) {
  std::fprintf(stderr, "kernel_facts: built by CUDA before 12.3; no facts\n");
  return {};
}

#endif
