// Code that host and kernels share: the program of a thread block, and the order in which it processes a buffer.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

enum class StepType : uint8_t {
  send,
  recv,
  recv_copy_send,
  recv_reduce_copy,
  recv_reduce_send,
  recv_reduce_copy_send,
  copy,
  reduce,
  nop
};

HOST_DEVICE constexpr bool receives(StepType t) { return t >= StepType::recv && t <= StepType::recv_reduce_copy_send; }
HOST_DEVICE constexpr bool sends(StepType t) {
  return t == StepType::send || t == StepType::recv_copy_send || t == StepType::recv_reduce_send ||
         t == StepType::recv_reduce_copy_send;
}
HOST_DEVICE constexpr bool reads_source(StepType t) {
  return t == StepType::send || (t >= StepType::recv_reduce_copy && t <= StepType::reduce);
}
HOST_DEVICE constexpr bool writes_target(StepType t) {
  return t != StepType::send && t != StepType::recv_reduce_send && t != StepType::nop;
}

inline constexpr int kMostSteps = 256;   // most steps of a thread block, as in the MSCCL runtime
inline constexpr int kMostSources = 16;  // most sources of one fused reduction

struct Op {
  StepType type = StepType::nop;
  uint8_t src_buffer = 0, dst_buffer = 0;
  uint8_t publishes = 0;
  int32_t src = 0, dst = 0, count = 0;  // chunks
  uint16_t step = 0;                    // number of the algorithm's step; of fused steps, the last one's
  uint16_t first_wait = 0, waits = 0;
  uint16_t first_source = 0, sources = 0;  // chunks that a fused reduction adds, in the list of sources
  uint16_t padding = 0;
};

struct Wait {
  int32_t block, step;
};

// The first entry (op, wait, source) of one thread block in each of its GPU's lists, and the number of its entries
// (ops, waits, sources). first_wait and first_source of an Op count from this first entry.
struct BlockRange {
  int32_t op = 0, ops = 0, wait = 0, waits = 0, source = 0, sources = 0;
};

// ---- connections ----

inline constexpr int kFifoSteps = 8;
inline constexpr int kSimpleStepBytes = 512 << 10;
inline constexpr int kSimpleCallBytes = 4 * kSimpleStepBytes;
inline constexpr int kSimpleSliceSteps = 2;  // a call moves two slices
inline constexpr int kSmallestSlice = 32 << 10;
inline constexpr int kLlStepBytes = 64 << 10;  // in lines of 16 B: 4 B of data, 4 B flag, 4 B of data, 4 B flag
inline constexpr int kLlCallBytes = kLlStepBytes / 2;

HOST_DEVICE constexpr int64_t fifo_bytes(bool ll) {
  return int64_t{kFifoSteps} * (ll ? kLlStepBytes : kSimpleStepBytes);
}

// Returns the bytes of the first slice of a call that moves `bytes`; the second slice has the rest. As in NCCL, slices
// are multiples of 16 elements of 4 B.
HOST_DEVICE constexpr int64_t first_slice(int64_t bytes) {
  const int64_t half = (bytes + 127) / 128 * 64;
  const int64_t slice = half > kSmallestSlice ? half : kSmallestSlice;
  return slice < bytes ? slice : bytes;
}

// The sending and the receiving end of a connection. `tail` counts the FIFO steps that the sender has filled, and
// `head` those that the receiver has emptied. `step` is the count of this end, which is kept between launches.
struct SendEnd {
  char* fifo;            // in the receiver's memory
  uint32_t* tail;        // in the receiver's memory
  const uint32_t* head;  // in this GPU's memory
  uint32_t* step;
};
struct RecvEnd {
  const char* fifo;
  const uint32_t* tail;
  uint32_t* head;  // in the sender's memory
  uint32_t* step;
};

struct BlockProgram {
  BlockRange range;
  SendEnd send;
  RecvEnd recv;
};

// ---- the order in which a thread block processes a buffer ----

struct Cut {
  int64_t chunk_bytes = 0;
  int64_t call_bytes = 0;
  int64_t iterations = 1;
  int32_t chunks_per_call = 1;
};

// The data of one call of an engine: `bytes` bytes from `offset` on, in chunk number `chunk` of the step's chunks.
struct Piece {
  int32_t chunk;
  int64_t offset, bytes;
};

// Returns the value that a semaphore has after `step` of `iteration`. The values increase within a launch and from
// launch to launch.
HOST_DEVICE constexpr uint64_t semaphore_value(uint32_t launch, int64_t iteration, int step) {
  return (uint64_t{launch} << 40) | (uint64_t(iteration) << 12) | uint64_t(step + 1);
}

// Runs all steps on the first call_bytes of every chunk that they name, then all steps on the next call_bytes, and so
// on. Returns false if a wait of the engine timed out.
template <typename Engine>
HOST_DEVICE bool walk(Engine& engine, const Op* ops, int count, const Wait* waits, const Cut& cut) {
  for (int64_t iteration = 0; iteration < cut.iterations; ++iteration) {
    const int64_t offset = iteration * cut.call_bytes;
    const int64_t left = cut.chunk_bytes - offset;
    const int64_t length = left < cut.call_bytes ? left : cut.call_bytes;
    for (int k = 0; k < count; ++k) {
      const Op& op = ops[k];
      if (op.waits > 0 && !engine.wait(op, waits + op.first_wait, iteration)) return false;
      for (int32_t chunk = 0; chunk < op.count; chunk += cut.chunks_per_call) {
        // If a call moves several chunks, they are adjacent, it moves them whole, and there is only one iteration.
        const int32_t rest = op.count - chunk;
        const int32_t chunks = rest < cut.chunks_per_call ? rest : cut.chunks_per_call;
        if (!engine.call(op, Piece{chunk, offset, chunks * length}, iteration)) return false;
      }
      if (op.publishes != 0) engine.publish(op.step, iteration);
    }
  }
  return true;
}
