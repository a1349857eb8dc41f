#include "models/algorithms/mscclpp/matching_rules.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/algorithms/mscclpp/channel_ends.hpp"
#include "models/algorithms/mscclpp/operation_site.hpp"

namespace moire::mscclpp {

namespace {

class MatchingRules {
 public:
  MatchingRules(const Plan& plan, Complaints& complaints) : plan_(plan), complaints_(complaints), ends_(plan) {}

  // Checks that the scratch of a GPU holds either packets or plain data. Packets take twice the space of their data, so
  // chunks of both kinds in one buffer would overlap.
  void scratch_forms() {
    std::map<std::int32_t, bool> packets;  // by GPU: whether its scratch holds packets
    std::set<std::int32_t> told;
    for_each_site(plan_, [&](const OperationSite& site) {
      for (const auto* operands : {&site.op.sources, &site.op.destinations}) {
        for (const Operand& operand : *operands) {
          if (operand.buffer != Buffer::scratch) continue;
          const std::vector<std::int32_t> own = {operand.gpu};
          for (const std::int32_t gpu :
               operand.place == Operand::Place::group ? plan_.gpus[site.gpu].groups[operand.group].gpus : own) {
            const auto [known, added] = packets.emplace(gpu, operand.packets);
            if (added || known->second == operand.packets || !told.insert(gpu).second) continue;
            wrong(site,
                  fmt::format("uses the scratch of gpu {} for {}, but other operations use it for {}", gpu,
                              operand.packets ? "packets" : "data", operand.packets ? "data" : "packets"),
                  "use one kind per GPU: packets take twice the space, so that chunks of both kinds would overlap");
          }
        }
      }
    });
  }

  // Checks that as many blocks meet at a barrier as the barrier states, and that all of them meet there equally often.
  void barriers() {
    struct Met {
      std::uint32_t blocks = 0;
      // How often a block meets there, by block and by num_chunks of the pipeline around the barrier (0: no pipeline).
      std::map<std::size_t, std::map<std::uint32_t, std::size_t>> times;
      const Operation* first = nullptr;
      std::size_t block = 0;
      std::string number;
    };
    std::map<std::pair<std::size_t, std::uint32_t>, Met> all;
    for_each_site(plan_, [&](const OperationSite& site) {
      if (site.op.type != OpType::barrier) return;
      Met& met = all[{site.gpu, site.op.barrier}];
      if (!met.first) {
        met.first = &site.op;
        met.blocks = site.op.barrier_blocks;
        met.block = site.block;
        met.number = site.number;
      } else if (met.blocks != site.op.barrier_blocks) {
        wrong(site,
              fmt::format("meets {} thread blocks at barrier {}, but tb {} op {} meets {}", site.op.barrier_blocks,
                          site.op.barrier, met.block, met.number, met.blocks),
              "use one number for a barrier");
      }
      ++met.times[site.block][site.pipeline ? site.pipeline->pipeline_chunks : 0];
    });
    for (const auto& [key, met] : all) {
      const OperationSite site{plan_, key.first, met.block, *met.first, met.number, nullptr};
      if (met.times.size() != met.blocks) {
        wrong(site,
              fmt::format("waits for {} thread blocks at barrier {}, but {} use it", met.blocks, key.second,
                          met.times.size()),
              "write the number of thread blocks that use it");
        continue;
      }
      for (const auto& [block, times] : met.times) {
        if (times == met.times.begin()->second) continue;
        wrong(site,
              fmt::format("meets tb {} at barrier {}, but that block reaches it a different number of times", block,
                          key.second),
              "write the barrier equally often in all its thread blocks");
        break;
      }
    }
  }

  // Checks that a call releases each semaphore as often as it acquires it. The runtime initializes semaphores once, not
  // in every call, so each call must leave them at their initial values.
  void semaphores() {
    struct Use {
      std::map<std::uint32_t, std::size_t> taken;  // number of acquires, by num_chunks of their pipeline (0: none)
      std::map<std::uint32_t, std::size_t> given;  // number of releases, by the same
      const Operation* op = nullptr;
      std::size_t block = 0;
      std::string number;
    };
    std::map<std::pair<std::size_t, std::uint32_t>, Use> used;
    for_each_site(plan_, [&](const OperationSite& site) {
      for (const std::uint32_t id : site.op.semaphores) {
        Use& use = used[{site.gpu, id}];
        ++(site.op.type == OpType::acquire ? use.taken : use.given)[site.pipeline ? site.pipeline->pipeline_chunks : 0];
        if (use.op) continue;
        use.op = &site.op;
        use.block = site.block;
        use.number = site.number;
      }
    });
    for (const auto& [key, use] : used) {
      if (use.taken == use.given) continue;
      wrong(OperationSite{plan_, key.first, use.block, *use.op, use.number, nullptr},
            fmt::format("uses semaphore {}, which is not released as often as it is acquired, so that the next call "
                        "would begin with another value",
                        key.second),
            "write one release for each acquire");
    }
  }

