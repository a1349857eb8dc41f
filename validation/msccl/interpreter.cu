#include "cuda_check.hpp"
#include "device_clock.cuh"
#include "interpreter.hpp"
#include "layout.hpp"

namespace {

constexpr int kUnroll = 8;  // 16-byte loads that a thread has in flight with the protocol Simple

// Loads 16 bytes past the L1, as NCCL does, because the L1 may hold values from before a peer or another SM wrote.
__device__ inline float4 load_vector(const float4* p) {
  float4 v;
  asm volatile("ld.volatile.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(p)
               : "memory");
  return v;
}
__device__ inline void store_vector(float4* p, const float4& v) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
}
__device__ inline float2 load_pair(const float2* p) {
  float2 v;
  asm volatile("ld.volatile.global.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(p) : "memory");
  return v;
}
__device__ inline float4 operator+(const float4& a, const float4& b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ inline float2 operator+(const float2& a, const float2& b) { return make_float2(a.x + b.x, a.y + b.y); }

__device__ inline uint4 load_line(const uint4* p) {
  uint4 v;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p)
               : "memory");
  return v;
}
__device__ inline void store_line(uint4* p, const float2& v, uint32_t flag) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %2};" ::"l"(p), "r"(__float_as_uint(v.x)), "r"(flag),
               "r"(__float_as_uint(v.y))
               : "memory");
}

__device__ inline uint64_t load_semaphore(const uint64_t* p) {
  uint64_t v;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline void store_semaphore(uint64_t* p, uint64_t v) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

__device__ inline void worker_barrier() { asm volatile("bar.sync 1, %0;" ::"n"(kWorkers) : "memory"); }

// Computes `count` vectors: x = a, or x = a + b with two sources; with two targets, also y = x. All workers take part.
// Each warp processes 4 KiB at a time, and issues all loads of these bytes before their stores.
template <int kSources, int kTargets>
__device__ void move(const float4* a, const float4* b, float4* x, float4* y, int64_t count) {
  constexpr int kTurn = kUnroll * 32;
  const int lane = int(threadIdx.x) % 32;
  const int64_t whole = count / kTurn * kTurn;
#pragma unroll 1
  for (int64_t at = int64_t(threadIdx.x / 32) * kTurn + lane; at < whole; at += kWorkers / 32 * kTurn) {
    float4 v[kUnroll], w[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) v[u] = load_vector(a + at + u * 32);
    if (kSources == 2) {
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) w[u] = load_vector(b + at + u * 32);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) v[u] = v[u] + w[u];
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      store_vector(x + at + u * 32, v[u]);
      if (kTargets == 2) store_vector(y + at + u * 32, v[u]);
    }
  }
#pragma unroll 1
  for (int64_t at = whole + threadIdx.x; at < count; at += kWorkers) {
    float4 v = load_vector(a + at);
    if (kSources == 2) v = v + load_vector(b + at);
    store_vector(x + at, v);
    if (kTargets == 2) store_vector(y + at, v);
  }
}

struct Shared {
  Op ops[kMostSteps];
  Wait waits[kMostSteps];
  int32_t sources[kMostSteps];
  BlockProgram program;
  int dead;
};

// What both protocols (Simple and LL) have in common: waits with a time limit, semaphores, and the positions of data.
class Engine {
 public:
  __device__ Engine(const Launch& launch, Shared& shared) : launch_(launch), shared_(shared) {
    if (shared.program.send.step != nullptr) send_step_ = *shared.program.send.step;
    if (shared.program.recv.step != nullptr) recv_step_ = *shared.program.recv.step;
    head_seen_ = send_step_ - kFifoSteps;
    tail_seen_ = recv_step_;
  }

  // Stores the FIFO counts for the next launch. One thread calls this function after the last barrier.
  __device__ void keep_steps() {
    if (shared_.program.send.step != nullptr) *shared_.program.send.step = send_step_;
    if (shared_.program.recv.step != nullptr) *shared_.program.recv.step = recv_step_;
  }

