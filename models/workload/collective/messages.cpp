#include "models/workload/collective/messages.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/workload/collective/channel_kernel.hpp"
#include "models/workload/collective/message_deal.hpp"
#include "models/workload/collective/relays.hpp"
#include "models/workload/collective/shares.hpp"

namespace moire::collective {

namespace {

using libraries::LibrarySpec;
using program::Phase;
using program::PhaseShape;
using program::Rank;

constexpr double credit_bytes = 8;    // size of a credit: a put of the receiver's head pointer
constexpr double flags_per_data = 2;  // low latency: bytes that travel per byte of data, flags included

// The body of a kernel that sends messages. Each channel is a workgroup. Turn i of a batch has strand 2 i to send (or
// to copy the rank's own share) and strand 2 i + 1 to receive.
class MessagesBody final : public program::KernelBody {
 public:
  struct Arguments {
    MessageDeal messages;
    Turns turns{1};
    part::Reach reach;
    Relays relays;
    bool staged = false;
    bool wraps = true;  // true if a rank also sends to lower ranks
    std::uint32_t slots = 0;
    std::uint32_t strands = 0;
    std::uint32_t chunks = 0;  // number of slots of the smallest size in the largest share
    Time setup;
    Time send_overhead;
    Time receive_overhead;
    std::vector<std::uint16_t> first_shape;  // by the number of turns side by side: index of the first of their shapes
    program::FlagBlock filled;               // per share: slots that arrived; low latency: slots begun plus arrived
    program::FlagBlock credit;               // per share: slots that the receiver has emptied
  };
  enum Shape : std::uint16_t { store_to_peer, stage, unstage, copy_own, shapes };

  explicit MessagesBody(Arguments arguments) : arguments_(std::move(arguments)) {}

  std::int64_t workgroups(Rank) const override { return static_cast<std::int64_t>(arguments_.messages.work.size()); }
  std::uint32_t strands(Rank) const override { return arguments_.strands; }
  bool turns(Rank by) const override { return arguments_.wraps && by % arguments_.reach.gpus_per_node() == 0; }

  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    return strand_phase(rank, workgroup, 0, step, phase);
  }

  bool strand_phase(Rank rank, std::int64_t workgroup, std::uint32_t strand, std::uint32_t step,
                    Phase& phase) const override {
    const std::vector<Batch>& batches = arguments_.messages.work[static_cast<std::size_t>(workgroup)];
    if (step == 0) {
      phase.kind = Phase::Kind::delay;
      phase.instructions = true;
      phase.duration = arguments_.setup;
      return true;
    }
    --step;
    const std::uint32_t steps = parts * arguments_.chunks;  // of a batch
    const std::uint32_t number = step / steps;
    if (number >= batches.size()) return false;
    const std::uint32_t of_batch = step % steps;
    // Steps that do nothing are skipped, up to the last step of the chunk or of the batch.
    if (!turn_step(rank, batches[number], strand, of_batch, phase)) phase.skipped = steps - 1 - of_batch;
    return true;
  }

 private:
  static constexpr std::uint32_t parts = 5;  // steps of a chunk

  struct Turning {
    const Turn& turn;
    std::uint32_t flag;
    std::uint32_t chunk;
    double slot;
    double bytes;
    std::uint16_t first_shape;
  };

  // Sets `phase` to the next step of a strand's turn at or after `step`, or to the last step of its chunk if all until
  // then do nothing. Returns false if no step of the batch is left.
  bool turn_step(Rank rank, const Batch& batch, std::uint32_t strand, std::uint32_t step, Phase& phase) const {
    if (strand / 2 >= batch.size()) return false;
    const Turn& turn = batch[strand / 2];
    const auto first_shape = arguments_.first_shape[batch.size()];
    if (turn.turn == 0) {
      if (strand % 2 != 0 || step > 0) return false;
      phase.kind = Phase::Kind::work;
      phase.shape = static_cast<std::uint16_t>(first_shape + copy_own);
      phase.amount = turn.bytes;
      return true;
    }
    const bool sends = strand % 2 == 0;
    const Rank peer = sends ? arguments_.turns.to(rank, turn.turn) : arguments_.turns.from(rank, turn.turn);
    if (!arguments_.wraps && (sends ? peer < rank : peer > rank)) return false;
    const MessageDeal& messages = arguments_.messages;
    const double slot = reaches(rank, peer) ? messages.slot : messages.network_slot;
    const std::uint32_t chunk = step / parts;
    const double bytes = std::min(slot, turn.bytes - chunk * slot);
    if (bytes <= 0) return false;  // this share takes fewer slots than the largest share
    const Turning at{turn, (turn.turn - 1) * messages.shares + turn.share, chunk, slot, bytes, first_shape};
    for (std::uint32_t part = step % parts; part < parts; ++part) {
      if (sends) {
        send_step(peer, rank, at, part, phase);
      } else {
        receive_step(peer, rank, at, part, phase);
      }
      phase.skipped = part - step % parts;
      if (phase.kind != Phase::Kind::nothing) break;
    }
    return true;
  }

