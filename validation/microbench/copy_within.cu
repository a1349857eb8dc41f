// The benchmark copy_within: a copy within a GPU, behind a kernel that leaves the L2 in one of these states.
//   before=0  nothing: the same copy ran just before
//   before=1  a kernel read 512 MiB of other memory
//   before=2  a kernel wrote 512 MiB of other memory
//   before=3  a kernel read 512 MiB of other memory, then another kernel wrote the source of the copy
// A gate holds the stream until the copy is enqueued. The time is that between two events around the copy. On a machine
// with one GPU, a copy takes 1.5 us less than on one with several.
#include "cuda_check.hpp"
#include "harness.hpp"

namespace {

constexpr int kRuns = 21;
constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kOther = 512 * kMib;  // bytes that replace what the L2 holds
constexpr int64_t kPoolBytes = int64_t{2} << 30;
constexpr int64_t kSource = 0, kTarget = 512 * kMib, kOtherAt = 1024 * kMib;

__global__ void read_all(const uint4* from, int64_t count, uint32_t* sink) {
  uint32_t seen = 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x) {
    const uint4 v = from[i];
    seen |= v.x | v.y | v.z | v.w;
  }
  if (seen == 1) *sink = seen;  // keeps the compiler from removing the loads
}

__global__ void write_all(uint4* to, int64_t count) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x)
    to[i] = make_uint4(1, 2, 3, uint32_t(i));
}

class Within {
 public:
  explicit Within(Collector& c) : c_(c) {
    CUDA_CHECK(cudaEventCreate(&begin_));
    CUDA_CHECK(cudaEventCreate(&end_));
  }
  ~Within() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

  void bench(int64_t bytes, int before) {
    c_.row("copy_within", Parameters()("bytes", bytes)("before", before), "time",
           repeat([&](int) { return once(bytes, before); }, kRuns), "us");
  }

 private:
  double once(int64_t bytes, int before) {
    const cudaStream_t stream = c_.stream(0);
    char* pool = reinterpret_cast<char*>(c_.pool(0));
    uint4* other = reinterpret_cast<uint4*>(pool + kOtherAt);
    const int grid = c_.sms() * 8;
    gate_.hold(0, stream);
    if (before == 1 || before == 3)
      read_all<<<grid, 256, 0, stream>>>(other, kOther / 16, reinterpret_cast<uint32_t*>(c_.sink(0)));
    if (before == 2) write_all<<<grid, 256, 0, stream>>>(other, kOther / 16);
    if (before == 3) write_all<<<grid, 256, 0, stream>>>(reinterpret_cast<uint4*>(pool + kSource), bytes / 16);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(begin_, stream));
    CUDA_CHECK(cudaMemcpyAsync(pool + kTarget, pool + kSource, size_t(bytes), cudaMemcpyDeviceToDevice, stream));
    CUDA_CHECK(cudaEventRecord(end_, stream));
    gate_.open();
    CUDA_CHECK(cudaStreamSynchronize(stream));
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, begin_, end_));
    return ms * 1e3;
  }

  Collector& c_;
  HostGate gate_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "copy_within", kPoolBytes);
  if (!c.wants("copy_within")) return 0;
  Within within(c);
  for (const int before : {0, 1, 2, 3}) {
    for (int64_t bytes = kMib / 16; bytes <= 256 * kMib; bytes *= 2) {
      within.bench(bytes, before);
      if (bytes >= 4 * kMib) within.bench(bytes + bytes / 2, before);
    }
  }
  return 0;
}