  __device__ bool wait(const Op& op, const Wait* waits, int64_t iteration) {
    if (threadIdx.x < op.waits) {
      const Wait& w = waits[threadIdx.x];
      const uint64_t* semaphore = launch_.semaphores + kSemaphoreWords * w.block;
      const uint64_t goal = semaphore_value(launch_.number, iteration, w.step);
      spin([&] { return load_semaphore(semaphore) >= goal; }, Stuck::semaphore, op, iteration);
    }
    __syncthreads();
    return !dead();
  }

  // Raises this block's semaphore after a step. All threads call this function after a barrier, and the last thread
  // stores the value; with the protocol Simple it is not a worker.
  __device__ void publish(int step, int64_t iteration) {
    if (threadIdx.x == blockDim.x - 1)
      store_semaphore(launch_.semaphores + kSemaphoreWords * blockIdx.x,
                      semaphore_value(launch_.number, iteration, step));
  }

 protected:
  // True if a wait of this block has timed out. The threads read the flag directly after a barrier. Since a thread sets
  // it only after thousands of polls, all threads read the same value.
  __device__ bool dead() const { return *static_cast<volatile int*>(&shared_.dead) != 0; }

  template <typename Done>
  __device__ bool spin(Done done, Stuck::What what, const Op& op, int64_t iteration) {
    uint64_t deadline = 0;
    for (uint32_t polls = 1;; ++polls) {
      if (done()) return true;
      if ((polls & 8191U) != 0) continue;
      const uint64_t now = global_ns();
      if (deadline == 0) deadline = now + launch_.limit_ns;
      if (now < deadline && *launch_.stop == 0 && !dead()) continue;
      if (atomicExch(&shared_.dead, 1) == 0) launch_.stuck[blockIdx.x] = {what, op.step, iteration};
      *launch_.stop = 1;
      return false;
    }
  }

  // One thread calls these functions. They wait until the FIFO holds data up to step `next`, or has free slots up to
  // this step. If an earlier poll already saw a sufficient count, they do not read it again.
  __device__ void wait_for_data(uint32_t next, const Op& op, int64_t iteration) {
    const auto there = [&] { return int32_t(tail_seen_ - next) >= 0; };
    if (there()) return;
    const uint32_t* tail = shared_.program.recv.tail;
    spin([&] { return tail_seen_ = load_acquire_sys(tail), there(); }, Stuck::data, op, iteration);
  }
  __device__ void wait_for_room(uint32_t next, const Op& op, int64_t iteration) {
    const auto there = [&] { return int32_t(head_seen_ + kFifoSteps - next) >= 0; };
    if (there()) return;
    const uint32_t* head = shared_.program.send.head;
    spin([&] { return head_seen_ = load_acquire_sys(head), there(); }, Stuck::room, op, iteration);
  }

  __device__ char* place(int buffer, int64_t chunk, const Piece& piece) const {
    return launch_.buffer[buffer] + (chunk + piece.chunk) * launch_.cut.chunk_bytes + piece.offset;
  }

  const Launch& launch_;
  Shared& shared_;
  uint32_t send_step_ = 0, recv_step_ = 0;
  uint32_t head_seen_ = 0, tail_seen_ = 0;  // last counts that the waiting thread has seen
};

// The protocol Simple. A call moves two slices. For each slice, 16 warps move the data, and then one more warp executes
// a fence and raises the flags.
class SimpleEngine : public Engine {
 public:
  using Engine::Engine;

