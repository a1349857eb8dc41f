// Runs collectives by puts that workgroups issue: one put per peer in another node, and stores to peers in the same
// node. Then the workgroups wait for the data from other ranks. There are no staging buffers and no host threads.
#include <algorithm>

#include "models/workload/collective/collective.hpp"
#include "models/workload/collective/shares.hpp"

namespace moire::collective {

namespace {

using program::Phase;
using program::Rank;

constexpr std::int64_t threads = 256;
constexpr double loads = 4;  // loads of 16 B that a thread has in flight

class PutsBody final : public program::KernelBody {
 public:
  struct Arguments {
    Kind kind = Kind::all_gather;
    Rank ranks = 0;
    Rank root = 0;
    Rank offset = 1;
    bool wraps = true;
    part::Reach reach;
    Order order = Order::rotated;
    double bytes = 0;  // of one message
    std::uint32_t workgroups = 1;
    bool copies_own = false;
    program::FlagBlock arrived;  // indexed by sender
  };
  enum Shape : std::uint16_t { store, copy };

  explicit PutsBody(Arguments arguments) : arguments_(std::move(arguments)) {}

  std::int64_t workgroups(Rank) const override { return arguments_.workgroups; }
  bool turns(Rank by) const override {
    return by % arguments_.reach.gpus_per_node() == 0 && arguments_.order == Order::rotated &&
           arguments_.kind != Kind::broadcast && arguments_.wraps;
  }

  // Puts come first, so that NICs work while workgroups store. Then come all stores, each divided among the workgroups,
  // and then the waits.
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    const auto own = static_cast<std::uint32_t>(workgroup);
    const std::uint32_t turns = arguments_.ranks - 1;
    const std::uint32_t stage = step / (2 * turns);
    const std::uint32_t at = step % (2 * turns);
    const std::uint32_t turn = 1 + at / 2;
    switch (stage) {
      case 0:
        if (at % 2 == 0) put(rank, own, turn, phase);
        return true;
      case 1:
        store_to(rank, turn, at % 2 == 0, phase);
        return true;
      case 2:
        if (at == 0 && arguments_.copies_own) {
          phase.kind = Phase::Kind::work;
          phase.shape = copy;
          phase.amount = arguments_.bytes / arguments_.workgroups;
        }
        if (at % 2 == 1 && turn % arguments_.workgroups == own) wait(rank, turn, phase);
        return true;
      default:
        return false;
    }
  }

 private:
  bool reaches(Rank a, Rank b) const { return arguments_.reach.stores(a, b); }
  Rank peer(Rank rank, std::uint32_t turn) const {
    if (arguments_.order == Order::rotated) return (rank + turn) % arguments_.ranks;
    return turn - 1 < rank ? turn - 1 : turn;
  }
  bool goes(Rank from, Rank to) const {
    if (arguments_.kind == Kind::broadcast) return from == arguments_.root;
    if (arguments_.kind == Kind::send_recv)
      return (from + arguments_.offset) % arguments_.ranks == to && (arguments_.wraps || from < to);
    return true;
  }

  void put(Rank rank, std::uint32_t own, std::uint32_t turn, Phase& phase) const {
    const Rank to = peer(rank, turn);
    if (turn % arguments_.workgroups != own || reaches(rank, to) || !goes(rank, to)) return;
    phase.kind = Phase::Kind::put;
    phase.peer = to;
    phase.bytes = Bytes{arguments_.bytes};
    phase.queue_pair = own;
    phase.flag = arguments_.arrived.at(to, rank);
  }

  void store_to(Rank rank, std::uint32_t turn, bool data, Phase& phase) const {
    const Rank to = peer(rank, turn);
    if (!reaches(rank, to) || !goes(rank, to)) return;
    phase.peer = to;
    if (data) {
      phase.kind = Phase::Kind::work;
      phase.shape = store;
      phase.amount = arguments_.bytes / arguments_.workgroups;
    } else {
      phase.kind = Phase::Kind::signal;
      phase.flag = arguments_.arrived.at(to, rank);
    }
  }

  void wait(Rank rank, std::uint32_t turn, Phase& phase) const {
    const Rank from = (rank + arguments_.ranks - turn) % arguments_.ranks;
    if (!goes(from, rank)) return;
    phase.kind = Phase::Kind::wait;
    phase.flag = arguments_.arrived.at(rank, from);
    phase.target = reaches(from, rank) ? arguments_.workgroups : 1;
  }

  Arguments arguments_;
};

}  // namespace

void append_puts(builder::Builder& build, const Collective& c, const std::string& name) {
  const Rank ranks = build.ranks();
  program::Kernel kernel;
  kernel.name = build.unique(name);
  kernel.resources.threads = threads;
  const Bytes in_flight{16 * loads * static_cast<double>(threads)};
  kernel.shapes.push_back({.name = "store", .read = 1, .peer_write = 1, .in_flight = in_flight});
  kernel.shapes.push_back({.name = "copy own", .read = 1, .write = 1, .in_flight = in_flight});
  PutsBody::Arguments arguments;
  arguments.kind = c.kind;
  arguments.ranks = ranks;
  arguments.root = c.root;
  arguments.offset = c.offset;
  arguments.wraps = c.wraps;
  arguments.reach = build.reach();
  arguments.order = c.method.order;
  arguments.bytes = c.kind == Kind::all_to_all ? cut(c.bytes.value, ranks).each : c.bytes.value;
  arguments.workgroups =
      static_cast<std::uint32_t>(std::min<std::int64_t>(c.method.channels.value_or(ranks - 1), 1024));
  arguments.copies_own =
      c.method.own_share == OwnShare::copied && (c.kind == Kind::all_gather || c.kind == Kind::all_to_all);
  arguments.arrived = build.program.add_flags(
      {kernel.name + ".arrived", ranks, [kernel_name = kernel.name](Rank, std::uint32_t sender) {
         return std::pair{sender, kernel_name};
       }});
  kernel.body = std::make_shared<PutsBody>(std::move(arguments));
  build.queue.operations.emplace_back(std::move(kernel));
}

}  // namespace moire::collective
