#include "models/algorithms/mscclpp/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "models/algorithms/mscclpp/complaints.hpp"
#include "models/algorithms/mscclpp/matching_rules.hpp"
#include "models/algorithms/mscclpp/memory.hpp"
#include "models/algorithms/mscclpp/operation_site.hpp"

namespace moire::mscclpp {

namespace {

class Rules {
 public:
  Rules(const Plan& plan, Complaints& complaints) : plan_(plan), complaints_(complaints) {}

  void limits() {
    for (std::size_t g = 0; g < plan_.gpus.size(); ++g) {
      for (std::size_t b = 0; b < plan_.gpus[g].blocks.size(); ++b) block_limits(g, b, plan_.gpus[g].blocks[b]);
    }
    for_each_site(plan_, [this](const OperationSite& site) { operation_limits(site); });
  }

  void rules() {
    for (std::size_t g = 0; g < plan_.gpus.size(); ++g) chunks_agree(g);
    for_each_site(plan_, [this](const OperationSite& site) { operation(site); });
    check_matching(plan_, complaints_);
  }

 private:
  void wrong(const OperationSite& site, const std::string& what, const std::string& remedy) {
    error_at(site, what, remedy, complaints_);
  }

  void block_limits(std::size_t g, std::size_t b, const Block& block) {
    const config::Place place{plan_.source, block.line, block.col};
    std::size_t operations = 0;
    for (const Operation& op : block.operations) operations += 1 + op.inner.size();
    if (operations > most_operations) {
      complaints_.error(place,
                        fmt::format("gpu {} tb {} has {} operations, but the runtime holds {} per thread block", g, b,
                                    operations, most_operations),
                        "spread them over more thread blocks");
    }
    for (const auto& [count, type] :
         {std::pair{block.memory_channels, ChannelType::memory}, std::pair{block.port_channels, ChannelType::port}}) {
      if (count <= most_channels) continue;
      complaints_.error(place,
                        fmt::format("gpu {} tb {} has {} {} channels, but the runtime holds {} per thread block", g, b,
                                    count, to_string(type), most_channels),
                        "spread them over more thread blocks");
    }
  }

  void operation_limits(const OperationSite& site) {
    if (site.op.channels.size() > most_operation_channels) {
      wrong(site,
            fmt::format("uses {} channels, but the runtime takes {}", site.op.channels.size(), most_operation_channels),
            "split the operation");
    }
    if (site.op.sources.size() > most_operands || site.op.destinations.size() > most_operands) {
      wrong(site,
            fmt::format("has {} sources and {} destinations, but the runtime takes {} each", site.op.sources.size(),
                        site.op.destinations.size(), most_operands),
            "split the operation");
    }
    if (site.op.semaphores.size() > most_semaphores) {
      wrong(site,
            fmt::format("names {} semaphores, but the runtime takes {}", site.op.semaphores.size(), most_semaphores),
            "split the operation");
    }
    if (site.op.type == OpType::barrier && site.op.barrier >= most_barriers) {
      wrong(site, fmt::format("names barrier {}, but the runtime has {}", site.op.barrier, most_barriers),
            fmt::format("use 0 to {}", most_barriers - 1));
    }
  }

  void chunks_agree(std::size_t g) {
    const Gpu& gpu = plan_.gpus[g];
    const config::Place place{plan_.source, gpu.line, gpu.col};
    if (gpu.input_chunks == 0 && gpu.output_chunks == 0) {
      complaints_.error(place, fmt::format("gpu {} has neither input nor output chunks", g),
                        "state at least one of the two numbers");
    }
    if (gpu.input_chunks != plan_.gpus[0].input_chunks || gpu.output_chunks != plan_.gpus[0].output_chunks) {
      complaints_.error(
          place,
          fmt::format("gpu {} has {} input and {} output chunks, but gpu 0 has {} and {}", g, gpu.input_chunks,
                      gpu.output_chunks, plan_.gpus[0].input_chunks, plan_.gpus[0].output_chunks),
          "give all GPUs the same numbers");
    }
  }

  void operation(const OperationSite& site) {
    for (const Operand& operand : site.op.sources) range(site, operand, "reads");
    for (const Operand& operand : site.op.destinations) range(site, operand, "writes");
    shape(site);
    if (site.op.parts > 1 && site.pipeline) {
      wrong(site, "shares its bytes between thread blocks inside a pipeline, which is not modelled", "remove tbg_info");
    }
    for (const std::uint32_t id : site.op.semaphores) {
      if (id < plan_.gpus[site.gpu].semaphores.size()) continue;
      wrong(site, fmt::format("names semaphore {}, but the gpu has {}", id, plan_.gpus[site.gpu].semaphores.size()),
            "name a semaphore that the gpu has");
    }
  }

