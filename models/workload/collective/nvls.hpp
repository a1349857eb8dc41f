// NVLS (NVLink SHARP) runs collectives through the switch of a node, which copies a store to all GPUs of the node and
// answers a load with the sum over all GPUs.
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

// Appends an all-reduce, reduce-scatter or all-gather in one node, with at most `channels` channels. `bytes` is a
// rank's input. The library's profile must have `nvls`, and no_nvls() must find no reason against it.
void append_nvls(builder::Builder& build, const libraries::LibrarySpec& library, Kind kind, double bytes,
                 std::uint32_t channels, const std::string& name);
// Appends an all-reduce of a buffer of `bytes` over several nodes, by nvls_tree or nvls_sharp.
void append_nvls_between(builder::Builder& build, const libraries::LibrarySpec& library, Algorithm algorithm,
                         double bytes, std::uint32_t channels, const std::string& name);

// The sizes of the chunks that channels move. A buffer has one part per owner (a GPU that sums or distributes this
// part), each channel has a share of every part, and in each pass of its loop a channel moves one chunk of its share of
// every part.
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
// Returns the parts of the owners, the shares of at most `channels` channels and the size of chunks. That size begins
// as `chunk`. For each entry of `halved_below`, it is halved if a channel has fewer chunks of a part than the entry. It
// never falls below a limit, which is `smallest` at the last entry, and at each earlier entry twice the limit of the
// next entry (NCCL: calcCollChunking).
NvlsParts nvls_parts(const Parts& parts, std::uint32_t owners, std::uint32_t channels, double chunk, double smallest,
                     const std::vector<double>& halved_below);

// Returns the reason if the node's switch cannot copy and sum for its GPUs, and otherwise nothing.
std::optional<std::string> no_nvls(const machine::SystemSpec& system);

// Returns the shape of a loop of `threads` threads that loads and stores through the switch, or within the GPU. The
// caller sets the shape's loads and stores.
program::PhaseShape nvls_shape(const libraries::ChannelsSpec& channels, const char* name, std::int64_t threads);

}  // namespace moire::collective
