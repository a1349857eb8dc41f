// The semaphores of a plan's channel program. A GPU's semaphores are numbered: first those of its memory channels, then
// those of its ports, then those between its blocks. Those that stand for the flags in packets, for barriers and for
// puts that have arrived come last.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "models/algorithms/ir/step.hpp"
#include "models/algorithms/mscclpp/channel_ends.hpp"
#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

// A pipeline is one operation, with all its inner operations.
struct OperationId {
  std::size_t gpu = 0;
  std::size_t block = 0;
  std::size_t op = 0;
  friend auto operator<=>(const OperationId&, const OperationId&) = default;
};

// A reader polls the flag in each packet. In the channel program, two semaphores replace these flags: each of the
// `writers` operations that store packets for the reader raises `begun` before its first packet and `done` after its
// last. Packets that a proxy puts arrive all at once, so each such put has one semaphore, in `ports`.
struct PacketReader {
  std::uint32_t begun = ir::no_semaphore;
  std::uint32_t done = ir::no_semaphore;
  std::int64_t writers = 0;
  std::set<std::uint32_t> ports;
};

class PlanSemaphores {
 public:
  explicit PlanSemaphores(const Plan& plan);

  // Returns, by GPU and semaphore, which rank raises the semaphore.
  const std::vector<std::vector<ir::Rank>>& raisers() const { return raisers_; }

  // Returns the semaphore of a GPU's end of a channel.
  std::uint32_t end_of(std::size_t gpu, ChannelType type, std::uint32_t channel) const;
  // Returns the semaphore of the peer's end of a GPU's channel; no_semaphore if the peer has no such channel.
  std::uint32_t far_end(std::size_t gpu, ChannelType type, std::uint32_t channel) const;
  // Returns the semaphore of a GPU's semaphore `id` between blocks.
  std::uint32_t between_blocks(std::size_t gpu, std::uint32_t id) const;
  // Returns the initial value of a semaphore between blocks: so many acquires need not wait for a raise. Returns 0 for
  // other semaphores.
  std::int64_t initial_value(std::size_t gpu, std::uint32_t semaphore) const;
  // Returns the semaphore that every block raises when it reaches the barrier.
  std::uint32_t of_barrier(std::size_t gpu, std::uint32_t barrier);
  // Returns the semaphore that is raised whenever a put of the block over the port has arrived.
  std::uint32_t of_arrivals(std::size_t gpu, std::size_t block, std::uint32_t port);

  // Returns the block that was the first to wait for the semaphore, which is `block` if no other block did.
  std::size_t first_waiter(std::size_t gpu, std::uint32_t semaphore, std::size_t block);

  // Returns the semaphores by which an operation waits for the packets that it reads. There are none if it reads none.
  const PacketReader& reader(const OperationId& id) const;
  // Returns the operations that read the packets which an operation's threads store to one of its destinations.
  const std::vector<OperationId>& readers_of(const OperationId& writer, std::size_t destination) const;
  // Returns the semaphore at the destination that is raised once a proxy has put an operation's packets there.
  std::uint32_t of_packets(const OperationId& writer, std::size_t destination) const;

 private:
  using Writer = std::pair<OperationId, std::size_t>;  // an operation and the index of one of its destinations

  std::uint32_t add(std::size_t gpu, ir::Rank raiser);
  void number_packets();

  const Plan& plan_;
  ChannelEnds ends_;
  std::vector<std::vector<ir::Rank>> raisers_;
  std::map<OperationId, PacketReader> readers_;
  std::map<Writer, std::vector<OperationId>> read_by_;
  std::map<Writer, std::uint32_t> by_port_;
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> barriers_;                // by GPU and barrier
  std::map<std::tuple<std::size_t, std::size_t, std::uint32_t>, std::uint32_t> arrivals_;  // by GPU, block and port
  std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> waiters_;                   // by GPU and semaphore
};

}  // namespace moire::mscclpp