  __device__ bool call(const Op& op, const Piece& piece, int64_t iteration) {
    if (!receives(op.type) && !sends(op.type)) {
      if (threadIdx.x < kWorkers) local(op, piece);
      __syncthreads();
      return true;
    }
    const bool takes = receives(op.type), gives = sends(op.type);
    const int64_t first = first_slice(piece.bytes);
#pragma unroll 1
    for (int slice = 0; slice < 2; ++slice) {
      const int64_t from = slice == 0 ? 0 : first, bytes = slice == 0 ? first : piece.bytes - first;
      const uint32_t recv_next = recv_step_ + kSimpleSliceSteps, send_next = send_step_ + kSimpleSliceSteps;
      if (threadIdx.x == 0 && takes) wait_for_data(recv_next, op, iteration);
      if (threadIdx.x == 32 && gives) wait_for_room(send_next, op, iteration);
      if (bytes > 0 && threadIdx.x < kWorkers) {
        worker_barrier();
        if (!dead()) copy(op, piece, from, bytes);
      }
      __syncthreads();
      if (dead()) return false;
      if (threadIdx.x == kWorkers + 1 && takes) store_relaxed_sys(shared_.program.recv.head, recv_next);
      if (threadIdx.x == kWorkers && gives) {
        if (bytes > 0) fence_sys();
        store_relaxed_sys(shared_.program.send.tail, send_next);
      }
      if (takes) recv_step_ = recv_next;
      if (gives) send_step_ = send_next;
    }
    return true;
  }

 private:
  __device__ void copy(const Op& op, const Piece& piece, int64_t from, int64_t bytes) {
    const auto vectors = [](const char* p) { return reinterpret_cast<float4*>(const_cast<char*>(p)); };
    const float4* in = vectors(shared_.program.recv.fifo + recv_step_ % kFifoSteps * kSimpleStepBytes);
    float4* out = vectors(shared_.program.send.fifo + send_step_ % kFifoSteps * kSimpleStepBytes);
    const float4* src = vectors(place(op.src_buffer, op.src, piece) + from);
    float4* dst = vectors(place(op.dst_buffer, op.dst, piece) + from);
    const int64_t count = bytes / 16;
    switch (op.type) {
      case StepType::send:
        return move<1, 1>(src, nullptr, out, nullptr, count);
      case StepType::recv:
        return move<1, 1>(in, nullptr, dst, nullptr, count);
      case StepType::recv_copy_send:
        return move<1, 2>(in, nullptr, dst, out, count);
      case StepType::recv_reduce_copy:
        return move<2, 1>(in, src, dst, nullptr, count);
      case StepType::recv_reduce_send:
        return move<2, 1>(in, src, out, nullptr, count);
      case StepType::recv_reduce_copy_send:
        return move<2, 2>(in, src, dst, out, count);
      default:
        return;
    }
  }

  __device__ void local(const Op& op, const Piece& piece) {
    const int64_t count = piece.bytes / 16;
    float4* dst = reinterpret_cast<float4*>(place(op.dst_buffer, op.dst, piece));
    if (op.type == StepType::copy)
      return move<1, 1>(reinterpret_cast<const float4*>(place(op.src_buffer, op.src, piece)), nullptr, dst, nullptr,
                        count);
    constexpr int kTurn = kUnroll * 32;
    const int64_t whole = count / kTurn * kTurn;
#pragma unroll 1
    for (int64_t at = int64_t(threadIdx.x / 32) * kTurn + threadIdx.x % 32; at < whole; at += kWorkers / 32 * kTurn) {
      float4 sum[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) sum[u] = load_vector(dst + at + u * 32);
#pragma unroll 1
      for (int s = 0; s < op.sources; ++s) {
        const float4* from = source(op, s, piece) + at;
        float4 v[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) v[u] = load_vector(from + u * 32);
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) sum[u] = sum[u] + v[u];
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) store_vector(dst + at + u * 32, sum[u]);
    }
#pragma unroll 1
    for (int64_t at = whole + threadIdx.x; at < count; at += kWorkers) {
      float4 sum = load_vector(dst + at);
      for (int s = 0; s < op.sources; ++s) sum = sum + load_vector(source(op, s, piece) + at);
      store_vector(dst + at, sum);
    }
  }

  __device__ const float4* source(const Op& op, int s, const Piece& piece) const {
    return reinterpret_cast<const float4*>(place(op.src_buffer, shared_.sources[op.first_source + s], piece));
  }
};

// The protocol LL. Data are stored in lines of 16 B: 4 B of data, a flag of 4 B, 4 B of data and a flag of 4 B. So
// neither a fence nor a separate flag is needed. Each call fills one step of the FIFO, and each thread moves 8 B at a
// time.
class LlEngine : public Engine {
 public:
  using Engine::Engine;

