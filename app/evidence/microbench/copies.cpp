// Benchmarks of copies by copy engines. Times start when all streams are released, so launches do not count.
#include <algorithm>
#include <random>

#include "app/evidence/microbench/bench.hpp"

namespace moire::microbench {

namespace {

// One copy. Each rank has a list of copies for each stream.
struct Job {
  Rank peer = 0;
  double bytes = 0;
  program::Transfer::Way way = program::Transfer::Way::direct;
  double host_footprint = 0;
  bool again = false;
};
using Streams = std::vector<std::vector<Job>>;

struct Ends {
  Time first = Time::max();
  Time last;
};

class Watch final : public program::Observer {
 public:
  void copy(const program::CopySpan& span) override {
    if (span.bytes.value == 0) return;
    ends.first = std::min(ends.first, span.end);
    ends.last = std::max(ends.last, span.end);
    of_engine[{span.rank, span.engine}].push_back(span.end);
  }
  void operation(const program::OperationSpan& span) override {
    if (span.rank == 0) queue_end = std::max(queue_end, span.end);
    longest = std::max(longest, span.end - span.begin);
  }
  Ends ends;
  std::map<std::pair<Rank, std::uint32_t>, std::vector<Time>> of_engine;  // ends of its copies, in order
  Time queue_end;                                                         // of the first GPU
  Time longest;                                                           // of all operations
};

// Simulates the copies of all ranks and returns when they ended. All ranks run the same program, so a rank with fewer
// copies gets additional copies of 0 bytes. They follow its own copies and do not delay them.
Watch watch_copies(const SystemSpec& node, const std::function<Streams(Rank)>& streams_of) {
  const auto ranks = static_cast<Rank>(node.node.gpus);
  std::vector<Streams> streams;
  std::vector<std::size_t> longest;  // by stream: largest number of copies of a rank
  for (Rank rank = 0; rank < ranks; ++rank) {
    streams.push_back(streams_of(rank));
    longest.resize(std::max(longest.size(), streams.back().size()));
    for (std::size_t s = 0; s < streams.back().size(); ++s) longest[s] = std::max(longest[s], streams.back()[s].size());
  }
  program::Program program(ranks);
  for (std::size_t s = 0; s < longest.size(); ++s) {
    std::vector<program::Operation> copies;
    for (std::size_t i = 0; i < longest[s]; ++i) {
      copies.emplace_back(program::Copy{"copy", [&streams, s, i](Rank rank) {
                                          const Streams& own = streams[rank];
                                          if (s >= own.size() || i >= own[s].size()) {
                                            return program::Transfer{rank, Bytes{}, program::no_flag};
                                          }
                                          const Job& job = own[s][i];
                                          return program::Transfer{.peer = job.peer,
                                                                   .bytes = Bytes{job.bytes},
                                                                   .way = job.way,
                                                                   .host_footprint = Bytes{job.host_footprint},
                                                                   .again = job.again};
                                        }});
    }
    program.queues.push_back(queue("stream " + std::to_string(s), std::move(copies)));
  }
  Watch watch;
  simulate(node, program, &watch);
  return watch;
}

// Returns the ends of the first and of the last copy.
Ends copy(const SystemSpec& system, const std::function<Streams(Rank)>& streams_of) {
  SystemSpec node = one_node(system);
  node.node.gpu.host.poll_interval = system.node.gpu.host.poll_interval;  // for the release by the gate
  return watch_copies(node, streams_of).ends;
}

Values both(const Ends& ends) { return {{"time", ends.last.us()}, {"first_end", ends.first.us()}}; }
Values time_only(const Ends& ends) { return {{"time", ends.last.us()}}; }

Streams of_first(Rank rank, Streams streams) { return rank == 0 ? std::move(streams) : Streams{}; }

// `again`: the benchmark repeats the copy, with nothing between that replaces what the L2 holds.
Values within_gpu(const SystemSpec& system, double bytes, bool again) {
  return time_only(copy(one_gpu(system), [=](Rank) { return Streams{{{.bytes = bytes, .again = again}}}; }));
}

Values within(const SystemSpec& system, const Parameters& parameters) {
  return within_gpu(system, amount(parameters, "bytes"), count(parameters, "before") == 0);
}

Values single(const SystemSpec& system, const Parameters& parameters) {
  const bool remote = number(parameters, "remote") != 0;
  const double bytes = amount(parameters, "bytes");
  if (!remote) return within_gpu(system, bytes, true);
  need_gpus(system, 2);
  return time_only(copy(system, [=](Rank rank) { return of_first(rank, {{{1, bytes}}}); }));
}

Values chunked(const SystemSpec& system, const Parameters& parameters) {
  need_gpus(system, 2);
  const auto chunks = static_cast<std::size_t>(positive_count(parameters, "chunks"));
  const Job chunk{1, amount(parameters, "bytes") / static_cast<double>(chunks)};
  return time_only(copy(system, [=](Rank rank) { return of_first(rank, {std::vector<Job>(chunks, chunk)}); }));
}

// Returns one node of the system whose GPUs poll, and whose copies have events around them.
SystemSpec polling_node(const SystemSpec& system) {
  SystemSpec node = one_node(system);
  node.node.gpu.host.poll_interval = system.node.gpu.host.poll_interval;
  node.node.gpu.host.event_pair = system.node.gpu.host.event_pair;
  return node;
}

Values flagged(const SystemSpec& system, const Parameters& parameters) {
  need_gpus(system, 2);
  const auto copies = static_cast<std::uint32_t>(positive_count(parameters, "copies"));
  const double bytes = amount(parameters, "bytes");
  const SystemSpec node = polling_node(system);
  program::Program program(static_cast<Rank>(node.node.gpus));
  const program::FlagBlock flags = program.add_flags({"arrived", copies, [](Rank rank, std::uint32_t) {
                                                        return std::pair{rank, std::string("copy")};
                                                      }});
  std::vector<program::Operation> operations;
  for (std::uint32_t i = 0; i < copies; ++i) {
    operations.emplace_back(program::Copy{"copy", [flags, bytes, i](Rank rank) {
                                            if (rank != 0) return program::Transfer{rank, Bytes{}, program::no_flag};
                                            return program::Transfer{1, Bytes{bytes}, flags.at(1, i)};
                                          }});
  }
  program.queues = {queue("main", std::move(operations))};
  Watch watch;
  simulate(node, program, &watch);
  return {{"time", watch.queue_end.us()}};
}

// Every GPU copies to every other, each copy in a stream of its own. Unless `kernel` is 0, the first stream has
// executed a kernel before.
Values forked(const SystemSpec& system, const Parameters& parameters) {
  const auto gpus = static_cast<Rank>(positive_count(parameters, "gpus"));
  need_gpus(system, gpus);
  if (gpus < 2) throw std::invalid_argument("parameter 'gpus' is 1; copies to peers need 2 or more");
  const std::int64_t before = count(parameters, "kernel");
  if (before > 2) throw std::invalid_argument("kernel must be 0 to 2");
  const Bytes bytes{amount(parameters, "bytes")};
  SystemSpec node = polling_node(system);
  node.node.gpus = gpus;
  // Without a kernel, the release comes a fixed time after the copies are enqueued, so that no GPU sees it late.
  if (before == 0) node.node.gpu.host.poll_interval.reset();
  program::Program program(gpus);
  std::vector<program::Operation> operations;
  if (before != 0) {
    operations.emplace_back(kernel(
        "empty", node.node.gpu, 1, [](Rank) { return 1; }, {},
        [](Rank, std::int64_t, std::uint32_t step, Phase& phase) {
          return step == 0 && delay(phase, Time::from_ns(1));
        }));
  }
  program::Copy copies{"copies", {}};
  for (Rank turn = 1; turn < gpus; ++turn) {
    const auto transfer = [=](Rank rank) { return program::Transfer{(rank + turn) % gpus, bytes, program::no_flag}; };
    if (turn == 1)
      copies.transfer = transfer;
    else
      copies.beside.emplace_back(transfer);
  }
  operations.emplace_back(std::move(copies));
  program.queues = {queue("main", std::move(operations))};
  Watch watch;
  simulate(node, program, &watch);
  return {{"time", watch.longest.us()}};
}

Values on_streams(const SystemSpec& system, const Parameters& parameters) {
  need_gpus(system, 2);
  const std::vector<Job> one{{1, amount(parameters, "bytes")}};
  const auto copies = static_cast<std::size_t>(positive_count(parameters, "copies"));
  return both(copy(system, [=](Rank rank) { return of_first(rank, Streams(copies, one)); }));
}

Values fan_out(const SystemSpec& system, const Parameters& parameters) {
  const std::int64_t peers = positive_count(parameters, "peers");
  need_gpus(system, peers + 1);
  const double bytes = amount(parameters, "bytes");
  return both(copy(system, [=](Rank rank) {
    Streams streams;
    for (Rank peer = 1; rank == 0 && peer <= peers; ++peer) streams.push_back({{peer, bytes}});
    return streams;
  }));
}

Values fan_in(const SystemSpec& system, const Parameters& parameters) {
  const std::int64_t senders = positive_count(parameters, "senders");
  need_gpus(system, senders + 1);
  const double bytes = amount(parameters, "bytes");
  return both(copy(system, [=](Rank rank) {
    return rank >= 1 && rank <= senders ? Streams{{{0, bytes}}} : Streams{};
  }));
}

Values pairs(const SystemSpec& system, const Parameters& parameters) {
  need_gpus(system, 2);
  const double bytes = amount(parameters, "bytes");
  return both(copy(system, [=](Rank rank) { return rank < 2 ? Streams{{{1 - rank, bytes}}} : Streams{}; }));
}

// Returns the median time of an all-to-all over several orders of copies, in us. A GPU's engine takes the copies of its
// streams in an order that differs between runs and GPUs. The order matters, because senders that copy to the same
// receiver share its port, while other ports idle. The orders are the same in every call.
double of_many_orders(const SystemSpec& system, Rank gpus, double bytes) {
  constexpr std::size_t orders = 31;
  std::mt19937 random(1);
  std::vector<double> times;
  for (std::size_t i = 0; i < orders; ++i) {
    std::vector<Streams> streams(gpus);
    for (Rank rank = 0; rank < gpus; ++rank) {
      for (Rank turn = 1; turn < gpus; ++turn) streams[rank].push_back({{(rank + turn) % gpus, bytes}});
      // Does not use std::shuffle, because its results differ between standard libraries.
      for (std::size_t n = streams[rank].size(); n > 1; --n)
        std::swap(streams[rank][n - 1], streams[rank][random() % n]);
    }
    times.push_back(copy(system, [&](Rank rank) { return rank < gpus ? streams[rank] : Streams{}; }).last.us());
  }
  std::nth_element(times.begin(), times.begin() + orders / 2, times.end());
  return times[orders / 2];
}

Values all_to_all(const SystemSpec& system, const Parameters& parameters) {
  const auto gpus = static_cast<Rank>(positive_count(parameters, "gpus"));
  need_gpus(system, gpus);
  const double bytes = amount(parameters, "bytes");
  if (count(parameters, "streams") != 1) return {{"time", of_many_orders(system, gpus, bytes)}};
  return time_only(copy(system, [=](Rank rank) {
    Streams streams(rank < gpus ? 1 : 0);
    for (Rank turn = 1; rank < gpus && turn < gpus; ++turn) streams[0].push_back({(rank + turn) % gpus, bytes});
    return streams;
  }));
}

// Copies through the slots of GPUs into the memory of their host, and out of it.
Values by_host(const SystemSpec& system, const Parameters& parameters) {
  using Way = program::Transfer::Way;
  if (!system.node.host_memory)
    throw std::invalid_argument("the system does not state the memory of its host; write node.host_memory");
  const double bytes = amount(parameters, "bytes");
  const auto copies = static_cast<std::size_t>(positive_count(parameters, "copies"));
  const std::size_t before = copies / 4, all = before + copies + 2 * copies;
  const std::int64_t out = count(parameters, "out"), in = count(parameters, "in");
  const std::int64_t in_first = count(parameters, "in_first");
  if (system.node.gpus < std::max<std::int64_t>({1, out, in_first + in}))
    throw std::invalid_argument("the system has fewer GPUs in a node");
  const double footprint = amount(parameters, "footprint_bytes") * static_cast<double>(out + in);
  const Watch watch = watch_copies(one_node(system), [=](Rank rank) {
    const auto stream = [&](Way way) { return std::vector<Job>(all, Job{rank, bytes, way, footprint}); };
    Streams streams(2);
    if (rank < out) streams[0] = stream(Way::to_host);
    if (rank >= in_first && rank < in_first + in) streams[1] = stream(Way::from_host);
    return streams;
  });
  // Engines that copy out of the memory have the higher number.
  const auto into = static_cast<std::uint32_t>(system.node.gpu.dma.engines);
  double rates[2] = {};
  for (const auto& [engine, ends] : watch.of_engine) {
    const Time from = before == 0 ? Time{} : ends[before - 1];
    rates[engine.second - into] += bytes * static_cast<double>(copies) / (ends[before + copies - 1] - from).seconds();
  }
  Values values;
  if (out > 0) values["out_bandwidth"] = rates[0] / static_cast<double>(out) * 1e-9;
  if (in > 0) values["in_bandwidth"] = rates[1] / static_cast<double>(in) * 1e-9;
  return values;
}

}  // namespace

std::vector<Benchmark> copy_benchmarks() {
  const std::vector<Quantity> time{{"time", "us"}}, ends{{"time", "us"}, {"first_end", "us"}};
  const std::vector<Quantity> rates{{"out_bandwidth", "GB/s"}, {"in_bandwidth", "GB/s"}};
  return {
      {"copy_single", "One copy.", {{"bytes", "remote"}}, time, single},
      {"copy_within",
       "A copy within a GPU behind the same copy (before=0), or behind a kernel that fills the L2 with lines that it "
       "reads (1), that it writes (2), or with the source of the copy (3).",
       {{"bytes", "before"}},
       time,
       within},
      {"copy_chunked", "A copy cut into chunks on one stream.", {{"bytes", "chunks"}}, time, chunked},
      {"copy_flagged",
       "Copies of one stream to a peer, with a command of the stream after each copy that writes a flag.",
       {{"bytes", "copies"}},
       time,
       flagged},
      {"copy_fork",
       "Every GPU copies to every other, each copy on a stream that is forked from the first one.",
       {{"bytes", "gpus", "kernel"}},
       time,
       forked},
      {"copy_streams", "Copies to one peer, each on its own stream.", {{"bytes", "copies"}}, ends, on_streams},
      {"copy_fan_out", "One copy to each of several peers.", {{"bytes", "peers"}}, ends, fan_out},
      {"copy_fan_in", "One copy from each of several peers into one GPU.", {{"bytes", "senders"}}, ends, fan_in},
      {"copy_pairs", "Two GPUs copy to each other.", {{"bytes"}}, ends, pairs},
      {"copy_host",
       "GPUs copy into the memory of their host and out of it, each on its own streams.",
       {{"bytes", "copies", "footprint_bytes", "out", "in", "in_first"}},
       rates,
       by_host},
      {"copy_all_to_all", "Every GPU copies to every other.", {{"bytes", "gpus", "streams"}}, time, all_to_all},
  };
}

}  // namespace moire::microbench
