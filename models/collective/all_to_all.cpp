#include "models/collective/all_to_all.hpp"

#include <algorithm>
#include <cmath>

namespace moire::models::collective {

namespace {

using program::Phase;
using program::Rank;

constexpr double credit_bytes = 8;  // the receiver's head pointer

// Peers are met in rotated order: in turn k a rank sends to rank + k and receives from rank - k, so that no receiver
// is met by two senders at once. A unit is one channel's share of one turn; channel c works on units c, c + channels...
class AllToAllBody final : public program::KernelBody {
 public:
  struct Plan {
    Rank ranks = 0;
    Rank gpus_per_node = 0;
    bool node_stores = false;
    std::uint32_t channels = 0;
    std::uint32_t channels_per_peer = 0;
    std::uint32_t units = 0;
    std::uint32_t chunks = 0;  // of the largest unit
    double bytes_per_peer = 0;
    double slot = 0;
    std::uint32_t slots = 0;
    std::uint32_t own_copies = 0;  // workgroups that copy the rank's own share
    double own_bytes = 0;
    Time setup;
    Time step_overhead;
    bool staged = false;
    program::FlagBlock filled;  // slots of each unit that have arrived
    program::FlagBlock credit;  // slots of each unit that the receiver has emptied
  };
  enum Shape : std::uint16_t { store_to_peer, stage, unstage, copy_own };

  explicit AllToAllBody(Plan plan) : plan_(plan) {}

  std::int64_t workgroups(Rank) const override { return 2 * std::int64_t{plan_.channels} + plan_.own_copies; }

  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    if (step == 0) {
      phase.kind = Phase::Kind::delay;
      phase.duration = plan_.setup;
      return true;
    }
    --step;
    if (workgroup >= 2 * std::int64_t{plan_.channels}) {
      phase.kind = Phase::Kind::work;
      phase.shape = copy_own;
      phase.amount = plan_.own_bytes / plan_.own_copies;
      return step == 0;
    }
    const auto channel = static_cast<std::uint32_t>(workgroup / 2);
    const bool sends = workgroup % 2 == 0;
    const std::uint32_t in_unit = step % (4 * plan_.chunks);
    const std::uint32_t unit = channel + step / (4 * plan_.chunks) * plan_.channels;
    if (unit >= plan_.units) return false;
    const Rank turn = 1 + unit / plan_.channels_per_peer;
    const std::uint32_t chunk = in_unit / 4;
    const double bytes = std::min(plan_.slot, bytes_of(unit) - chunk * plan_.slot);
    if (bytes <= 0) return true;  // a smaller unit
    if (sends) {
      send_step((rank + turn) % plan_.ranks, rank, unit, chunk, in_unit % 4, bytes, phase);
    } else {
      receive_step((rank + plan_.ranks - turn) % plan_.ranks, rank, unit, chunk, in_unit % 4, bytes, phase);
    }
    return true;
  }

 private:
  // Whole bytes: shares of one peer's bytes differ by at most one.
  double bytes_of(std::uint32_t unit) const {
    const double share = unit % plan_.channels_per_peer;
    return std::floor(plan_.bytes_per_peer * (share + 1) / plan_.channels_per_peer) -
           std::floor(plan_.bytes_per_peer * share / plan_.channels_per_peer);
  }
  bool reaches(Rank a, Rank b) const { return plan_.node_stores && a / plan_.gpus_per_node == b / plan_.gpus_per_node; }

  void send_step(Rank to, Rank rank, std::uint32_t unit, std::uint32_t chunk, std::uint32_t part, double bytes,
                 Phase& phase) const {
    switch (part) {
      case 0:
        if (chunk < plan_.slots) return;  // a fresh FIFO has all its credits
        phase.kind = Phase::Kind::wait;
        phase.flag = plan_.credit.at(rank, unit);
        phase.target = chunk - plan_.slots + 1;
        return;
      case 1:
        phase.kind = Phase::Kind::delay;
        phase.duration = plan_.step_overhead;
        return;
      case 2:
        phase.kind = Phase::Kind::work;
        phase.shape = reaches(rank, to) ? store_to_peer : stage;
        phase.peer = to;
        phase.amount = bytes;
        return;
      default:
        phase.kind = reaches(rank, to) ? Phase::Kind::signal : Phase::Kind::put;
        phase.proxied = true;
        phase.peer = to;
        phase.bytes = Bytes{bytes};
        phase.queue_pair = unit % plan_.channels_per_peer;
        phase.flag = plan_.filled.at(to, unit);
    }
  }

