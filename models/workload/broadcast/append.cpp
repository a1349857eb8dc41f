// The program of a broadcast: streams of host threads that wait for a chunk, call the codec and post the sends. DMA
// engines send chunks to GPUs of the same node, NICs to those of other nodes.
#include <fmt/format.h>

#include <map>

#include "models/workload/broadcast/spec.hpp"

namespace moire::broadcast {

namespace {

using codec::Work;
using program::FlagRef;
using program::RankSet;

class Maker {
 public:
  Maker(builder::Builder& build, const BroadcastSpec& spec, Plan plan)
      : build_(build), spec_(spec), plan_(std::move(plan)), name_(build.unique("chunked_broadcast")) {
    arrived_ = flags("arrived");
    if (spec.compression != Compression::root) return;
    coded_ = flags("coded");
    if (spec.between_nodes) plain_ = flags("plain");
  }

  void append() {
    if (spec_.compression == Compression::root) {
      on_streams("encode", [this](program::Queue& stream, std::int64_t turn) { encode(stream, turn); });
      on_streams("send", [this](program::Queue& stream, std::int64_t turn) { send_compressed(stream, turn); });
      on_streams("decode", [this](program::Queue& stream, std::int64_t turn) { decode(stream, turn); });
      if (spec_.between_nodes)
        on_streams("hand_on", [this](program::Queue& stream, std::int64_t turn) { hand_on(stream, turn); });
    } else {
      on_streams("hops", [this](program::Queue& stream, std::int64_t turn) { hop(stream, turn); });
    }
    for (program::Queue* stream : streams_) build_.join(*stream, name_);
  }

 private:
  using Of = std::function<bool(Rank, const Task&)>;

  program::FlagBlock flags(const char* what) {
    const std::string array = fmt::format("{}.{}", name_, what);
    const auto raised_by = [plan = plan_, array](Rank rank, std::uint32_t chunk) {
      // The rank that sends this chunk is in one of the receiver's tasks.
      for (std::int64_t turn = 0; turn < plan.turns(); ++turn) {
        const Task task = plan.task(rank, turn);
        if (task.chunk == chunk) return std::pair{task.from == program::no_rank ? rank : task.from, array};
      }
      return std::pair{rank, array};
    };
    return build_.program.add_flags({array, static_cast<std::uint32_t>(plan_.shape().chunks), raised_by});
  }

  void on_streams(const char* what, const std::function<void(program::Queue&, std::int64_t)>& append_turn) {
    for (std::int64_t s = 0; s < std::min(spec_.streams, plan_.turns()); ++s) {
      program::Queue& stream = build_.fork(fmt::format("{}{}", what, s));
      stream.by_host = true;
      streams_.push_back(&stream);
      for (std::int64_t turn = s; turn < plan_.turns(); turn += spec_.streams) append_turn(stream, turn);
    }
  }

  // The ranks whose task of a turn fulfils `is`; null if there are none. Equal sets share one object.
  RankSet ranks(std::int64_t turn, const Of& is) {
    std::vector<bool> set(plan_.shape().ranks);
    for (Rank rank = 0; rank < plan_.shape().ranks; ++rank) {
      const Task task = plan_.task(rank, turn);
      set[rank] = task.chunk >= 0 && is(rank, task);
    }
    if (std::find(set.begin(), set.end(), true) == set.end()) return nullptr;
    RankSet& known = sets_[set];
    if (!known) known = std::make_shared<const std::vector<bool>>(std::move(set));
    return known;
  }

  std::function<FlagRef(Rank)> flag(const program::FlagBlock& of, std::int64_t turn) const {
    return [plan = plan_, of, turn](Rank rank) {
      const Task task = plan.task(rank, turn);
      return of.at(rank, task.chunk < 0 ? 0 : static_cast<std::uint32_t>(task.chunk));
    };
  }

  void wait(program::Queue& stream, std::int64_t turn, const program::FlagBlock& of, const char* what, const Of& is) {
    if (const RankSet set = ranks(turn, is))
      stream.operations.emplace_back(program::Wait{fmt::format("{}.{}", name_, what), flag(of, turn), 1, set});
  }

  // Appends a call of the codec; it ends when the host knows that the kernel has ended.
  void call(program::Queue& stream, std::int64_t turn, Work work, const Of& is) {
    const RankSet set = ranks(turn, is);
    if (!set) return;
    const codec::CodecSpec& codec = *spec_.codec;
    const std::string what = fmt::format("{}.{}", name_, work == Work::compress ? "compress" : "decompress");
    if (codec.call.ps > 0) stream.operations.emplace_back(program::Delay{what + "_call", codec.call, set});
    std::vector<codec::Part> parts;
    for (Rank rank = 0; rank < plan_.shape().ranks; ++rank) {
      const Task task = plan_.task(rank, turn);
      parts.push_back((*set)[rank] ? part_of(spec_, plan_, task.chunk) : codec::Part{0, codec.ratio_of(0)});
    }
    for (program::Kernel& kernel : codec::make_kernels(build_, codec, work, parts, what)) {
      kernel.ranks = set;
      stream.operations.emplace_back(std::move(kernel));
    }
    if (codec.to_host.ps > 0) stream.operations.emplace_back(program::Delay{what + "_seen", codec.to_host, set});
  }

