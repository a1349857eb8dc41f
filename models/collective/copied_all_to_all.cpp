// All-to-All by DMA engines: one queue, in turn k rank r copies to r + k, the own share last.
#include "models/collective/all_to_all.hpp"

namespace moire::models::collective {

void append_copied_all_to_all(builder::Builder& build, Bytes bytes_per_peer, const std::string& name) {
  const program::Rank ranks = build.ranks();
  for (program::Rank turn = 1; turn <= ranks; ++turn) {
    program::Copy copy;
    copy.name = build.unique(name);
    copy.transfer = [=](program::Rank rank) {
      return program::Transfer{(rank + turn) % ranks, bytes_per_peer, program::no_flag};
    };
    build.queue.operations.emplace_back(std::move(copy));
  }
}

}  // namespace moire::models::collective
