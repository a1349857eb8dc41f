// Makes the program of a chunked collective. In each stream, the host waits for a chunk, calls the codec and posts the
// sends. DMA engines send chunks within a node, NICs send them to other nodes.
#include <fmt/format.h>

#include <map>

#include "models/workload/chunked/spec.hpp"
#include "models/workload/kernel/stream.hpp"

namespace moire::chunked {

namespace {

using codec::Work;
using Thread = program::Delay::Thread;
using program::FlagRef;
using program::RankSet;

enum class Call { decompress, reduce, decompress_reduce, decompress_reduce_compress, compress };

const char* name_of(Call call) {
  constexpr const char* names[] = {"decompress", "reduce", "decompress_reduce", "decompress_reduce_compress",
                                   "compress"};
  return names[static_cast<std::size_t>(call)];
}

// Returns the codec's work in a call, or nothing for the kernel that adds plain data, which does not use the codec.
std::optional<Work> work_of(Call call) {
  constexpr std::optional<Work> works[] = {Work::decompress, std::nullopt, Work::decompress_reduce,
                                           Work::decompress_reduce_compress, Work::compress};
  return works[static_cast<std::size_t>(call)];
}

class Maker {
 public:
  Maker(builder::Builder& build, const ChunkedSpec& spec, Plan plan, const std::string& name)
      : build_(build), spec_(spec), plan_(std::move(plan)), name_(name) {
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
    const auto raised_by = [plan = plan_, array](Rank rank, std::uint32_t arrival) {
      // The task of the receiver in which the chunk arrives states its sender.
      for (std::int64_t turn = 0; turn < plan.turns(); ++turn) {
        const Task task = plan.task(rank, turn);
        if (task.chunk >= 0 && plan.arrival(task.chunk, task.partial) == arrival)
          return std::pair{task.from == program::no_rank ? rank : task.from, array};
      }
      return std::pair{rank, array};
    };
    return build_.program.add_flags({array, static_cast<std::uint32_t>(plan_.arrivals()), raised_by});
  }

  void on_streams(const char* what, const std::function<void(program::Queue&, std::int64_t)>& append_turn) {
    for (std::int64_t s = 0; s < std::min(spec_.streams, plan_.turns()); ++s) {
      program::Queue& stream = build_.fork(fmt::format("{}{}", what, s));
      stream.by_host = true;
      streams_.push_back(&stream);
      for (std::int64_t turn = s; turn < plan_.turns(); turn += spec_.streams) append_turn(stream, turn);
    }
  }

  // Returns the ranks whose task in this turn satisfies `is`, or null if there are none. Equal sets share one object to
  // save memory.
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
      return of.at(rank, task.chunk < 0 ? 0 : static_cast<std::uint32_t>(plan.arrival(task.chunk, task.partial)));
    };
  }

  void wait(program::Queue& stream, std::int64_t turn, const program::FlagBlock& of, const char* what, const Of& is) {
    if (const RankSet set = ranks(turn, is))
      stream.operations.emplace_back(program::Wait{fmt::format("{}.{}", name_, what), flag(of, turn), 1, set});
  }

  // Appends a call of the codec, or of the kernel that adds plain data. The call ends when the host knows that the
  // kernel has ended.
  void call(program::Queue& stream, std::int64_t turn, Call which, const Of& is) {
    const RankSet set = ranks(turn, is);
    if (!set) return;
    const std::string what = fmt::format("{}.{}", name_, name_of(which));
    const auto work = work_of(which);
    const Time before = work ? spec_.codec->call : Time{}, after = work ? spec_.codec->to_host : Time{};
    if (before.ps > 0) stream.operations.emplace_back(program::Delay{what + "_call", before, set, Thread::calls});
    std::vector<codec::Part> parts;
    double most = 0;
    for (Rank rank = 0; rank < plan_.shape().ranks; ++rank) {
      const Task task = plan_.task(rank, turn);
      const codec::Part none{0, spec_.codec ? spec_.codec->ratio_of(0) : 1};
      parts.push_back((*set)[rank] ? part_of(spec_, plan_, task.chunk) : none);
      most = std::max(most, parts.back().bytes);
    }
    std::vector<program::Operation> operations;
    if (work) {
      // A single part stands for all ranks if their parts are equal.
      if (std::equal(parts.begin() + 1, parts.end(), parts.begin())) parts.resize(1);
      operations = codec::make_operations(build_, *spec_.codec, *work, parts, what);
    } else {
      // The ranks' chunks of one turn differ by at most one byte. The kernel uses the largest size on all ranks.
      const kernel::StreamSpec sum{.inputs = 2, .bytes = Bytes{most}, .schedule = kernel::StreamSchedule::grid_stride};
      operations.emplace_back(kernel::stream_kernel(build_, sum, what));
    }
    for (program::Operation& operation : operations) {
      std::visit([&set](auto& one) { one.ranks = set; }, operation);
      stream.operations.push_back(std::move(operation));
    }
    stream.operations.emplace_back(program::Delay{what + "_seen", after, set, Thread::polls});
  }

