// NVLS (NVLink SHARP) runs collectives through the switch of a node, which copies stores to all GPUs of the node and
// sums loads from all of them.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "models/workload/builder/builder.hpp"
#include "models/workload/collective/kind.hpp"
#include "models/workload/collective/shares.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

inline bool is_nvls(Algorithm algorithm) {
  return algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree || algorithm == Algorithm::nvls_sharp;
}
// True if the library describes this algorithm, one of nvls, nvls_tree and nvls_sharp.
inline bool has_nvls(const libraries::ChannelsSpec& channels, Algorithm algorithm) {
  if (!channels.nvls) return false;
  return algorithm == Algorithm::nvls ||
         (algorithm == Algorithm::nvls_tree ? channels.nvls->tree : channels.nvls->sharp);
}

// All-reduce, reduce-scatter and all-gather in one node. `bytes` is a rank's input. The library's profile must have
// nvls, and the node's switch must support it.
void append_nvls(builder::Builder& build, const libraries::LibrarySpec& library, Kind kind, double bytes,
                 std::uint32_t channels, const std::string& name);
// All-reduce between nodes, by nvls_tree or nvls_sharp.
void append_nvls_between(builder::Builder& build, const libraries::LibrarySpec& library, Algorithm algorithm,
                         double bytes, std::uint32_t channels, const std::string& name);

// The sizes of the chunks that channels move. A buffer has one part per owner, each channel has a share of every part,
// and in each pass of its loop a channel moves one chunk of its share of every part.
struct NvlsParts {
  std::uint32_t owners = 0;
  Parts parts;    // of the buffer, one for each owner
  Shares shares;  // of a part
  double chunk = 0;

  double bytes(std::uint32_t owner, std::uint32_t channel, std::uint32_t loop) const {
    const double left = std::min(shares.of(channel), parts.of(owner) - channel * shares.share);
    return std::clamp(left - loop * chunk, 0.0, chunk);
  }
  double bytes_of_all(std::uint32_t channel, std::uint32_t loop) const {
    double all = 0;
    for (std::uint32_t owner = 0; owner < owners; ++owner) all += bytes(owner, channel, loop);
    return all;
  }
  bool has(std::uint32_t channel, std::uint32_t loop) const { return loop * chunk < shares.of(channel); }
};
// Chooses the size of chunks. For each entry of `halved_below`, the function halves `chunk` if a channel has fewer
// chunks of a part than the entry. The lower limit is `smallest` at the last entry, and at each earlier entry twice the
// limit of the next entry (NCCL: calcCollChunking).
NvlsParts nvls_parts(const Parts& parts, std::uint32_t owners, std::uint32_t channels, double chunk, double smallest,
                     const std::vector<double>& halved_below);

// Returns the reason if the node's switch cannot copy and sum for its GPUs, and otherwise nothing.
std::optional<std::string> no_nvls(const machine::SystemSpec& system);

// Returns the shape of a loop of `threads` threads that loads and stores through the switch, or within the GPU.
program::PhaseShape nvls_shape(const libraries::ChannelsSpec& channels, const char* name, std::int64_t threads);

}  // namespace moire::collective