  bool reaches(Rank a, Rank b) const { return arguments_.reach.stores(a, b); }
  // True for low latency within a node: the receiver sees every line as it arrives, and works while the sender sends.
  bool line_by_line(Rank a, Rank b) const { return arguments_.messages.low_latency && reaches(a, b); }

  // Raises a flag at `to`. A credit returns along the path of its data, so it passes the same relay.
  void tell(Rank from, Rank to, program::FlagRef flag, double bytes, std::uint32_t queue_pair, Rank relay,
            Phase& phase) const {
    phase.kind = reaches(from, to) ? Phase::Kind::signal : Phase::Kind::put;
    phase.proxied = true;
    phase.peer = to;
    phase.relay = relay;
    phase.bytes = Bytes{std::ceil(bytes)};
    phase.queue_pair = queue_pair;
    phase.flag = flag;
  }

  // Each share of a message has two queue pairs, so that credits for incoming data do not queue behind outgoing data.
  static std::uint32_t data(const Turning& at) { return 2 * at.turn.share; }
  static std::uint32_t credits(const Turning& at) { return 2 * at.turn.share + 1; }

  void send_step(Rank to, Rank rank, const Turning& at, std::uint32_t part, Phase& phase) const {
    if (part == 2 && !line_by_line(rank, to)) return;
    const Rank relay = part < 2 ? program::no_rank : arguments_.relays.of_message(rank, to);
    const bool relayed = relay != program::no_rank;
    switch (part) {
      case 0:
        if (at.chunk < arguments_.slots) return;  // an empty FIFO needs no credits
        phase.kind = Phase::Kind::wait;
        phase.flag = arguments_.credit.at(rank, at.flag);
        phase.target = at.chunk - arguments_.slots + 1;
        return;
      case 1:
        phase.kind = Phase::Kind::delay;
        phase.instructions = true;
        phase.duration = arguments_.send_overhead;
        return;
      case 2:
        return tell(rank, to, arguments_.filled.at(to, at.flag), 0, data(at), relay, phase);
      case 3:
        phase.kind = Phase::Kind::work;
        phase.shape =
            static_cast<std::uint16_t>(at.first_shape + (reaches(rank, to) || relayed ? store_to_peer : stage));
        phase.peer = relayed ? relay : to;
        phase.amount = at.bytes;
        return;
      default:
        tell(rank, to, arguments_.filled.at(to, at.flag),
             at.bytes * (arguments_.messages.low_latency ? flags_per_data : 1), data(at), relay, phase);
    }
  }

  void receive_step(Rank from, Rank rank, const Turning& at, std::uint32_t part, Phase& phase) const {
    // True if the sender has stored the data to the user buffer, so that no copy is needed.
    const bool in_place = !arguments_.messages.low_latency && !arguments_.staged && reaches(rank, from);
    const std::int64_t begun = line_by_line(rank, from) ? 2 * std::int64_t{at.chunk} + 1 : std::int64_t{at.chunk} + 1;
    switch (part) {
      case 0:
        phase.kind = Phase::Kind::wait;
        phase.flag = arguments_.filled.at(rank, at.flag);
        phase.target = begun;
        return;
      case 1:
        if (in_place) return;
        phase.kind = Phase::Kind::delay;
        phase.instructions = true;
        phase.duration = arguments_.receive_overhead;
        return;
      case 2:
        if (in_place) return;
        phase.kind = Phase::Kind::work;
        phase.shape = static_cast<std::uint16_t>(at.first_shape + unstage);
        phase.amount = at.bytes;
        return;
      case 3:
        if (!line_by_line(rank, from)) return;
        phase.kind = Phase::Kind::wait;
        phase.flag = arguments_.filled.at(rank, at.flag);
        phase.target = begun + 1;
        return;
      default:
        if ((at.chunk + arguments_.slots) * at.slot >= at.turn.bytes) return;  // nobody waits for this credit
        tell(rank, from, arguments_.credit.at(from, at.flag), credit_bytes, credits(at),
             arguments_.relays.of_message(from, rank), phase);
    }
  }