  // Checks that there is one wait for every signal. A pipeline repeats its signals and waits for each of its num_chunks
  // chunks, so signals and waits are counted separately for each num_chunks.
  void signals() {
    struct Use {
      std::map<std::uint32_t, std::size_t> signals;  // number of signals, by num_chunks of their pipeline (0: none)
      std::map<std::uint32_t, std::size_t> waits;
      // The last operation that signals over the channel or, if none signals, the last one that waits.
      const Operation* op = nullptr;
      std::size_t block = 0;
      std::string number;
    };
    std::map<ChannelEnd, Use> used;
    for_each_site(plan_, [&](const OperationSite& site) {
      const OpType type = site.op.type;
      const bool gives = gives_signal(type);
      const bool takes = type == OpType::wait || type == OpType::relaxed_wait;
      if (!gives && !takes) return;
      const std::uint32_t rounds = site.pipeline ? site.pipeline->pipeline_chunks : 0;
      for (const std::uint32_t channel : site.op.channels) {
        Use& use = used[{site.gpu, site.op.channel_type, channel}];
        ++(gives ? use.signals : use.waits)[rounds];
        if (takes && !use.signals.empty()) continue;
        use.op = &site.op;
        use.block = site.block;
        use.number = site.number;
      }
    });
    const auto total = [](const std::map<std::uint32_t, std::size_t>& counts) {
      std::size_t sum = 0;
      for (const auto& [rounds, count] : counts) sum += count;
      return sum;
    };
    for (const auto& [end, use] : used) {
      const auto& [gpu, type, number] = end;
      if (type != ChannelType::memory && type != ChannelType::port) {
        wrong(OperationSite{plan_, gpu, use.block, *use.op, use.number, nullptr},
              "signals over a channel that is neither a memory nor a port channel",
              "write channel_type memory or port");
        continue;
      }
      const Channel& channel = plan_.gpus[gpu].of(type)[number];
      const auto other = ends_.far(end);
      const auto found = other ? used.find(*other) : used.end();
      const Use none;
      const Use& far = found == used.end() ? none : found->second;
      if (use.signals == far.waits) continue;
      wrong(OperationSite{plan_, gpu, use.block, *use.op, use.number, nullptr},
            fmt::format("signals gpu {} {} times on {} channel {}, but that gpu waits {} times for it", channel.peer,
                        total(use.signals), to_string(type), number, total(far.waits)),
            "write one wait for each signal");
    }
    for (const auto& [end, use] : used) {
      const auto& [gpu, type, number] = end;
      if (use.waits.empty() || (type != ChannelType::memory && type != ChannelType::port)) continue;
      const Channel& channel = plan_.gpus[gpu].of(type)[number];
      const auto other = ends_.far(end);
      if (other && used.contains(*other)) continue;  // checked above
      wrong(
          OperationSite{plan_, gpu, use.block, *use.op, use.number, nullptr},
          fmt::format("waits {} times for gpu {} on {} channel {}, {}", total(use.waits), channel.peer, to_string(type),
                      number, other ? "but that gpu never signals on it" : "but that gpu has no channel back"),
          "write one signal for each wait");
    }
  }

 private:
  void wrong(const OperationSite& site, const std::string& what, const std::string& remedy) {
    error_at(site, what, remedy, complaints_);
  }

  const Plan& plan_;
  Complaints& complaints_;
  ChannelEnds ends_;
};

}  // namespace

void check_matching(const Plan& plan, Complaints& complaints) {
  MatchingRules rules(plan, complaints);
  rules.scratch_forms();
  rules.barriers();
  rules.semaphores();
  rules.signals();
}

}  // namespace moire::mscclpp