  __device__ bool call(const Op& op, const Piece& piece, int64_t iteration) {
    const bool takes = receives(op.type), gives = sends(op.type);
    if (gives) {
      if (threadIdx.x == 0) wait_for_room(send_step_ + 1, op, iteration);
      __syncthreads();
      if (dead()) return false;
    }
    const auto* in = reinterpret_cast<const uint4*>(shared_.program.recv.fifo + recv_step_ % kFifoSteps * kLlStepBytes);
    auto* out = reinterpret_cast<uint4*>(shared_.program.send.fifo + send_step_ % kFifoSteps * kLlStepBytes);
    const auto* src = reinterpret_cast<const float2*>(place(op.src_buffer, op.src, piece));
    auto* dst = reinterpret_cast<float2*>(place(op.dst_buffer, op.dst, piece));
    const bool reads = reads_source(op.type), writes = writes_target(op.type);
    const uint32_t in_flag = recv_step_ + 1, out_flag = send_step_ + 1;
#pragma unroll 1
    for (int64_t at = threadIdx.x; at < piece.bytes / 8; at += kWorkers) {
      float2 v = make_float2(0, 0);
      if (op.type == StepType::reduce) {
        v = load_pair(dst + at);
        for (int s = 0; s < op.sources; ++s)
          v = v + load_pair(reinterpret_cast<const float2*>(
                                place(op.src_buffer, shared_.sources[op.first_source + s], piece)) +
                            at);
      } else if (reads) {
        v = load_pair(src + at);
      }
      if (takes) {
        uint4 line;
        const auto came = [&] {
          line = load_line(in + at);
          return line.y == in_flag && line.w == in_flag;
        };
        if (!spin(came, Stuck::data, op, iteration)) break;
        const float2 received = make_float2(__uint_as_float(line.x), __uint_as_float(line.z));
        v = reads ? v + received : received;
      }
      if (gives) store_line(out + at, v, out_flag);
      if (writes) asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(dst + at), "f"(v.x), "f"(v.y) : "memory");
    }
    __syncthreads();
    if (dead()) return false;
    if (takes) {
      ++recv_step_;
      if (threadIdx.x == 0) store_relaxed_sys(shared_.program.recv.head, recv_step_);
    }
    if (gives) ++send_step_;
    return true;
  }
};

template <typename Protocol, int kBlockThreads>
__global__ void __launch_bounds__(kBlockThreads, 1) interpret(const __grid_constant__ Launch launch) {
  __shared__ Shared shared;
  const uint64_t start = global_ns();
  const BlockRange range = launch.blocks[blockIdx.x].range;
  for (int i = int(threadIdx.x); i < range.ops; i += kBlockThreads) shared.ops[i] = launch.ops[range.op + i];
  for (int i = int(threadIdx.x); i < range.waits; i += kBlockThreads) shared.waits[i] = launch.waits[range.wait + i];
  for (int i = int(threadIdx.x); i < range.sources; i += kBlockThreads)
    shared.sources[i] = launch.sources[range.source + i];
  if (threadIdx.x == 0) {
    shared.program = launch.blocks[blockIdx.x];
    shared.dead = 0;
  }
  __syncthreads();
  Protocol engine(launch, shared);
  walk(engine, shared.ops, range.ops, shared.waits, launch.cut);
  __syncthreads();
  if (threadIdx.x == 0) {
    engine.keep_steps();
    launch.stamps[blockIdx.x] = {start, global_ns(), 0, sm_id(), 0};
  }
}

}  // namespace

void launch_interpreter(cudaStream_t stream, const Launch& launch, bool ll, int blocks) {
  if (ll)
    interpret<LlEngine, kWorkers><<<blocks, kWorkers, 0, stream>>>(launch);
  else
    interpret<SimpleEngine, kWorkers + kPosters><<<blocks, kWorkers + kPosters, 0, stream>>>(launch);
  CUDA_CHECK(cudaGetLastError());
}