  void range(const OperationSite& site, const Operand& operand, const char* verb) {
    const auto check = [&](std::int32_t gpu) {
      const std::uint64_t have = plan_.gpus[static_cast<std::size_t>(gpu)].chunks(operand.buffer);
      if (std::uint64_t{operand.index} + operand.count <= have) return true;
      wrong(site,
            fmt::format("{} chunks {} to {} of the {} of gpu {}, which has {}", verb, operand.index,
                        std::uint64_t{operand.index} + operand.count - 1, buffer_name(operand.buffer), gpu, have),
            "name chunks that exist");
      return false;
    };
    if (operand.count == 0) wrong(site, fmt::format("{} no chunk", verb), "write a size of 1 or more");
    if (operand.place != Operand::Place::group) {
      check(operand.gpu);
      return;
    }
    const Group& group = plan_.gpus[site.gpu].groups[operand.group];
    const std::set<std::int32_t> members(group.gpus.begin(), group.gpus.end());
    if (members.size() != group.gpus.size() || !members.contains(static_cast<std::int32_t>(site.gpu))) {
      wrong(site, "uses a switch group that does not contain its own gpu, or contains a gpu twice",
            "name each member once");
    }
    for (const std::int32_t gpu : group.gpus) {
      if (!check(gpu)) return;
    }
  }

  static std::string_view buffer_name(Buffer buffer) {
    return buffer == Buffer::input ? "input" : buffer == Buffer::output ? "output" : "scratch";
  }

  // Checks that an operation has the number and kinds of operands that its type takes.
  void shape(const OperationSite& site) {
    const Operation& op = site.op;
    const std::size_t in = op.sources.size();
    const std::size_t out = op.destinations.size();
    const bool port = op.channel_type == ChannelType::port;
    switch (op.type) {
      case OpType::nop:
      case OpType::barrier:
      case OpType::acquire:
      case OpType::release:
        return;
      case OpType::signal:
      case OpType::wait:
      case OpType::relaxed_signal:
      case OpType::relaxed_wait:
      case OpType::flush:
        if (op.channels.empty()) wrong(site, "names no channel", "name at least one channel");
        if (op.type == OpType::flush && !port)
          wrong(site, "is not over a port channel", "use a port channel: flush only waits for ports");
        if ((op.type == OpType::relaxed_signal || op.type == OpType::relaxed_wait) && port) {
          wrong(site, "is over a port channel, which has no relaxed form", "use signal or wait");
        }
        return;
      case OpType::pipeline:
        pipeline(site);
        return;
      case OpType::put:
      case OpType::put_signal:
      case OpType::put_signal_flush:
      case OpType::put_packets:
        if (in != out || in == 0) {
          wrong(site, fmt::format("has {} sources and {} destinations", in, out),
                "write one source for each destination");
          return;
        }
        if (port && op.channels.size() != out) {
          wrong(site, fmt::format("has {} port channels for {} destinations", op.channels.size(), out),
                "write one for each");
        }
        if (!port && (op.type == OpType::put_signal || op.type == OpType::put_signal_flush)) {
          wrong(site, "is not over a port channel: the runtime would copy and never signal", "write put, nop, signal");
        }
        break;
      case OpType::get:
        if (in != out || in == 0) {
          wrong(site, fmt::format("has {} sources and {} destinations", in, out),
                "write one source for each destination");
          return;
        }
        if (port) wrong(site, "is over a port channel", "use a memory channel: get loads over memory channels only");
        break;
      case OpType::copy:
      case OpType::copy_to_packets:
      case OpType::unpack_packets:
      case OpType::multicast_store:
      case OpType::multicast_store_packets:
      case OpType::multicast_reduce:
        if (in != 1 || out != 1) {
          wrong(site, fmt::format("has {} sources and {} destinations", in, out),
                "write one source and one destination");
          return;
        }
        break;
      case OpType::read_put_packets:
        if (in != 1 || out == 0) {
          wrong(site, fmt::format("has {} sources and {} destinations", in, out),
                "write one source and at least one destination");
          return;
        }
        if (port && op.channels.size() != out) {
          wrong(site, fmt::format("has {} port channels for {} destinations", op.channels.size(), out),
                "write one for each");
        }
        break;
      case OpType::reduce:
      case OpType::reduce_packets:
        if (in < 2 || out == 0) {
          wrong(site, fmt::format("has {} sources and {} destinations", in, out),
                "write two or more sources and one destination");
          return;
        }
        if (port) wrong(site, "is over a port channel", "use a memory channel for reductions");
        break;
    }
    places(site);
    sizes(site);
  }

  void expect(const OperationSite& site, const Operand& operand, Operand::Place place, const char* what) {
    if (operand.place == place) return;
    wrong(site,
          fmt::format("needs as {} a buffer {}", what,
                      place == Operand::Place::local    ? "of its own gpu"
                      : place == Operand::Place::remote ? "of a peer"
                                                        : "of a switch channel"),
          "name such a buffer");
  }