  void receive_step(Rank from, Rank rank, std::uint32_t unit, std::uint32_t chunk, std::uint32_t part, double bytes,
                    Phase& phase) const {
    switch (part) {
      case 0:
        phase.kind = Phase::Kind::wait;
        phase.flag = plan_.filled.at(rank, unit);
        phase.target = chunk + 1;
        return;
      case 1:
        if (!plan_.staged && reaches(rank, from)) return;  // the sender wrote to the user buffer
        phase.kind = Phase::Kind::delay;
        phase.duration = plan_.step_overhead;
        return;
      case 2:
        if (!plan_.staged && reaches(rank, from)) return;
        phase.kind = Phase::Kind::work;
        phase.shape = unstage;
        phase.amount = bytes;
        return;
      default:
        if ((chunk + plan_.slots) * plan_.slot >= bytes_of(unit)) return;  // nobody waits for this credit
        phase.kind = reaches(rank, from) ? Phase::Kind::signal : Phase::Kind::put;
        phase.proxied = true;
        phase.peer = from;
        phase.bytes = Bytes{credit_bytes};
        phase.queue_pair = unit % plan_.channels_per_peer;
        phase.flag = plan_.credit.at(from, unit);
    }
  }

  Plan plan_;
};

}  // namespace

void append_all_to_all(builder::Builder& build, const LibrarySpec& library, Bytes bytes_per_peer,
                       const std::string& name) {
  const Rank ranks = build.ranks();
  program::Kernel kernel;
  kernel.name = build.unique(name);
  // A channel's workgroup is split into a sending and a receiving half.
  kernel.resources.threads = library.threads / 2;
  kernel.resources.registers_per_thread = library.registers_per_thread;
  const Bytes in_flight = library.bytes_in_flight / 2;
  kernel.shapes.resize(4);
  kernel.shapes[AllToAllBody::store_to_peer] = {.name = "send", .read = 1, .peer_write = 1, .in_flight = in_flight};
  kernel.shapes[AllToAllBody::stage] = {.name = "stage", .read = 1, .write = 1, .in_flight = in_flight};
  kernel.shapes[AllToAllBody::unstage] = {.name = "receive", .read = 1, .write = 1, .in_flight = in_flight};
  kernel.shapes[AllToAllBody::copy_own] = {.name = "copy own", .read = 1, .write = 1, .in_flight = in_flight};

  AllToAllBody::Plan plan;
  plan.ranks = ranks;
  plan.gpus_per_node = static_cast<Rank>(build.system.node.gpus);
  plan.node_stores = build.system.node.wiring != link::Wiring::none;
  plan.channels_per_peer = static_cast<std::uint32_t>(library.channels_per_peer);
  plan.units = (ranks - 1) * plan.channels_per_peer;
  plan.channels = std::min(plan.units, static_cast<std::uint32_t>(library.max_channels));
  plan.bytes_per_peer = bytes_per_peer.value;
  plan.slot = library.slot.value;
  plan.chunks =
      static_cast<std::uint32_t>(std::ceil(std::ceil(bytes_per_peer.value / plan.channels_per_peer) / plan.slot));
  plan.slots = static_cast<std::uint32_t>(library.slots);
  plan.own_copies = plan.channels_per_peer;
  plan.own_bytes = bytes_per_peer.value;
  plan.setup = library.setup;
  plan.step_overhead = library.step_overhead;
  plan.staged = library.staged;
  const auto turn_of = [per_peer = plan.channels_per_peer](std::uint32_t unit) { return 1 + unit / per_peer; };
  program::Program& program = build.program;
  plan.filled = program.add_flags(
      {kernel.name + ".filled", plan.units, [=, kernel_name = kernel.name](Rank rank, std::uint32_t unit) {
         return std::pair{(rank + ranks - turn_of(unit)) % ranks, kernel_name};
       }});
  plan.credit = program.add_flags(
      {kernel.name + ".credit", plan.units, [=, kernel_name = kernel.name](Rank rank, std::uint32_t unit) {
         return std::pair{(rank + turn_of(unit)) % ranks, kernel_name};
       }});
  kernel.body = std::make_shared<AllToAllBody>(plan);
  build.queue.operations.emplace_back(std::move(kernel));
}

}  // namespace moire::models::collective
