#include "models/algorithms/msccl/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "models/algorithms/msccl/lower.hpp"

namespace moire::msccl {

namespace {

// Limits of some runtimes. An algorithm that exceeds them only causes a warning.
constexpr std::int32_t usual_channels = 32;
constexpr std::size_t usual_blocks_of_a_channel = 32;
constexpr std::size_t usual_nodes = 4096;

std::string range(Buffer buffer, std::int64_t offset, std::int64_t count) {
  return fmt::format("{}[{}..{})", to_string(buffer), offset, offset + count);
}

void check_operand(const Algorithm& algorithm, const Gpu& gpu, const Step& step, bool source, const std::string& name,
                   Complaints& complaints) {
  const Buffer buffer = source ? step.src_buffer : step.dst_buffer;
  const std::int64_t offset = source ? step.src_offset : step.dst_offset;
  const char* attribute = source ? "srcoff" : "dstoff";
  if (offset < 0) {
    complaints.error(spot(step), fmt::format("{}: {} is {}, a negative offset", name, attribute, offset),
                     fmt::format("write 0 or more: a step of type {} uses it", to_string(step.type)));
    return;
  }
  const std::int64_t chunks = chunks_in(algorithm, gpu, buffer);
  if (offset + step.count <= chunks) return;
  complaints.error(
      spot(step),
      fmt::format("{}: out of range: it {} {}, but there are only {} chunks of {}", name, source ? "reads" : "writes",
                  range(buffer, offset, step.count), chunks, to_string(buffer)),
      fmt::format("keep {} + cnt at {}_chunks or below", attribute, to_string(buffer)));
}

void check_dependency(const Gpu& gpu, std::int32_t g, std::int32_t b, std::int32_t s, Complaints& complaints) {
  const Step& step = gpu.blocks[b].steps[s];
  if (step.depends_block == none) return;
  const std::string name = name_of(g, b, s);
  const auto blocks = static_cast<std::int64_t>(gpu.blocks.size());
  if (step.depends_block < 0 || step.depends_block >= blocks) {
    complaints.error(spot(step),
                     fmt::format("{}: its dependency is on tb {}, which does not exist", name, step.depends_block),
                     fmt::format("write depid -1, or a tb of the same gpu from 0 to {}", blocks - 1));
    return;
  }
  const std::vector<Step>& steps = gpu.blocks[step.depends_block].steps;
  if (step.depends_step < 0 || step.depends_step >= static_cast<std::int64_t>(steps.size())) {
    complaints.error(spot(step),
                     fmt::format("{}: its dependency is on step {} of tb {}, which does not exist", name,
                                 step.depends_step, step.depends_block),
                     steps.empty() ? std::string("that tb has no steps")
                                   : fmt::format("that tb has the steps 0 to {}", steps.size() - 1));
    return;
  }
  const auto flagged = [](const Step& other) { return other.has_dependents && other.type != Op::none; };
  if (std::none_of(steps.begin() + step.depends_step, steps.end(), flagged)) {
    complaints.error(
        spot(step),
        fmt::format("{}: its dependency is never met: from step {} on, tb {} has no step with hasdep=\"1\" (nops do "
                    "not count)",
                    name, step.depends_step, step.depends_block),
        "write hasdep=\"1\" on the step that is waited for");
  } else if (!flagged(steps[step.depends_step])) {
    complaints.warning(
        "unflagged", spot(step),
        fmt::format("{}: step {} of tb {} is a nop or has hasdep=\"0\", so the wait ends at a later step", name,
                    step.depends_step, step.depends_block),
        "write hasdep=\"1\" on the step that is waited for");
  }
}

// A nop is a step that only waits. It carries an additional dependency of the next step that is not a nop. The runtime
// requires that the latter step has a dependency of its own, too.
void check_nops(const ThreadBlock& block, std::int32_t g, std::int32_t b, Complaints& complaints) {
  bool behind_nop = false;
  for (std::size_t s = 0; s < block.steps.size(); ++s) {
    const Step& step = block.steps[s];
    const bool waits = step.depends_block != none;
    const std::string name = name_of(g, b, static_cast<std::int64_t>(s));
    if (step.type == Op::none && !waits) {
      complaints.error(spot(step), name + ": the nop has no dependency",
                       "remove it: a nop is only needed to carry a further dependency of the step after it");
    }
    if (step.type != Op::none && behind_nop && !waits) {
      complaints.error(spot(step), name + ": the step follows a nop but has no dependency of its own",
                       "move one of the nop's dependencies to this step; otherwise the runtime refuses the file");
    }
    behind_nop = step.type == Op::none;
  }
  if (behind_nop) {
    complaints.warning(
        "trailing nop", spot(block.steps.back()),
        name_of(g, b, static_cast<std::int64_t>(block.steps.size()) - 1) + ": a nop at the end does nothing",
        "remove it");
  }
}

// The runtime merges consecutive reductions that write to the same chunk, and uses the cnt (number of chunks) of the
// last reduction for all of them.
void check_fusion(const ThreadBlock& block, std::int32_t g, std::int32_t b, Complaints& complaints) {
  for (std::size_t s = 1; s < block.steps.size(); ++s) {
    const Step& before = block.steps[s - 1];
    const Step& step = block.steps[s];
    if (before.type != Op::reduce || step.type != Op::reduce || before.has_dependents) continue;
    if (before.dst_buffer != step.dst_buffer || before.dst_offset != step.dst_offset) continue;
    if (before.src_buffer != step.src_buffer || step.depends_block != none || before.count == step.count) continue;
    complaints.warning("fusion", spot(step),
                       fmt::format("{}: the runtime merges it with the re before it, whose cnt is {} and not {}",
                                   name_of(g, b, static_cast<std::int64_t>(s)), before.count, step.count),
                       "give both the same cnt, or the first hasdep=\"1\"");
  }
}

struct End {
  std::int32_t gpu;
  std::int32_t block;
};
struct Ends {
  std::vector<End> senders;
  std::vector<End> receivers;
};

// Returns the steps of a block that send (if `sending` is true) or receive (if it is false), each with its number of
// chunks.
std::vector<std::pair<std::uint16_t, const Step*>> transfers(const ThreadBlock& block, bool sending) {
  std::vector<std::pair<std::uint16_t, const Step*>> counts;
  for (const Step& step : block.steps) {
    const Effect does = effect(step.type);
    if (sending ? does.sends : does.receives) counts.emplace_back(step.count, &step);
  }
  return counts;
}

void compare_ends(const Algorithm& algorithm, std::tuple<std::int32_t, std::int32_t, std::int32_t> key,
                  const Ends& ends, Complaints& complaints) {
  if (ends.senders.size() > 1 || ends.receivers.size() > 1) return;  // check_gpu() has reported this
  static const ThreadBlock nobody;
  const auto block_of = [&](const std::vector<End>& side) -> const ThreadBlock& {
    return side.empty() ? nobody : algorithm.gpus[side[0].gpu].blocks[side[0].block];
  };
  const ThreadBlock& sender = block_of(ends.senders);
  const ThreadBlock& receiver = block_of(ends.receivers);
  const auto sent = transfers(sender, true);
  const auto received = transfers(receiver, false);
  const auto index = [](const ThreadBlock& block, const Step* step) { return step - block.steps.data(); };
  const auto [from, to, channel] = key;
  if (sent.empty() && received.empty() && ends.senders.size() != ends.receivers.size()) {
    const bool sends = ends.receivers.empty();
    const End end = sends ? ends.senders[0] : ends.receivers[0];
    complaints.warning(
        "one end", spot(sends ? sender : receiver),
        fmt::format("{}: it names gpu {} as its peer on channel {}, but that gpu does not name it, and nothing is {}",
                    name_of(end.gpu, end.block), sends ? to : from, channel, sends ? "sent" : "received"),
        "write -1 if there is no peer");
  }
  const std::string connection = fmt::format("connection {} -> {} on channel {}", from, to, channel);
  for (std::size_t i = 0; i < std::max(sent.size(), received.size()); ++i) {
    if (i >= sent.size()) {
      const Step* step = received[i].second;
      complaints.error(
          spot(*step),
          fmt::format("{}: unmatched: it receives from gpu {}, but nothing is sent: {} has {} sends and {} receives",
                      name_of(to, ends.receivers[0].block, index(receiver, step)), from, connection, sent.size(),
                      received.size()),
          "write one send for every receive, in the same order, with the same cnt");
      return;
    }
    if (i >= received.size()) {
      const Step* step = sent[i].second;
      complaints.error(
          spot(*step),
          fmt::format("{}: unmatched: it sends to gpu {}, but nothing is received: {} has {} sends and {} receives",
                      name_of(from, ends.senders[0].block, index(sender, step)), to, connection, sent.size(),
                      received.size()),
          "write one receive for every send, in the same order, with the same cnt");
      return;
    }
    if (sent[i].first == received[i].first) continue;
    const Step* step = sent[i].second;
    complaints.error(spot(*step),
                     fmt::format("{}: unmatched: it sends cnt={} chunks and {} receives cnt={} ({}, transfer {})",
                                 name_of(from, ends.senders[0].block, index(sender, step)), sent[i].first,
                                 name_of(to, ends.receivers[0].block, index(receiver, received[i].second)),
                                 received[i].first, connection, i),
                     "write the same cnt on both sides");
    return;
  }
}

}  // namespace

void check_header(const Algorithm& algorithm, Complaints& complaints) {
  const Spot at = spot(algorithm);
  const std::int64_t ranks = algorithm.ranks();
  const auto error = [&](std::string what, std::string remedy) {
    complaints.error(at, std::move(what), std::move(remedy));
  };
  if (ranks < 1) error("ngpus is 0: no GPU would run the algorithm", "write 1 or more");
  if (algorithm.chunks < 1) {
    error(fmt::format("nchunksperloop is {}", algorithm.chunks),
          "write the number of chunks that the buffer is cut into, 1 or more");
  }
  const bool divides = algorithm.collective == Collective::all_gather ||
                       algorithm.collective == Collective::all_to_all ||
                       algorithm.collective == Collective::reduce_scatter;
  if (ranks > 0 && algorithm.chunks > 0 && divides && algorithm.chunks % ranks != 0) {
    error(
        fmt::format("nchunksperloop is {} and not a multiple of ngpus, {}", algorithm.chunks, ranks),
        fmt::format("write a multiple: {} gives each gpu the same number of chunks", to_string(algorithm.collective)));
  }
  if (algorithm.channels < 1 || algorithm.channels > most_channels) {
    error(fmt::format("nchannels is {}", algorithm.channels), fmt::format("write 1 to {}", most_channels));
  } else if (algorithm.channels > usual_channels) {
    complaints.warning("channels", at, fmt::format("nchannels is {}", algorithm.channels),
                       fmt::format("most runtimes have {} channels", usual_channels));
  }
  if (algorithm.max_bytes > 0 && algorithm.min_bytes > algorithm.max_bytes) {
    complaints.warning("window", at,
                       fmt::format("minBytes {} is above maxBytes {}: the algorithm is never chosen",
                                   algorithm.min_bytes, algorithm.max_bytes),
                       "write maxBytes 0 for no limit");
  }
  if (!algorithm.in_place && !algorithm.out_of_place) {
    complaints.warning("place", at, "neither inplace nor outofplace is 1: the algorithm is never chosen",
                       "write 1 for the kind of call that it serves");
  }
}

void check_block(const Algorithm& algorithm, std::int32_t g, std::int32_t b, Complaints& complaints) {
  const ThreadBlock& block = algorithm.gpus[g].blocks[b];
  const std::int32_t ranks = algorithm.ranks();
  for (const auto& [attribute, peer] : {std::pair("send", block.send), std::pair("recv", block.recv)}) {
    if (peer == g) {
      complaints.error(spot(block), fmt::format("{}: {} is the gpu itself", name_of(g, b), attribute),
                       "name another gpu, or use cpy or re within this one");
    } else if (peer < none || peer >= ranks) {
      complaints.error(spot(block),
                       fmt::format("{}: {} is {}, but there is no such peer", name_of(g, b), attribute, peer),
                       fmt::format("write -1 or a gpu from 0 to {}", ranks - 1));
    }
  }
  if (block.channel < 0 || block.channel >= algorithm.channels) {
    complaints.error(
        spot(block),
        fmt::format("{}: chan is {}, but nchannels is {}", name_of(g, b), block.channel, algorithm.channels),
        fmt::format("write 0 to {}", algorithm.channels - 1));
  }
  if (block.steps.size() > most_steps) {
    complaints.error(spot(block), fmt::format("{}: {} steps", name_of(g, b), block.steps.size()),
                     fmt::format("the runtime takes at most {} steps per tb", most_steps));
  } else if (block.steps.size() > usual_steps) {
    complaints.warning("steps", spot(block), fmt::format("{}: {} steps", name_of(g, b), block.steps.size()),
                       fmt::format("default builds of the runtime take {} per tb", usual_steps));
  }
}

void check_step(const Algorithm& algorithm, std::int32_t g, std::int32_t b, std::int32_t s, Complaints& complaints) {
  const Gpu& gpu = algorithm.gpus[g];
  const ThreadBlock& block = gpu.blocks[b];
  const Step& step = block.steps[s];
  if (step.type == Op::none) return;
  const Effect does = effect(step.type);
  const std::string name = name_of(g, b, s);
  if (does.sends && block.send == none) {
    complaints.error(spot(step),
                     fmt::format("{}: type {} sends, but the tb has send=\"-1\"", name, to_string(step.type)),
                     "name the peer in the tb's send");
  }
  if (does.receives && block.recv == none) {
    complaints.error(spot(step),
                     fmt::format("{}: type {} receives, but the tb has recv=\"-1\"", name, to_string(step.type)),
                     "name the peer in the tb's recv");
  }
  if (step.count < 1 || step.count > most_chunks) {
    complaints.error(spot(step), fmt::format("{}: cnt is {}", name, step.count),
                     fmt::format("write 1 to {} chunks per step", most_chunks));
    return;
  }
  if (does.reads_src) check_operand(algorithm, gpu, step, true, name, complaints);
  if (does.reads_dst || does.writes_dst) check_operand(algorithm, gpu, step, false, name, complaints);
  if (does.writes_dst && step.dst_buffer == Buffer::input && algorithm.out_of_place) {
    complaints.warning("input", spot(step),
                       name + ": it writes to the input, which an out-of-place call must not change",
                       "write to the output or to scratch");
  }
}

void check_gpu(const Algorithm& algorithm, std::int32_t g, Complaints& complaints) {
  const Gpu& gpu = algorithm.gpus[g];
  std::map<std::tuple<bool, std::int32_t, std::int32_t>, std::int32_t> owner;
  std::map<std::pair<bool, std::int32_t>, std::size_t> of_channel;
  std::size_t nodes = 2;
  for (std::int32_t b = 0; b < static_cast<std::int32_t>(gpu.blocks.size()); ++b) {
    const ThreadBlock& block = gpu.blocks[b];
    nodes += 1 + block.steps.size();
    for (const bool sending : {true, false}) {
      const std::int32_t peer = sending ? block.send : block.recv;
      if (peer == none) continue;
      const auto [found, first] = owner.try_emplace({sending, peer, block.channel}, b);
      if (!first) {
        complaints.error(
            spot(block),
            fmt::format("{}: tb {} of this gpu has the same connection: {} gpu {} on channel {}", name_of(g, b),
                        found->second, sending ? "send to" : "receive from", peer, block.channel),
            "use another channel: a peer, a channel and a direction have one tb");
      }
      if (++of_channel[{sending, block.channel}] == usual_blocks_of_a_channel + 1) {
        complaints.warning("channel blocks", spot(block),
                           fmt::format("{}: more than {} thread blocks {} on channel {}", name_of(g, b),
                                       usual_blocks_of_a_channel, sending ? "send" : "receive", block.channel),
                           fmt::format("the runtime takes {} per channel and direction; spread them over more channels",
                                       usual_blocks_of_a_channel));
      }
    }
    check_nops(block, g, b, complaints);
    check_fusion(block, g, b, complaints);
    for (std::int32_t s = 0; s < static_cast<std::int32_t>(block.steps.size()); ++s) {
      check_dependency(gpu, g, b, s, complaints);
    }
  }
  if (gpu.blocks.size() > most_blocks) {
    complaints.error(spot(gpu), fmt::format("{}: {} thread blocks", name_of(g), gpu.blocks.size()),
                     fmt::format("the runtime takes at most {} per gpu", most_blocks));
  }
  if (nodes > usual_nodes) {
    complaints.warning("nodes", spot(gpu), fmt::format("{}: {} XML elements", name_of(g), nodes),
                       fmt::format("the runtime reads {} per gpu", usual_nodes));
  }
}

void check_memory(const Algorithm& algorithm, Complaints& complaints) {
  for (std::int32_t g = 0; g < algorithm.ranks(); ++g) {
    const Gpu& gpu = algorithm.gpus[g];
    if (gpu.input_chunks >= 0 && gpu.output_chunks >= 0 && gpu.scratch_chunks >= 0) continue;
    complaints.error(spot(gpu), name_of(g) + ": the number of chunks is negative", "write 0 or more");
    return;
  }
  if (cells_of(algorithm) <= most_cells) return;
  complaints.error(spot(algorithm), fmt::format("the buffers of all gpus have {} chunks together", cells_of(algorithm)),
                   fmt::format("take at most {}", most_cells));
}

void check_connections(const Algorithm& algorithm, Complaints& complaints) {
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, Ends> connections;
  for (std::int32_t g = 0; g < algorithm.ranks(); ++g) {
    for (std::int32_t b = 0; b < static_cast<std::int32_t>(algorithm.gpus[g].blocks.size()); ++b) {
      const ThreadBlock& block = algorithm.gpus[g].blocks[b];
      if (block.send != none) connections[{g, block.send, block.channel}].senders.push_back({g, b});
      if (block.recv != none) connections[{block.recv, g, block.channel}].receivers.push_back({g, b});
    }
  }
  for (const auto& [key, ends] : connections) compare_ends(algorithm, key, ends, complaints);
}

bool check_rules(const Algorithm& algorithm, config::Diagnostics& diagnostics) {
  Complaints complaints(algorithm.file, diagnostics);
  check_header(algorithm, complaints);
  check_memory(algorithm, complaints);
  if (complaints.errors() > 0) return false;
  for (std::int32_t g = 0; g < algorithm.ranks(); ++g) {
    for (std::int32_t b = 0; b < static_cast<std::int32_t>(algorithm.gpus[g].blocks.size()); ++b) {
      check_block(algorithm, g, b, complaints);
      for (std::int32_t s = 0; s < static_cast<std::int32_t>(algorithm.gpus[g].blocks[b].steps.size()); ++s) {
        check_step(algorithm, g, b, s, complaints);
      }
    }
    check_gpu(algorithm, g, complaints);
  }
  if (complaints.errors() == 0) check_connections(algorithm, complaints);
  return complaints.errors() == 0;
}

}  // namespace moire::msccl
