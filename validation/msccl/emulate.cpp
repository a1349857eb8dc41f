// Runs plans on the CPU with one thread per thread block. It uses the code of the CUDA interpreter for the order of
// steps, the memory layout and the flags, so that it finds faults of this code without a GPU.
//
// Usage: msccl_emulate PLANS.txt BYTES... Prints a line for every plan and size: "ok", "wrong" with the first wrong
// position, or "stuck".
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "layout.hpp"
#include "meaning.hpp"

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLimit = std::chrono::milliseconds(1500);

template <typename T>
T load(const T* p) {
  return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
template <typename T>
void store(T* p, T value) {
  __atomic_store_n(p, value, __ATOMIC_RELEASE);
}

class Engine {
 public:
  Engine(const BlockProgram& program, const GpuProgram& gpu, const Cut& cut, char* const* buffers, uint64_t* semaphores,
         int block, uint32_t launch, bool ll, int* stop)
      : program_(program),
        gpu_(gpu),
        cut_(cut),
        buffers_(buffers),
        semaphores_(semaphores),
        block_(block),
        launch_(launch),
        ll_(ll),
        stop_(stop) {
    if (program.send.step != nullptr) send_step_ = *program.send.step;
    if (program.recv.step != nullptr) recv_step_ = *program.recv.step;
  }
  ~Engine() {
    if (program_.send.step != nullptr) *program_.send.step = send_step_;
    if (program_.recv.step != nullptr) *program_.recv.step = recv_step_;
  }

  bool wait(const Op& op, const Wait* waits, int64_t iteration) {
    for (int w = 0; w < op.waits; ++w) {
      const uint64_t* semaphore = semaphores_ + kSemaphoreWords * waits[w].block;
      if (!spin([&] { return load(semaphore) >= semaphore_value(launch_, iteration, waits[w].step); })) return false;
    }
    return true;
  }

  bool call(const Op& op, const Piece& piece, int64_t) {
    if (!receives(op.type) && !sends(op.type)) {
      local(op, piece);
      return true;
    }
    return ll_ ? call_ll(op, piece) : call_simple(op, piece);
  }

  void publish(int step, int64_t iteration) {
    store(semaphores_ + kSemaphoreWords * block_, semaphore_value(launch_, iteration, step));
  }

 private:
  template <typename Done>
  bool spin(Done done) {
    const auto deadline = Clock::now() + kLimit;
    while (!done()) {
      if (load(stop_) != 0 || Clock::now() > deadline) {
        store(stop_, 1);
        return false;
      }
      std::this_thread::yield();
    }
    return true;
  }
  float* place(int buffer, int64_t chunk, const Piece& piece) const {
    return reinterpret_cast<float*>(buffers_[buffer] + (chunk + piece.chunk) * cut_.chunk_bytes + piece.offset);
  }

  void local(const Op& op, const Piece& piece) {
    float* to = place(op.dst_buffer, op.dst, piece);
    if (op.type == StepType::copy) {
      std::memmove(to, place(op.src_buffer, op.src, piece), size_t(piece.bytes));
      return;
    }
    for (int s = 0; s < op.sources; ++s) {
      const int chunk = gpu_.sources[size_t(program_.range.source + op.first_source + s)];
      const float* from = place(op.src_buffer, chunk, piece);
      for (int64_t i = 0; i < piece.bytes / 4; ++i) to[i] += from[i];
    }
  }

  float value(const Op& op, const Piece& piece, int64_t i, float received) const {
    if (!reads_source(op.type)) return received;
    const float own = place(op.src_buffer, op.src, piece)[i];
    return receives(op.type) ? received + own : own;
  }

  bool call_simple(const Op& op, const Piece& piece) {
    int64_t from = 0;
    for (int slice = 0; slice < 2; ++slice) {
      const int64_t end = slice == 0 ? first_slice(piece.bytes) : piece.bytes;
      if (receives(op.type) &&
          !spin([&] { return int32_t(load(program_.recv.tail) - (recv_step_ + kSimpleSliceSteps)) >= 0; }))
        return false;
      if (sends(op.type) &&
          !spin([&] { return int32_t(load(program_.send.head) + kFifoSteps - (send_step_ + kSimpleSliceSteps)) >= 0; }))
        return false;
      const auto* in = reinterpret_cast<const float*>(program_.recv.fifo + recv_step_ % kFifoSteps * kSimpleStepBytes);
      auto* out = reinterpret_cast<float*>(program_.send.fifo + send_step_ % kFifoSteps * kSimpleStepBytes);
      for (int64_t i = from / 4; i < end / 4; ++i) {
        const float v = value(op, piece, i, receives(op.type) ? in[i - from / 4] : 0);
        if (writes_target(op.type)) place(op.dst_buffer, op.dst, piece)[i] = v;
        if (sends(op.type)) out[i - from / 4] = v;
      }
      if (receives(op.type)) store(program_.recv.head, recv_step_ += kSimpleSliceSteps);
      if (sends(op.type)) store(program_.send.tail, send_step_ += kSimpleSliceSteps);
      from = end;
    }
    return true;
  }

  bool call_ll(const Op& op, const Piece& piece) {
    if (sends(op.type) && !spin([&] { return int32_t(load(program_.send.head) + kFifoSteps - (send_step_ + 1)) >= 0; }))
      return false;
    const auto* in = reinterpret_cast<const uint64_t*>(program_.recv.fifo + recv_step_ % kFifoSteps * kLlStepBytes);
    auto* out = reinterpret_cast<uint64_t*>(program_.send.fifo + send_step_ % kFifoSteps * kLlStepBytes);
    for (int64_t i = 0; i < piece.bytes / 4; ++i) {
      float received = 0;
      if (receives(op.type)) {
        uint64_t line = 0;
        if (!spin([&] { return uint32_t((line = load(in + i)) >> 32) == recv_step_ + 1; })) return false;
        const auto bits = uint32_t(line);
        std::memcpy(&received, &bits, 4);
      }
      const float v = value(op, piece, i, received);
      if (writes_target(op.type)) place(op.dst_buffer, op.dst, piece)[i] = v;
      uint32_t bits = 0;
      std::memcpy(&bits, &v, 4);
      if (sends(op.type)) store(out + i, (uint64_t{send_step_ + 1} << 32) | bits);
    }
    if (receives(op.type)) store(program_.recv.head, ++recv_step_);
    if (sends(op.type)) ++send_step_;
    return true;
  }

  const BlockProgram& program_;
  const GpuProgram& gpu_;
  const Cut& cut_;
  char* const* buffers_;
  uint64_t* semaphores_;
  int block_;
  uint32_t launch_;
  bool ll_;
  int* stop_;
  uint32_t send_step_ = 0, recv_step_ = 0;
};

using Memory = std::unique_ptr<char, decltype(&std::free)>;
Memory take(int64_t bytes) {
  const size_t whole = (size_t(bytes) + 4095) / 4096 * 4096 + 4096;
  Memory memory(static_cast<char*>(std::aligned_alloc(4096, whole)), &std::free);
  std::memset(memory.get(), 0, whole);
  return memory;
}

// Runs a plan three times on the same connections, so that the state that a launch leaves in them is tested, too.
// Returns the line to print.
std::string run(const Plan& plan, int64_t bytes) {
  Cut cut;
  const std::string problem = cut_of(plan, bytes, cut);
  if (!problem.empty()) return "skipped: " + problem;
  const std::vector<Expected> expected = expected_of(plan);
  const Layout layout(plan);
  std::vector<Memory> owned;
  std::vector<char*> slabs;
  for (int r = 0; r < plan.ranks(); ++r) slabs.push_back((owned.push_back(take(layout.bytes(r))), owned.back().get()));
  for (uint32_t launch = 1; launch <= 3; ++launch) {
    int stop = 0;
    std::vector<GpuProgram> programs;
    std::vector<std::vector<BlockProgram>> blocks;
    std::vector<std::vector<char*>> buffers;
    std::vector<Memory> data;
    for (int r = 0; r < plan.ranks(); ++r) {
      programs.push_back(compile(plan.gpus[size_t(r)]));
      blocks.push_back(layout.blocks(r, programs.back(), slabs));
      char* base[3];
      const int64_t chunks[3] = {plan.chunks + plan.gpus[size_t(r)].chunks[0],
                                 plan.chunks + plan.gpus[size_t(r)].chunks[1], plan.gpus[size_t(r)].chunks[2]};
      for (int b = 0; b < 3; ++b) {
        data.push_back(take(chunks[b] * cut.chunk_bytes));
        base[b] = data.back().get();
        std::memset(base[b], 0xff, size_t(chunks[b] * cut.chunk_bytes));
      }
      buffers.emplace_back();
      for (int b = 0; b < 3; ++b) {
        const Plan::Place p = plan.place(r, b);
        buffers.back().push_back(base[p.buffer] + p.chunk * cut.chunk_bytes);
      }
      auto* input = reinterpret_cast<float*>(buffers.back()[0]);
      for (int64_t i = 0; i < plan.input_chunks(r) * cut.chunk_bytes / 4; ++i)
        input[i] = float(input_value(r, i, launch));
    }
    std::vector<std::thread> threads;
    for (int r = 0; r < plan.ranks(); ++r) {
      for (size_t b = 0; b < blocks[size_t(r)].size(); ++b) {
        threads.emplace_back([&, r, b] {
          const BlockProgram& program = blocks[size_t(r)][b];
          const GpuProgram& gpu = programs[size_t(r)];
          Engine engine(program, gpu, cut, buffers[size_t(r)].data(), layout.semaphores(r, slabs), int(b), launch,
                        plan.ll, &stop);
          walk(engine, gpu.ops.data() + program.range.op, program.range.ops, gpu.waits.data() + program.range.wait,
               cut);
        });
      }
    }
    for (std::thread& t : threads) t.join();
    if (stop != 0) return "stuck";
    const int64_t per_chunk = cut.chunk_bytes / 4;
    for (int r = 0; r < plan.ranks(); ++r) {
      const auto* output = reinterpret_cast<const float*>(buffers[size_t(r)][1]);
      for (size_t c = 0; c < expected[size_t(r)].size(); ++c) {
        if (expected[size_t(r)][c].empty()) continue;
        for (int64_t i = 0; i < per_chunk; ++i) {
          int want = 0;
          for (const Term& t : expected[size_t(r)][c])
            want += t.times * input_value(t.rank, t.chunk * per_chunk + i, launch);
          if (output[int64_t(c) * per_chunk + i] != float(want))
            return "wrong: launch " + std::to_string(launch) + ", rank " + std::to_string(r) + ", chunk " +
                   std::to_string(c) + ", element " + std::to_string(i);
        }
      }
    }
  }
  return "ok";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: msccl_emulate PLANS.txt BYTES...\n");
    return 2;
  }
  bool good = true;
  for (const Plan& plan : read_plans(argv[1])) {
    for (int i = 2; i < argc; ++i) {
      const std::string result = run(plan, std::atoll(argv[i]));
      std::printf("%s %s %s\n", plan.file.c_str(), argv[i], result.c_str());
      good &= result == "ok" || result.rfind("skipped", 0) == 0;
    }
  }
  return good ? 0 : 1;
}