  // Sends a chunk to the ranks of the task's hops, one after the other: only to those that get it compressed, or only
  // to those that get it plain.
  void send(program::Queue& stream, std::int64_t turn, bool compressed) {
    for (std::size_t number = 0;; ++number) {
      const auto hop_of = [compressed, number](const Task& task) -> const Hop* {
        std::size_t at = 0;
        for (const Hop& hop : task.hops)
          if (hop.compressed == compressed && at++ == number) return &hop;
        return nullptr;
      };
      const RankSet set = ranks(turn, [&](Rank, const Task& task) { return hop_of(task) != nullptr; });
      if (!set) return;
      const auto transfer = [plan = plan_, spec = shared_spec_, arrived = arrived_, turn, hop_of](Rank rank) {
        const Task task = plan.task(rank, turn);
        const Hop* const hop = hop_of(task);
        if (hop == nullptr) return program::Transfer{rank, Bytes{}, program::no_flag};
        const codec::Part part = part_of(*spec, plan, task.chunk);
        return program::Transfer{hop->to, hop->compressed ? codec::compressed(part) : Bytes{part.bytes},
                                 arrived.at(hop->to, static_cast<std::uint32_t>(task.chunk))};
      };
      stream.operations.emplace_back(program::Copy{name_ + ".send", transfer, {}, set});
    }
  }

  static bool receives(Rank, const Task& task) { return task.from != program::no_rank; }
  static bool hands_on(Rank, const Task& task) { return !task.hops.empty(); }
  static bool hands_on_compressed(const Task& task) {
    return std::any_of(task.hops.begin(), task.hops.end(), [](const Hop& hop) { return hop.compressed; });
  }
  static bool hands_on_plain(const Task& task) {
    return std::any_of(task.hops.begin(), task.hops.end(), [](const Hop& hop) { return !hop.compressed; });
  }

  // Compression off or at every hop: a rank waits for a chunk, calls the codec and sends, all in one stream.
  void hop(program::Queue& stream, std::int64_t turn) {
    const bool coded = spec_.compression == Compression::every_hop;
    wait(stream, turn, arrived_, "arrives", receives);
    if (coded) call(stream, turn, Work::decompress, receives);
    if (coded) call(stream, turn, Work::compress, hands_on);
    send(stream, turn, coded);
  }

  void encode(program::Queue& stream, std::int64_t turn) {
    const auto is = [](Rank rank, const Task& task) { return !receives(rank, task) && hands_on_compressed(task); };
    call(stream, turn, Work::compress, is);
    if (const RankSet set = ranks(turn, is))
      stream.operations.emplace_back(program::Signal{name_ + ".coded", flag(coded_, turn), set});
  }

  void send_compressed(program::Queue& stream, std::int64_t turn) {
    wait(stream, turn, coded_, "codes",
         [](Rank rank, const Task& task) { return !receives(rank, task) && hands_on_compressed(task); });
    wait(stream, turn, arrived_, "arrives",
         [](Rank rank, const Task& task) { return receives(rank, task) && hands_on_compressed(task); });
    send(stream, turn, true);
  }

  void decode(program::Queue& stream, std::int64_t turn) {
    const auto is = [](Rank, const Task& task) { return task.compressed; };
    wait(stream, turn, arrived_, "arrives", is);
    call(stream, turn, Work::decompress, is);
    if (!spec_.between_nodes) return;
    if (const RankSet set = ranks(turn, [](Rank, const Task& task) { return task.compressed && hands_on_plain(task); }))
      stream.operations.emplace_back(program::Signal{name_ + ".plain", flag(plain_, turn), set});
  }

  // Within a node chunks are plain: the rank that decompressed one forwards it, and so do those that get it plain.
  void hand_on(program::Queue& stream, std::int64_t turn) {
    wait(stream, turn, plain_, "is_plain",
         [](Rank, const Task& task) { return task.compressed && hands_on_plain(task); });
    wait(stream, turn, arrived_, "arrives",
         [](Rank rank, const Task& task) { return receives(rank, task) && !task.compressed; });
    send(stream, turn, false);
  }

  builder::Builder& build_;
  const BroadcastSpec& spec_;
  std::shared_ptr<const BroadcastSpec> shared_spec_ = std::make_shared<const BroadcastSpec>(spec_);  // for callbacks
  Plan plan_;
  std::string name_;
  program::FlagBlock arrived_, coded_, plain_;
  std::vector<program::Queue*> streams_;
  std::map<std::vector<bool>, RankSet> sets_;
};

}  // namespace

void append(builder::Builder& build, const BroadcastSpec& spec) {
  const Plan plan = plan_of(spec, build.system);
  if (!spec.chunks && build.notes != nullptr) {
    build.notes->push_back(fmt::format(
        "chunked_broadcast of {:.0f} B: {} chunk{}, for which the closed form says {:.4g} us", spec.bytes.value,
        plan.shape().chunks, plan.shape().chunks == 1 ? "" : "s", closed_form(spec, plan.shape(), build.system) * 1e6));
  }
  Maker(build, spec, plan).append();
}

}  // namespace moire::broadcast