  Arguments arguments_;
};

std::optional<RankNetwork> network_of(const machine::SystemSpec& system) {
  if (system.nodes == 1 || !system.node.nic) return std::nullopt;
  const double nics = static_cast<double>(system.node.nics) / static_cast<double>(system.node.gpus);
  return RankNetwork{system.node.nic->payload_bandwidth().value * nics, nics};
}

// The number of wavefronts of a workgroup that serve one turn, and how many of them copy in each direction. A workgroup
// serves several turns side by side. If a turn has more than four wavefronts, one of them raises the sender's flags and
// the others are split evenly between the directions. If it has up to four, all of them copy.
struct Wavefronts {
  std::int64_t all = 0;
  std::int64_t each_way = 0;
};
Wavefronts wavefronts_of_turn(std::int64_t of_workgroup, std::int64_t turns) {
  const std::int64_t all = std::max<std::int64_t>(1, of_workgroup / turns);
  return {all, std::max<std::int64_t>(1, all <= 4 ? all / 2 : (all - 1) / 2)};
}

void add_shapes(const LibrarySpec& library, const machine::GpuSpec& gpu, bool low_latency, std::uint32_t turns,
                bool only_one_kind, std::vector<PhaseShape>& shapes) {
  const std::int64_t wavefronts = std::max<std::int64_t>(1, gpu.compute.wavefronts(library.threads));
  const Wavefronts turn = wavefronts_of_turn(wavefronts, turns);
  const auto part = [&](Bytes all, std::int64_t of) {
    return Bytes{all.value * static_cast<double>(of) / static_cast<double>(wavefronts)};
  };
  const std::string among = only_one_kind ? "" : " beside " + std::to_string(turns - 1);
  // Returns the shape of a loop in which `of` wavefronts load a batch, wait for it and store it.
  const auto copying = [&](const std::string& name, std::int64_t of) {
    return PhaseShape{.name = name + among,
                      .read = 1,
                      .write = 1,
                      .pipelined = false,
                      .active_threads = std::min(of * gpu.compute.wavefront, library.threads),
                      .in_flight = part(library.bytes_in_flight, of)};
  };
  const std::size_t first = shapes.size();
  if (low_latency) {
    const std::int64_t threads = std::min(turn.each_way * gpu.compute.wavefront, library.threads);
    const Bytes lines = part(library.low_latency->bytes_in_flight, turn.each_way);
    // Lines that have arrived are still in the receiver's cache.
    shapes.push_back({.name = "send" + among,
                      .read = 1,
                      .peer_write = flags_per_data,
                      .peer_write_cost = library.link_cost,
                      .pipelined = false,
                      .active_threads = threads,
                      .in_flight = lines});
    shapes.push_back({.name = "stage" + among,
                      .read = 1,
                      .write = flags_per_data,
                      .pipelined = false,
                      .active_threads = threads,
                      .in_flight = lines});
    shapes.push_back({.name = "receive" + among,
                      .read = flags_per_data,
                      .read_miss = 0,
                      .write = 1,
                      .pipelined = false,
                      .active_threads = threads,
                      .in_flight = Bytes{lines.value * flags_per_data}});
  } else {
    shapes.push_back(copying("send", turn.each_way));
    std::swap(shapes.back().write, shapes.back().peer_write);
    shapes.back().peer_write_cost = library.link_cost;
    shapes.push_back(copying("stage", turn.each_way));
    shapes.push_back(copying("receive", turn.each_way));
  }
  shapes.push_back(copying("copy own", turn.all));
  for (std::size_t i = first; i < shapes.size(); ++i) shapes[i].issue_cost = library.copy_cost;
}

// Adds a note for the user: how many pairs of ranks in different nodes use a relay.
void tell_relays(const builder::Builder& build, const LibrarySpec& library, const Relays& relays, const Turns& turns,
                 const std::vector<std::uint32_t>& numbers, bool wraps, const std::string& name) {
  const machine::SystemSpec& system = build.system;
  if (build.notes == nullptr || !library.pxn || system.nodes == 1 || system.node.gpus == 1) return;
  if (!relays.any()) {
    build.notes->push_back(name + ": PXN is not used, because the GPUs of a node have no direct links to each other");
    return;
  }
  std::int64_t pairs = 0, relayed = 0;
  for (Rank from = 0; from < build.ranks(); ++from) {
    for (const std::uint32_t turn : numbers) {
      const Rank to = turns.to(from, turn);
      if (build.reach().same_node(from, to) || (!wraps && to < from)) continue;
      ++pairs;
      if (relays.of_message(from, to) != program::no_rank) ++relayed;
    }
  }
  if (pairs == 0) return;
  build.notes->push_back(
      fmt::format("{}: {} of {} pairs between nodes go through a GPU of the sender's node that has the NIC of the "
                  "receiver's rail (PXN)",
                  name, relayed, pairs));
}

// True if a kernel runs before the next operation of the queue, which then does not wait for another queue.
bool behind_kernel(const program::Queue& queue) {
  return !queue.operations.empty() && std::holds_alternative<program::Kernel>(queue.operations.back());
}

}  // namespace