  bool is_possible(Call which) const {
    const bool coded = spec_.compression != Compression::off;
    const Collective collective = plan_.shape().collective;
    const bool sums = collective == Collective::reduce_scatter || collective == Collective::all_reduce;
    if (which == Call::compress || which == Call::decompress) return coded;
    if (which == Call::reduce) return sums && (!coded || spec_.between_nodes);
    return sums && coded;
  }

  // Appends the calls that turn a chunk (arrived, or the rank's own) into the data to send. With compression off or
  // every_hop, these calls also produce the plain data that the rank keeps, unless the chunk goes on as a partial sum.
  void calls(program::Queue& stream, std::int64_t turn, const Of& is) {
    for (const Call which :
         {Call::decompress, Call::reduce, Call::decompress_reduce, Call::decompress_reduce_compress, Call::compress}) {
      if (!is_possible(which)) continue;
      call(stream, turn, which, [&](Rank rank, const Task& task) {
        if (!is(rank, task)) return false;
        const bool coded = hands_on_compressed(task);
        // The fused kernel does not store the plain sum. It is used for partial sums, which no rank keeps, and with
        // compression root, where the rank decompresses the complete sum later.
        const bool fused = task.partial && task.compressed && coded &&
                           (spec_.compression == Compression::root || task.hops.front().partial);
        switch (which) {
          case Call::decompress:
            return task.compressed && !task.partial;
          case Call::reduce:
            return !task.compressed && task.partial;
          case Call::decompress_reduce:
            return task.compressed && task.partial && !fused;
          case Call::decompress_reduce_compress:
            return fused;
          case Call::compress:
            return coded && !fused;
        }
        return false;
      });
    }
  }

  // Sends a chunk to the ranks of the task's hops, one after the other, but only for hops that satisfy `is`.
  void send(program::Queue& stream, std::int64_t turn, const std::function<bool(const Hop&)>& is) {
    for (std::size_t number = 0;; ++number) {
      const auto hop_of = [is, number](const Task& task) -> const Hop* {
        std::size_t at = 0;
        for (const Hop& hop : task.hops)
          if (is(hop) && at++ == number) return &hop;
        return nullptr;
      };
      if (!ranks(turn, [&](Rank, const Task& task) { return hop_of(task) != nullptr; })) return;
      const auto transfer = [plan = plan_, spec = shared_spec_, arrived = arrived_, turn, hop_of](Rank rank) {
        const Task task = plan.task(rank, turn);
        const Hop* const hop = hop_of(task);
        if (hop == nullptr) return program::Transfer{rank, Bytes{}, program::no_flag};
        const codec::Part part = part_of(*spec, plan, task.chunk);
        const auto arrival = static_cast<std::uint32_t>(plan.arrival(task.chunk, hop->partial));
        return program::Transfer{hop->to, hop->compressed ? codec::compressed(part) : Bytes{part.bytes},
                                 arrived.at(hop->to, arrival)};
      };
      const auto by_host = [this, hop_of](Rank rank, const Task& task) {
        return spec_.path == Path::host && rank / plan_.shape().gpus == hop_of(task)->to / plan_.shape().gpus;
      };
      if (const RankSet set =
              ranks(turn, [&](Rank rank, const Task& task) { return hop_of(task) != nullptr && !by_host(rank, task); }))
        stream.operations.emplace_back(program::Copy{name_ + ".send", transfer, {}, set});
      if (const RankSet set =
              ranks(turn, [&](Rank rank, const Task& task) { return hop_of(task) != nullptr && by_host(rank, task); }))
        send_by_host(stream, transfer, set);
    }
  }

  // Sends by a copy into the memory of the host and, enqueued at the same time, another out of it.
  void send_by_host(program::Queue& stream, const std::function<program::Transfer(Rank)>& transfer,
                    const RankSet& set) {
    const auto out = [transfer](Rank rank) {
      const program::Transfer whole = transfer(rank);
      return program::Transfer{.peer = rank, .bytes = whole.bytes, .way = program::Transfer::Way::to_host};
    };
    // The chunks that wait in the memory at the same time: one for each stream of each GPU that sends within the node.
    const bool ring = plan_.shape().collective != Collective::broadcast;
    const codec::Part chunk = part_of(spec_, plan_, 0);
    const Bytes waits = (spec_.codec ? codec::compressed(chunk) : Bytes{chunk.bytes}) *
                        static_cast<double>(spec_.streams * (plan_.shape().gpus - (ring ? 0 : 1)));
    const auto in = [transfer, waits](Rank rank) {
      program::Transfer whole = transfer(rank);
      whole.way = program::Transfer::Way::from_host;
      whole.host_footprint = waits;
      return whole;
    };
    stream.operations.emplace_back(program::Copy{name_ + ".to_host", out, {}, set});
    stream.operations.emplace_back(program::Copy{name_ + ".from_host", in, {}, set, true});
  }

