// A custom collective algorithm as MSCCL's runtime takes it (MSCCL XML): thread blocks that walk through steps over
// FIFO connections. Read by read_xml, made by models/algorithms/mscclang, judged by check, run by
// models/workload/collective.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/algorithms/ir/step.hpp"

namespace moire::msccl {

using ir::Buffer;
using ir::buffers;
using ir::Collective;
using ir::Effect;
using ir::Op;
using ir::Protocol;

inline constexpr std::int32_t none = -1;  // no peer, no dependency

struct Step {
  Op type = Op::none;
  Buffer src_buffer = Buffer::input;
  Buffer dst_buffer = Buffer::input;
  bool has_dependents = false;  // hasdep: it publishes that it is done
  std::uint16_t count = 0;      // consecutive chunks; 0 of a nop
  std::uint16_t col = 0;        // where it was read, with line
  std::int32_t src_offset = 0;  // chunks; none where unused
  std::int32_t dst_offset = 0;
  std::int32_t depends_block = none;  // thread block of the same GPU, and its step
  std::int32_t depends_step = none;
  std::uint32_t line = 0;  // in the file it was read from; 0: none
};

// Sends to one peer and receives from one peer, both on one channel.
struct ThreadBlock {
  std::int32_t send = none;
  std::int32_t recv = none;
  std::int32_t channel = 0;
  std::vector<Step> steps;
  std::uint32_t line = 0;
  std::uint32_t col = 0;
};

// Chunks in use of each buffer. In place, input and output are one, and one of both may be 0.
struct Gpu {
  std::int32_t input_chunks = 0;
  std::int32_t output_chunks = 0;
  std::int32_t scratch_chunks = 0;
  std::vector<ThreadBlock> blocks;
  std::uint32_t line = 0;
  std::uint32_t col = 0;
};

struct Algorithm {
  std::string name;
  std::string file;  // "" where it was not read
  Collective collective = Collective::all_reduce;
  Protocol protocol = Protocol::simple;
  std::int32_t channels = 1;
  std::int32_t chunks = 1;  // nchunksperloop: into which the whole buffer is cut
  bool in_place = false;    // the calls that it may be chosen for
  bool out_of_place = true;
  std::uint64_t min_bytes = 0;  // window of the whole buffer's bytes; max 0: no limit
  std::uint64_t max_bytes = 0;
  std::vector<Gpu> gpus;
  std::uint32_t line = 0;
  std::uint32_t col = 0;

  std::int32_t ranks() const { return static_cast<std::int32_t>(gpus.size()); }
};

// What the runtime's FIFOs are by default: 8 steps of a buffer of 4 MiB, 512 KiB, 4,800 KiB; a call with Simple
// takes 4.
struct Fifo {
  std::uint64_t call_bytes = 0;  // of data
  std::uint32_t calls = 0;       // that a connection holds
};
constexpr Fifo default_fifo(Protocol protocol) {
  switch (protocol) {
    case Protocol::simple:
      return {std::uint64_t{2} << 20, 2};
    case Protocol::ll:
      return {std::uint64_t{32} << 10, 8};
    case Protocol::ll128:
      return {576000, 8};
    case Protocol::automatic:
      break;  // no algorithm's
  }
  return {};
}

inline constexpr std::uint32_t most_chunks = 71;  // of a step, and of a call

// How the runtime walks through a buffer: `iterations` times all steps, each on the next call_bytes of every chunk; a
// step of several chunks makes calls of up to chunks_per_call.
struct Cut {
  double chunk_bytes = 0;
  std::uint64_t iterations = 1;
  std::uint32_t chunks_per_call = 1;
  std::uint32_t calls(std::uint32_t count) const { return (count + chunks_per_call - 1) / chunks_per_call; }
};
// `bytes` is the whole buffer's: of all ranks' parts for all-gather, reduce-scatter and All-to-All.
Cut cut(const Algorithm& algorithm, std::uint64_t bytes, const Fifo& fifo);

// As files write them: "allreduce", "LL128", "rrcs", "i".
std::string_view to_string(Collective collective);
std::string_view to_string(Protocol protocol);
std::string_view to_string(Op type);
std::string_view to_string(Buffer buffer);
std::optional<Collective> collective_of(std::string_view text);  // with the older spellings
std::optional<Protocol> protocol_of(std::string_view text);
std::optional<Op> step_type_of(std::string_view text);
std::optional<Buffer> buffer_of(std::string_view text);

}  // namespace moire::msccl
