// Code that the readers of both schemas of MSCCL++ plans share.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string_view>
#include <vector>

#include "models/algorithms/mscclpp/fields.hpp"
#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

inline constexpr std::uint32_t most_chunks = 1 << 20;  // of a buffer
inline constexpr std::size_t most_gpus = 1024;
inline constexpr std::size_t most_blocks = 1024;     // of a GPU
inline constexpr std::size_t most_listed = 1 << 16;  // entries of any other list, and the largest id

// Read one GPU's part of the plan. `gpus` is the number of GPUs.
void read_gpu_v1(const Fields& fields, std::size_t id, std::size_t gpus, Gpu& gpu);
void read_gpu_v2(const Fields& fields, std::size_t id, std::size_t gpus, Gpu& gpu);

// `channel` is an entry of the list of channels of GPU `id`. Returns the GPUs to which these channels lead, and reports
// an error if a channel leads to GPU `id` itself.
std::vector<std::uint32_t> peers_of(const Fields& channel, std::string_view key, std::size_t id, std::size_t gpus);
// Appends one channel to `channels` for each of the peers, in order.
void add_channels(const std::vector<std::uint32_t>& peers, std::vector<Channel>& channels);
// `channel` is an entry for a switch channel. Appends its groups of GPUs to the groups of `gpu`.
void add_groups(const Fields& channel, std::string_view key, Buffer buffer, std::size_t gpus, Gpu& gpu);

struct NamedOperation {
  std::string_view name;
  OpType type;
};
// Sets the operation's type, name and position. Returns false and reports an error if the name is unknown.
bool is_known(const Fields& fields, const JsonValue& value, std::span<const NamedOperation> names, Operation& op);

// Reads the thread blocks of a GPU; `reader_of(block, number, added)` reads their operations.
template <class ReaderOf>
void read_blocks(const Fields& fields, Gpu& gpu, ReaderOf reader_of) {
  const auto& blocks = fields.list("threadblocks", most_blocks);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Fields block = fields.within(blocks[b], fmt::format("{} tb {}", fields.where(), b));
    if (block.number("id", most_listed) != b) {
      block.wrong("id", "its id is not its position in the list", fmt::format("write {}", b));
    }
    Block& added = gpu.blocks.emplace_back();
    added.line = blocks[b].line;
    added.col = blocks[b].col;
    const auto reader = reader_of(block, b, added);
    const auto& ops = block.list("ops", most_listed);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      added.operations.push_back(reader.read(block.within(ops[i], fmt::format("{} op {}", block.where(), i)), ops[i]));
    }
  }
}

}  // namespace moire::mscclpp
