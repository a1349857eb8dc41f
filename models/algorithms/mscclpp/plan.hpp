// An execution plan of MSCCL++. Its thread blocks put data to other GPUs, get data from them and signal them over
// one-sided channels. read_plan() reads both schemas, and check() proves a plan.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/algorithms/msccl/algorithm.hpp"
#include "sim/config/place.hpp"

namespace moire::mscclpp {

using ir::Buffer;

enum class ChannelType : std::uint8_t {
  none,
  memory,     // loads and stores over NVLink or PCIe
  port,       // a host proxy or a NIC carries out requests
  multicast,  // "switch" in plans: NVLink multicast and reduction
};

enum class OpType : std::uint8_t {
  nop,      // barrier of all threads of the block
  barrier,  // barrier of all threads of several blocks
  signal,
  wait,
  relaxed_signal,  // does not order memory
  relaxed_wait,
  put,
  put_signal,
  put_signal_flush,
  get,
  flush,  // waits until puts over a port are done
  copy,
  reduce,            // re, res, rre, rres (v1: re, rs, rrc, rrcs): destinations = sum of sources
  put_packets,       // writes data as packets to the peer
  read_put_packets,  // sends received packets on to the peer
  copy_to_packets,
  unpack_packets,
  reduce_packets,           // repkt, respkt, recpkt, recspkt
  multicast_reduce,         // glres: sum over the group's buffers, into all of them
  multicast_store,          // gstore
  multicast_store_packets,  // gstorepkt
  pipeline,                 // repeats its inner operations for each unit of bytes of the chunks
  acquire,                  // waits for a semaphore between blocks of the GPU
  release,                  // raises a semaphore between blocks of the GPU
};

// Consecutive chunks that an operation reads or writes.
struct Operand {
  enum class Place : std::uint8_t { local, remote, group } place = Place::local;
  Buffer buffer = Buffer::input;
  std::int32_t gpu = -1;    // owner of the buffer; -1 for a group
  std::uint32_t group = 0;  // index among the groups of the GPU that runs the operation
  std::uint32_t index = 0;  // first chunk
  std::uint32_t count = 0;
  bool packets = false;  // data with flags
};

struct Operation {
  OpType type = OpType::nop;
  std::string name;  // as in the file
  ChannelType channel_type = ChannelType::none;
  std::vector<std::uint32_t> channels;  // indices into the GPU's memory channels or ports
  std::vector<Operand> sources;
  std::vector<Operand> destinations;
  std::uint32_t part = 0;  // index of this block's share, if `parts` blocks share the bytes
  std::uint32_t parts = 1;
  std::uint32_t barrier = 0;
  std::uint32_t barrier_blocks = 0;
  std::vector<std::uint32_t> semaphores;
  std::uint64_t unit_bytes = 0;  // of a pipeline: bytes of a chunk that a round moves
  std::uint32_t pipeline_chunks = 0;
  std::vector<Operation> inner;
  int line = 0;
  int col = 0;
};

// True if the operation raises a signal of each of its channels at the peer.
bool gives_signal(OpType type);

struct Channel {
  std::int32_t peer = 0;
  std::uint32_t ordinal = 0;  // position among the channels of this type to this peer; equal at both ends
};

struct Group {  // members of a multicast group
  Buffer buffer = Buffer::input;
  std::vector<std::int32_t> gpus;
};

struct Block {
  std::vector<Operation> operations;
  std::size_t memory_channels = 0;
  std::size_t port_channels = 0;
  int line = 0;
  int col = 0;
};

struct Gpu {
  std::uint32_t input_chunks = 0;
  std::uint32_t output_chunks = 0;
  std::uint32_t scratch_chunks = 0;
  std::vector<Channel> memory;
  std::vector<Channel> ports;
  std::vector<Group> groups;
  std::vector<std::uint32_t> semaphores;  // initial values
  std::vector<Block> blocks;
  int line = 0;
  int col = 0;

  std::uint32_t chunks(Buffer buffer) const {
    return buffer == Buffer::input ? input_chunks : buffer == Buffer::output ? output_chunks : scratch_chunks;
  }
  const std::vector<Channel>& of(ChannelType type) const { return type == ChannelType::port ? ports : memory; }
};

inline constexpr std::uint32_t most_threads = 1024;  // of a block; also the default if the plan states no number

struct Plan {
  std::string name;
  std::shared_ptr<const config::Source> source;
  int schema = 2;
  ir::Collective collective = ir::Collective::custom;
  bool packets = false;  // protocol LL: scratch holds packets
  bool in_place = false;
  bool reuse_scratch = false;  // scratch has 64 MiB; larger chunks reuse it
  bool double_scratch = false;
  std::uint32_t alignment = 16;
  std::uint32_t threads = most_threads;  // per block
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
  std::vector<Gpu> gpus;

  std::int32_t ranks() const { return static_cast<std::int32_t>(gpus.size()); }
  config::Place place(const Operation& operation) const { return {source, operation.line, operation.col}; }
};

// Limits of the public runtime.
inline constexpr std::size_t most_operations = 64;  // of a block, including those inside pipelines
inline constexpr std::size_t most_channels = 16;    // of a block, of each type
inline constexpr std::size_t most_operation_channels = 8;
inline constexpr std::size_t most_operands = 10;  // sources or destinations of an operation
inline constexpr std::size_t most_barriers = 16;
inline constexpr std::size_t most_semaphores = 16;  // of an operation
inline constexpr std::uint64_t reused_scratch_bytes = std::uint64_t{64} << 20;

std::string_view to_string(ChannelType type);

// Returns the position of an operation in messages: "gpu 1 tb 0 op 3 (rres)"; inside a pipeline "op 3.2".
std::string where(std::size_t gpu, std::size_t block, const std::string& op, const Operation& operation);

}  // namespace moire::mscclpp
