#include "cuda_check.hpp"
#include "gate.hpp"

namespace {

__global__ void gate_kernel(const volatile uint32_t* host_flag, Gate gate, int rank, int ranks, uint32_t epoch,
                            int* gave_up) {
  const uint64_t deadline = global_ns() + kSpinLimitNs;
  while (*host_flag != epoch) {
    if (global_ns() > deadline) {
      *gave_up = 1;
      return;
    }
  }
  // Relaxed stores are enough, because the flag does not publish any other data.
  for (int p = 0; p < ranks; ++p) store_relaxed_sys(gate.ready[p] + rank, epoch);
  for (int p = 0; p < ranks; ++p) wait_for_flag(gate.ready[rank] + p, epoch, gave_up);
}

}  // namespace

void launch_gate(cudaStream_t stream, const volatile uint32_t* host_flag, const Gate& gate, int rank, int ranks,
                 uint32_t epoch, int* gave_up) {
  gate_kernel<<<1, 1, 0, stream>>>(host_flag, gate, rank, ranks, epoch, gave_up);
  CUDA_CHECK(cudaGetLastError());
}
