// Benchmarks of stores and copies by workgroups to other GPUs of the node, and of flags between two GPUs.
#include <algorithm>

#include "app/evidence/microbench/bench.hpp"
#include "models/hardware/link/stripes.hpp"

namespace moire::microbench {

namespace {

constexpr double mib = 1 << 20;

struct Sending {
  PhaseShape shape;
  std::int64_t wgs = 0;
  std::function<std::int64_t(Rank)> peers_of;              // number of peers that a rank sends to
  std::function<Rank(Rank, std::int64_t workgroup)> peer;  // destination of a workgroup
};

// Returns the bytes that each of `wgs` workgroups moves, as in the collector. The fewer workgroups there are, the more
// bytes each of them moves, so that every case takes long compared with launches.
double wg_bytes(std::int64_t wgs) { return (wgs <= 32 ? 8 : wgs <= 264 ? 2 : 1) * mib; }

// Rates in GB/s.
struct Sent {
  double per_sender = 0;  // of the slowest sender
  double per_wg = 0;      // mean over the workgroups of all senders
  double into_receiver = 0;
};

Sent send(const SystemSpec& system, const Sending& sending) {
  const machine::GpuSpec& gpu = system.node.gpu;
  const auto ranks = static_cast<Rank>(system.node.gpus);
  const double bytes = wg_bytes(sending.wgs);
  program::Program program(ranks);
  program.queues = {
      queue("main", {kernel(
                        "send", gpu, spread(gpu, sending.wgs),
                        [&](Rank rank) { return sending.peers_of(rank) > 0 ? sending.wgs : 0; }, {sending.shape},
                        [&](Rank rank, std::int64_t wg, std::uint32_t step, Phase& phase) {
                          return step == 0 && work(phase, bytes, sending.peer(rank, wg));
                        })})};
  Stamps stamps;
  simulate(system, program, &stamps);
  Sent sent;
  double senders = 0, seconds_per_wg = 0;
  Time begin = Time::max(), end;
  for (Rank rank = 0; rank < ranks; ++rank) {
    if (sending.peers_of(rank) == 0) continue;
    ++senders;
    const Rate own = rate(stamps.of("send", rank), bytes);
    sent.per_sender = senders == 1 ? own.total : std::min(sent.per_sender, own.total);
    seconds_per_wg += 1 / own.per_wg;
    begin = std::min(begin, first_begin(stamps.of("send", rank)));
    end = std::max(end, last_end(stamps.of("send", rank)));
  }
  sent.per_wg = senders / seconds_per_wg;
  sent.into_receiver = bytes * static_cast<double>(sending.wgs) * senders / (end - begin).seconds() / 1e9;
  return sent;
}

PhaseShape stores(const machine::GpuSpec& gpu, std::int64_t wgs) {
  PhaseShape shape;
  shape.name = "store";
  shape.peer_write = 1;
  // Nothing waits for stores, so a CU has as many bytes in flight as it can hold.
  shape.in_flight = gpu.compute.bytes_in_flight_per_cu / static_cast<double>(spread(gpu, wgs));
  return shape;
}

// Returns a pattern in which each of the first `senders` GPUs sends to the `peers` GPUs with the next higher ranks,
// modulo the number of GPUs. Workgroup i of a sender sends only to the
// peer of number i modulo `peers`.
Sending to_next(const SystemSpec& system, PhaseShape shape, std::int64_t wgs, std::int64_t peers,
                std::int64_t senders) {
  need_gpus(system, std::max(peers + 1, senders));
  const std::int64_t gpus = system.node.gpus;
  return {std::move(shape), wgs, [=](Rank rank) { return rank < senders ? peers : 0; },
          [=](Rank rank, std::int64_t wg) { return static_cast<Rank>((rank + 1 + wg % peers) % gpus); }};
}

Values as_values(const Sent& sent) { return {{"bandwidth", sent.per_sender}, {"bandwidth_per_wg", sent.per_wg}}; }

// Ignores chunk_bytes, because rows of 512 B took as long as contiguous stores on every GPU that was measured.
Values peer_store(const SystemSpec& system, const Parameters& parameters) {
  const SystemSpec node = one_node(system);
  const std::int64_t wgs = positive_count(parameters, "wgs");
  return as_values(send(node, to_next(node, stores(node.node.gpu, wgs), wgs, positive_count(parameters, "peers"),
                                      positive_count(parameters, "senders"))));
}

// Returns the rate of four workgroups on each SM of GPU 0 that store runs of bytes to GPU 1.
Values peer_stride(const SystemSpec& system, const Parameters& parameters) {
  const SystemSpec node = one_node(system);
  const machine::GpuSpec& gpu = node.node.gpu;
  const std::int64_t run = positive_count(parameters, "run_bytes"), stride = positive_count(parameters, "stride_bytes");
  const std::int64_t wgs = 4 * gpu.compute.total_cus();
  PhaseShape shape = stores(gpu, wgs);
  shape.peer_write_cost = link::strided_cost(gpu.port, 0, run, stride);
  if (run < stride) shape.peer_write_cost *= link::packet_cost(gpu.port, run, stride);
  return {{"bandwidth", send(node, to_next(node, std::move(shape), wgs, 1, 1)).per_sender}};
}

Values peer_copy(const SystemSpec& system, const Parameters& parameters) {
  const SystemSpec node = one_node(system);
  PhaseShape shape;
  shape.name = "copy";
  shape.read = 1;
  shape.peer_write = 1;
  shape.pipelined = false;
  shape.in_flight = Bytes{amount(parameters, "in_flight_bytes")};
  return as_values(send(node, to_next(node, shape, positive_count(parameters, "wgs"),
                                      positive_count(parameters, "peers"), positive_count(parameters, "senders"))));
}

// Returns the rate at which GPU 0 loads from the `peers` GPUs after it, and the rate of one workgroup. Workgroup i
// loads only from GPU 1 + i modulo `peers`.
Values peer_load(const SystemSpec& system, const Parameters& parameters) {
  const SystemSpec node = one_node(system);
  PhaseShape shape;
  shape.name = "load";
  shape.peer_read = 1;
  shape.pipelined = false;
  shape.in_flight = Bytes{amount(parameters, "in_flight_bytes")};
  return as_values(
      send(node, to_next(node, shape, positive_count(parameters, "wgs"), positive_count(parameters, "peers"), 1)));
}

Values peer_fan_in(const SystemSpec& system, const Parameters& parameters) {
  const SystemSpec node = one_node(system);
  const std::int64_t wgs = positive_count(parameters, "wgs"), senders = positive_count(parameters, "senders");
  need_gpus(node, senders + 1);
  const Sending sending{stores(node.node.gpu, wgs), wgs,
                        [=](Rank rank) { return rank >= 1 && rank <= senders ? 1 : 0; },
                        [](Rank, std::int64_t) { return Rank{0}; }};
  return {{"bandwidth", send(node, sending).into_receiver}};
}

// Returns the mean round trip of a flag: two GPUs have one workgroup each, which answers the flag of the other GPU.
Values flag(const SystemSpec& system, const Parameters&) {
  constexpr std::int64_t rounds = 16;
  const SystemSpec node = one_node(system);
  need_gpus(node, 2);
  program::Program program(static_cast<Rank>(node.node.gpus));
  const program::FlagBlock flags = program.add_flags({"ball", 1, {}});
  program.queues = {queue("main", {kernel(
                                      "ping-pong", node.node.gpu, 1, [](Rank rank) { return rank < 2 ? 1 : 0; }, {},
                                      [=](Rank rank, std::int64_t, std::uint32_t step, Phase& phase) {
                                        const std::int64_t round = step / 2;
                                        const bool sends = (step + rank) % 2 == 0;  // rank 0 begins
                                        phase.kind = sends ? Phase::Kind::signal : Phase::Kind::wait;
                                        phase.peer = 1 - rank;
                                        phase.flag = flags.at(sends ? phase.peer : rank, 0);
                                        phase.target = round + 1;
                                        return round < rounds;
                                      })})};
  Stamps stamps;
  simulate(node, program, &stamps);
  return {{"round_trip", last_end(stamps.of("ping-pong", 0)).ns() / rounds}};
}

const std::vector<Quantity> rates{{"bandwidth", "GB/s"}, {"bandwidth_per_wg", "GB/s"}};

}  // namespace

std::vector<Benchmark> peer_benchmarks() {
  return {
      {"peer_store", "Stores to the next peers.", {{"wgs", "peers", "senders", "chunk_bytes"}}, rates, peer_store},
      {"peer_stride",
       "Stores to the next peer in runs of bytes a fixed distance apart.",
       {{"run_bytes", "stride_bytes"}},
       {{"bandwidth", "GB/s"}},
       peer_stride},
      {"peer_fan_in", "Stores of several GPUs to one.", {{"wgs", "senders"}}, {{"bandwidth", "GB/s"}}, peer_fan_in},
      {"peer_load", "Loads from peers, a batch at a time.", {{"wgs", "peers", "in_flight_bytes"}}, rates, peer_load},
      {"peer_copy",
       "Loads of own memory, a batch at a time, stored to the next peers.",
       {{"wgs", "peers", "senders", "in_flight_bytes"}},
       rates,
       peer_copy},
      {"flag",
       "Ping-pong of a flag between two GPUs.",
       {{}},
       {{"round_trip", "ns"}, {"round_trip_fastest", "ns"}},
       flag}};
}

}  // namespace moire::microbench