std::vector<std::uint32_t> every_turn(std::uint32_t ranks) {
  std::vector<std::uint32_t> turns(ranks);
  std::iota(turns.begin(), turns.end(), 0U);
  return turns;
}

void append_all_to_all(builder::Builder& build, const LibrarySpec& library, Bytes bytes, bool copies_own,
                       const std::string& name) {
  std::vector<std::uint32_t> numbers = every_turn(build.ranks());
  if (!copies_own) numbers.erase(numbers.begin());
  const auto gpus = static_cast<std::uint32_t>(build.system.node.gpus);
  const auto at_once = static_cast<std::uint32_t>(library.peers_at_once);
  append_messages(build, library, bytes, Turns::of(build.ranks(), gpus, at_once), numbers, name);
}

void append_messages(builder::Builder& build, const LibrarySpec& library, Bytes bytes, const Turns& turns,
                     const std::vector<std::uint32_t>& numbers, const std::string& name, bool wraps) {
  const Rank ranks = build.ranks();
  program::Kernel kernel;
  kernel.name = build.unique(name);

  MessagesBody::Arguments arguments;
  arguments.messages = deal_messages(library, turns, numbers, network_of(build.system), bytes.value);
  kernel.resources = resources_of(library, build.gpu(), library.threads, std::ssize(arguments.messages.work));
  arguments.turns = turns;
  arguments.reach = build.reach();
  arguments.relays = Relays(library, build.system.node);
  tell_relays(build, library, arguments.relays, turns, numbers, wraps, kernel.name);
  arguments.staged = library.staged;
  arguments.wraps = wraps;
  arguments.slots = static_cast<std::uint32_t>(library.slots);
  const double smallest_slot = std::min(arguments.messages.slot, arguments.messages.network_slot);
  check_pieces(bytes.value / smallest_slot * static_cast<double>(numbers.size()) * ranks,
               fmt::format("slots of {:.0f} B", smallest_slot));
  arguments.chunks =
      static_cast<std::uint32_t>(std::max(1.0, std::ceil(arguments.messages.largest_share / smallest_slot)));
  arguments.setup = library.setup;
  if (arguments.messages.work.size() > 1 && !behind_kernel(build.queue)) arguments.setup += library.cold_start;
  arguments.send_overhead = arguments.messages.low_latency ? library.low_latency->step_overhead : library.step_overhead;
  arguments.receive_overhead = arguments.messages.low_latency ? Time{} : library.step_overhead;
  const std::vector<std::uint32_t>& sizes = arguments.messages.turns_side_by_side;
  arguments.strands = 2 * sizes.back();
  arguments.first_shape.assign(sizes.back() + 1, 0);
  for (const std::uint32_t side_by_side : sizes) {
    arguments.first_shape[side_by_side] = static_cast<std::uint16_t>(kernel.shapes.size());
    add_shapes(library, build.gpu(), arguments.messages.low_latency, side_by_side, sizes.size() == 1, kernel.shapes);
  }
  const std::uint32_t flags = (ranks - 1) * arguments.messages.shares;
  const auto turn_of = [shares = arguments.messages.shares](std::uint32_t flag) { return 1 + flag / shares; };
  program::Program& program = build.program;
  const auto flags_raised_by = [&](const char* what, auto other_end) {
    return program.add_flags({kernel.name + what, flags,
                              [=, kernel_name = kernel.name](Rank rank, std::uint32_t flag) {
                                return std::pair{other_end(rank, turn_of(flag)), kernel_name};
                              },
                              true});
  };
  arguments.filled =
      flags_raised_by(".filled", [turns](Rank rank, std::uint32_t turn) { return turns.from(rank, turn); });
  arguments.credit =
      flags_raised_by(".credit", [turns](Rank rank, std::uint32_t turn) { return turns.to(rank, turn); });
  kernel.body = std::make_shared<MessagesBody>(std::move(arguments));
  build.queue.operations.emplace_back(std::move(kernel));
}

}  // namespace moire::collective