  static bool receives(Rank, const Task& task) { return task.from != program::no_rank; }
  static bool hands_on(Rank, const Task& task) { return !task.hops.empty(); }
  static bool hands_on_compressed(const Task& task) {
    return std::any_of(task.hops.begin(), task.hops.end(), [](const Hop& hop) { return hop.compressed; });
  }
  static bool hands_on_plain(const Task& task) {
    return std::any_of(task.hops.begin(), task.hops.end(), [](const Hop& hop) { return !hop.compressed; });
  }

  // True if the task sends a partial sum to the next rank.
  static bool passes_partial(const Task& task) { return !task.hops.empty() && task.hops.front().partial; }
  // True if this rank produces the data of the chunk (its own data, or the sum that it completes) and sends the chunk
  // compressed.
  static bool begins(Rank rank, const Task& task) {
    return (!receives(rank, task) || task.partial) && hands_on_compressed(task) && !passes_partial(task);
  }

  // For compression off or every_hop: in one stream, a rank waits for a chunk, calls the codec and sends the chunk.
  void hop(program::Queue& stream, std::int64_t turn) {
    wait(stream, turn, arrived_, "arrives", receives);
    calls(stream, turn, [](Rank, const Task&) { return true; });
    send(stream, turn, [](const Hop&) { return true; });
  }

  // For compression root: compresses and sends the partial sums of a reduction, and compresses the chunks that this
  // rank produces (its own data, or the sum that it completes). The flag `coded` then releases the sends of these
  // chunks.
  void encode(program::Queue& stream, std::int64_t turn) {
    const auto is = [](Rank rank, const Task& task) { return begins(rank, task) || passes_partial(task); };
    wait(stream, turn, arrived_, "arrives",
         [is](Rank rank, const Task& task) { return is(rank, task) && receives(rank, task); });
    calls(stream, turn, is);
    send(stream, turn, [](const Hop& hop) { return hop.partial; });
    if (const RankSet set = ranks(turn, begins))
      stream.operations.emplace_back(program::Signal{name_ + ".coded", flag(coded_, turn), set});
  }

  void send_compressed(program::Queue& stream, std::int64_t turn) {
    wait(stream, turn, coded_, "codes", begins);
    wait(stream, turn, arrived_, "arrives", [](Rank rank, const Task& task) {
      return receives(rank, task) && !task.partial && hands_on_compressed(task);
    });
    send(stream, turn, [](const Hop& hop) { return hop.compressed && !hop.partial; });
  }

  void decode(program::Queue& stream, std::int64_t turn) {
    // The rank that completes a sum also decompresses the compressed sum, so that all ranks hold the same values.
    const auto made = [](Rank rank, const Task& task) { return task.partial && begins(rank, task); };
    const auto is = [](Rank, const Task& task) { return task.compressed && !task.partial; };
    wait(stream, turn, coded_, "codes", made);
    wait(stream, turn, arrived_, "arrives", is);
    call(stream, turn, Call::decompress,
         [&](Rank rank, const Task& task) { return made(rank, task) || is(rank, task); });
    if (!spec_.between_nodes) return;
    if (const RankSet set = ranks(turn, [](Rank, const Task& task) { return task.compressed && hands_on_plain(task); }))
      stream.operations.emplace_back(program::Signal{name_ + ".plain", flag(plain_, turn), set});
  }

  // Within a node chunks are plain. The rank that decompressed a chunk forwards it plain, and so do the ranks that
  // receive the plain chunk.
  void hand_on(program::Queue& stream, std::int64_t turn) {
    wait(stream, turn, plain_, "is_plain",
         [](Rank, const Task& task) { return task.compressed && hands_on_plain(task); });
    wait(stream, turn, arrived_, "arrives",
         [](Rank rank, const Task& task) { return receives(rank, task) && !task.compressed; });
    send(stream, turn, [](const Hop& hop) { return !hop.compressed; });
  }

  builder::Builder& build_;
  const ChunkedSpec& spec_;
  std::shared_ptr<const ChunkedSpec> shared_spec_ = std::make_shared<const ChunkedSpec>(spec_);  // for callbacks
  Plan plan_;
  std::string name_;
  program::FlagBlock arrived_, coded_, plain_;
  std::vector<program::Queue*> streams_;
  std::map<std::vector<bool>, RankSet> sets_;
};

}  // namespace

void append(builder::Builder& build, const ChunkedSpec& spec, const Plan& plan, const std::string& name) {
  if (!spec.chunks && build.notes != nullptr) {
    const std::int64_t chunks = plan.shape().chunks;
    const bool shares = plan.shape().collective != Collective::broadcast;
    build.notes->push_back(
        fmt::format("{} of {:.0f} B: {} chunk{}{}, for which the closed form predicts the shortest time, {:.4g} us",
                    name, spec.bytes.value, chunks, chunks == 1 ? "" : "s", shares ? " a share" : "",
                    closed_form(spec, plan.shape(), build.system) * 1e6));
  }
  Maker(build, spec, plan, name).append();
}

}  // namespace moire::chunked
