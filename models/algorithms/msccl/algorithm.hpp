// A custom collective algorithm in the form of MSCCL XML, which MSCCL's runtime reads. Thread blocks take steps, which
// exchange chunks over FIFO connections. read_xml() reads an algorithm, models/algorithms/mscclang compiles a program
// to one, check() proves an algorithm, and models/workload/collective simulates its time.
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
  std::uint16_t col = 0;        // column of the step in its file
  std::int32_t src_offset = 0;  // in chunks; `none` where unused
  std::int32_t dst_offset = 0;
  std::int32_t depends_block = none;  // depid: the thread block of the same GPU to wait for
  std::int32_t depends_step = none;   // deps: the step of that thread block to wait for
  std::uint32_t line = 0;             // of the step in its file; 0: not read from a file

  bool operator==(const Step&) const = default;
};

// A thread block sends to at most one peer and receives from at most one peer, both on the same channel.
struct ThreadBlock {
  std::int32_t send = none;
  std::int32_t recv = none;
  std::int32_t channel = 0;
  std::vector<Step> steps;
  std::uint32_t line = 0;
  std::uint32_t col = 0;

  bool operator==(const ThreadBlock&) const = default;
};

// The thread blocks of a GPU and the number of chunks of each of its buffers. In an in-place algorithm, input and
// output are the same memory, and the file may give 0 for one of the two.
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
  std::int32_t chunks = 1;      // nchunksperloop: number of chunks that the whole buffer is cut into
  bool in_place = false;        // inplace: the runtime may choose the algorithm for in-place calls
  bool out_of_place = true;     // outofplace: the runtime may choose the algorithm for out-of-place calls
  std::uint64_t min_bytes = 0;  // smallest size of the whole buffer for which the runtime chooses the algorithm
  std::uint64_t max_bytes = 0;  // largest such size; 0: no limit
  std::vector<Gpu> gpus;
  std::uint32_t line = 0;
  std::uint32_t col = 0;

  bool operator==(const Algorithm&) const = default;
  std::int32_t ranks() const { return static_cast<std::int32_t>(gpus.size()); }
};

// The FIFO of a connection. The runtime's defaults are those of NCCL: 8 slots in a buffer of 4 MiB (Simple), 512 KiB
// (LL) or 4,800 KiB (LL128). Flags take half of an LL buffer and 1/16 of an LL128 buffer. A call with Simple fills 4
// slots.
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

// How the runtime divides a buffer. The runtime runs all steps `iterations` times. Each iteration works on the next
// Fifo::call_bytes bytes of every chunk. A step of several chunks makes calls of at most chunks_per_call chunks.
struct Cut {
  double chunk_bytes = 0;
  std::uint64_t iterations = 1;
  std::uint32_t chunks_per_call = 1;
  std::uint32_t calls(std::uint32_t count) const { return (count + chunks_per_call - 1) / chunks_per_call; }
};
// Returns how the runtime divides a whole buffer of `bytes`. For all-gather, reduce-scatter and all-to-all, `bytes` is
// the size of all ranks' parts together.
Cut cut(const Algorithm& algorithm, std::uint64_t bytes, const Fifo& fifo);

// Return a name as MSCCL XML files spell it, such as "allreduce", "LL128", "rrcs" or "i".
std::string_view to_string(Collective collective);
std::string_view to_string(Protocol protocol);
std::string_view to_string(Op type);
std::string_view to_string(Buffer buffer);
std::optional<Collective> collective_of(std::string_view text);  // also accepts "reduce_scatter"
std::optional<Protocol> protocol_of(std::string_view text);
std::optional<Op> step_type_of(std::string_view text);
std::optional<Buffer> buffer_of(std::string_view text);
// Returns the value of the attribute `coding` of a step, which only Moire knows: "encode" or "decode" if the step
// encodes or decodes, else "".
std::string_view coding_to_string(Op type);
std::optional<Op> coding_of(std::string_view text);

}  // namespace moire::msccl
