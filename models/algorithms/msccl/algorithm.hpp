// A custom collective algorithm as MSCCL's runtime takes it (MSCCL XML): thread blocks walk through steps and exchange
// chunks over FIFO connections. read_xml reads it, models/algorithms/mscclang compiles it, check proves it, and
// models/workload/collective runs it.
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
  bool has_dependents = false;  // hasdep: other thread blocks may wait for this step
  std::uint16_t count = 0;      // chunks in a row; 0 for a nop
  std::uint16_t col = 0;        // column in the file, with `line`
  std::int32_t src_offset = 0;  // in chunks; `none` where unused
  std::int32_t dst_offset = 0;
  std::int32_t depends_block = none;  // depid and deps: a thread block of the same GPU, and its step
  std::int32_t depends_step = none;
  std::uint32_t line = 0;  // in the file; 0 if it was not read from one

  bool operator==(const Step&) const = default;
};

// Sends to at most one peer and receives from at most one, both on the same channel.
struct ThreadBlock {
  std::int32_t send = none;
  std::int32_t recv = none;
  std::int32_t channel = 0;
  std::vector<Step> steps;
  std::uint32_t line = 0;
  std::uint32_t col = 0;

  bool operator==(const ThreadBlock&) const = default;
};

// Chunks of each buffer. In place, input and output are the same memory, and the file may give 0 for one of them.
struct Gpu {
  std::int32_t input_chunks = 0;
  std::int32_t output_chunks = 0;
  std::int32_t scratch_chunks = 0;
  std::vector<ThreadBlock> blocks;
  std::uint32_t line = 0;
  std::uint32_t col = 0;

  bool operator==(const Gpu&) const = default;
};

struct Algorithm {
  std::string name;
  std::string file;  // "" if it was not read from a file
  Collective collective = Collective::all_reduce;
  Protocol protocol = Protocol::simple;
  std::int32_t channels = 1;
  std::int32_t chunks = 1;  // nchunksperloop: the whole buffer is cut into so many
  bool in_place = false;    // inplace and outofplace: the calls for which the runtime may choose it
  bool out_of_place = true;
  std::uint64_t min_bytes = 0;  // sizes of the whole buffer for which it is chosen; max_bytes 0: no limit
  std::uint64_t max_bytes = 0;
  std::vector<Gpu> gpus;
  std::uint32_t line = 0;
  std::uint32_t col = 0;

  bool operator==(const Algorithm&) const = default;
  std::int32_t ranks() const { return static_cast<std::int32_t>(gpus.size()); }
};

// The runtime's default FIFOs: 8 slots in a buffer of 4 MiB (Simple), 512 KiB (LL) or 4,800 KiB (LL128), as in NCCL.
// Flags take half of an LL buffer and 1/16 of an LL128 buffer; a call with Simple fills 4 slots.
struct Fifo {
  std::uint64_t call_bytes = 0;  // data that one call carries
  std::uint32_t calls = 0;       // calls that a connection holds

  bool operator==(const Fifo&) const = default;
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
      break;  // no algorithm has it
  }
  return {};
}

inline constexpr std::uint32_t most_chunks = 71;  // of a step and of a call: MSCCL_MAX_COUNT - 1 of MSCCL's msccl.h

// How the runtime walks through a buffer: it runs all steps `iterations` times, each time on the next call_bytes of
// every chunk. A step of several chunks makes calls of at most chunks_per_call chunks.
struct Cut {
  double chunk_bytes = 0;
  std::uint64_t iterations = 1;
  std::uint32_t chunks_per_call = 1;
  std::uint32_t calls(std::uint32_t count) const { return (count + chunks_per_call - 1) / chunks_per_call; }
};
// `bytes` is the size of the whole buffer: for all-gather, reduce-scatter and all-to-all, all ranks' parts together.
Cut cut(const Algorithm& algorithm, std::uint64_t bytes, const Fifo& fifo);

// The spelling of the files: "allreduce", "LL128", "rrcs", "i".
std::string_view to_string(Collective collective);
std::string_view to_string(Protocol protocol);
std::string_view to_string(Op type);
std::string_view to_string(Buffer buffer);
std::optional<Collective> collective_of(std::string_view text);  // knows older spellings, too
std::optional<Protocol> protocol_of(std::string_view text);
std::optional<Op> step_type_of(std::string_view text);
std::optional<Buffer> buffer_of(std::string_view text);
// The attribute `coding`, which only Moire knows: "encode" or "decode" for a cpy that does so, else "".
std::string_view coding_to_string(Op type);
std::optional<Op> coding_of(std::string_view text);

}  // namespace moire::msccl
