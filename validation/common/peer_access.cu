#include "cuda_check.hpp"
#include "peer_access.hpp"

OpenGpu open_gpu(int gpu, int gpus) {
  CUDA_CHECK(cudaSetDevice(gpu));
  for (int p = 0; p < gpus; ++p) {
    if (p == gpu) continue;
    int can = 0;
    CUDA_CHECK(cudaDeviceCanAccessPeer(&can, gpu, p));
    if (can == 0) {
      std::fprintf(stderr, "GPU %d cannot access the memory of GPU %d; use --gpus 1\n", gpu, p);
      std::exit(1);
    }
    const cudaError_t status = cudaDeviceEnablePeerAccess(p, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled)
      (void)cudaGetLastError();
    else
      CUDA_CHECK(status);
  }
  OpenGpu open;
  CUDA_CHECK(cudaDeviceGetAttribute(&open.sms, cudaDevAttrMultiProcessorCount, gpu));
  CUDA_CHECK(cudaStreamCreateWithFlags(&open.stream, cudaStreamNonBlocking));
  return open;
}