  // Checks that each operand is local or remote, as the type of the operation requires.
  void places(const OperationSite& site) {
    using enum Operand::Place;
    const Operation& op = site.op;
    const auto all = [&](const std::vector<Operand>& operands, std::size_t from, Operand::Place place,
                         const char* what) {
      for (std::size_t i = from; i < operands.size(); ++i) expect(site, operands[i], place, what);
    };
    switch (op.type) {
      case OpType::put:
      case OpType::put_signal:
      case OpType::put_signal_flush:
      case OpType::put_packets:
      case OpType::read_put_packets:
        all(op.sources, 0, local, "the source");
        all(op.destinations, 0, remote, "the destination");
        break;
      case OpType::get:
        all(op.sources, 0, remote, "the source");
        all(op.destinations, 0, local, "the destination");
        break;
      case OpType::copy:
      case OpType::copy_to_packets:
      case OpType::unpack_packets:
        all(op.sources, 0, local, "the source");
        all(op.destinations, 0, local, "the destination");
        break;
      case OpType::reduce:
        expect(site, op.sources.front(), local, "the first source");
        expect(site, op.destinations.front(), local, "the first destination");
        all(op.destinations, 1, remote, "a further destination");
        break;
      case OpType::reduce_packets:
        all(op.sources, 0, local, "a source");
        expect(site, op.destinations.front(), local, "the first destination");
        break;
      case OpType::multicast_reduce:
        all(op.sources, 0, group, "the source");
        all(op.destinations, 0, group, "the destination");
        break;
      case OpType::multicast_store:
      case OpType::multicast_store_packets:
        all(op.sources, 0, local, "the source");
        all(op.destinations, 0, group, "the destination");
        break;
      default:
        break;
    }
    if (op.channel_type == ChannelType::port && op.channels.size() == op.destinations.size()) {
      for (std::size_t i = 0; i < op.channels.size(); ++i) {
        const std::int32_t peer = plan_.gpus[site.gpu].ports[op.channels[i]].peer;
        if (op.destinations[i].gpu == peer) continue;
        wrong(site, fmt::format("puts to gpu {} over a channel to gpu {}", op.destinations[i].gpu, peer),
              "use a channel to the destination");
        break;
      }
    }
    for (const auto* operands : {&op.sources, &op.destinations}) {
      for (const Operand& operand : *operands) {
        if (operand.packets && operand.buffer != Buffer::scratch) {
          wrong(site, fmt::format("has packets in the {}", buffer_name(operand.buffer)), "put packets into scratch");
          return;
        }
      }
    }
  }

  void sizes(const OperationSite& site) {
    const std::uint32_t count = site.op.sources.front().count;
    for (const auto* operands : {&site.op.sources, &site.op.destinations}) {
      for (const Operand& operand : *operands) {
        if (site.pipeline && operand.count != site.pipeline->pipeline_chunks) {
          wrong(site,
                fmt::format("has {} chunks, but its pipeline has {}", operand.count, site.pipeline->pipeline_chunks),
                "write as many as the pipeline's num_chunks");
          return;
        }
        const bool pairs = site.op.type == OpType::put || site.op.type == OpType::put_signal ||
                           site.op.type == OpType::put_signal_flush || site.op.type == OpType::put_packets ||
                           site.op.type == OpType::get;
        if (!pairs && operand.count != count) {
          wrong(site, fmt::format("has operands of {} and {} chunks", count, operand.count), "use one size for all");
          return;
        }
      }
    }
    for (std::size_t i = 0; i < std::min(site.op.sources.size(), site.op.destinations.size()); ++i) {
      if (site.op.sources[i].count == site.op.destinations[i].count) continue;
      wrong(site, fmt::format("moves {} chunks into {}", site.op.sources[i].count, site.op.destinations[i].count),
            "use the same number at both ends");
      return;
    }
  }

  void pipeline(const OperationSite& site) {
    if (site.op.inner.empty()) wrong(site, "is empty", "write operations in ops");
    const std::uint64_t scratch = scratch_chunk_bytes(plan_);
    if (plan_.reuse_scratch && scratch > 0 && site.op.unit_bytes > scratch) {
      wrong(site,
            fmt::format("has rounds of {} B, but a chunk of reused scratch has {} B", site.op.unit_bytes, scratch),
            "use smaller rounds or fewer chunks of scratch");
    }
    if (unit_ == 0) unit_ = site.op.unit_bytes;
    if (unit_ != site.op.unit_bytes) {
      wrong(site,
            fmt::format("has rounds of {} B, but other pipelines have rounds of {} B, which is not modelled",
                        site.op.unit_bytes, unit_),
            "use one unit_size for all pipelines");
    }
  }

  const Plan& plan_;
  Complaints& complaints_;
  std::uint64_t unit_ = 0;
};

}  // namespace

void check_limits(const Plan& plan, config::Diagnostics& diagnostics) {
  Complaints complaints(diagnostics);
  Rules(plan, complaints).limits();
}

void check_rules(const Plan& plan, config::Diagnostics& diagnostics) {
  Complaints complaints(diagnostics);
  Rules(plan, complaints).rules();
}

}  // namespace moire::mscclpp
