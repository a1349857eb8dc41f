#include "cuda_check.hpp"
#include "peer_access.hpp"

bool enable_peer_access(int gpu, int gpus) {
  CUDA_CHECK(cudaSetDevice(gpu));
  for (int p = 0; p < gpus; ++p) {
    if (p == gpu) continue;
    int can = 0;
    CUDA_CHECK(cudaDeviceCanAccessPeer(&can, gpu, p));
    if (can == 0) {
      std::fprintf(stderr, "GPU %d cannot access the memory of GPU %d\n", gpu, p);
      return false;
    }
    const cudaError_t status = cudaDeviceEnablePeerAccess(p, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled)
      (void)cudaGetLastError();
    else
      CUDA_CHECK(status);
  }
  return true;
}
