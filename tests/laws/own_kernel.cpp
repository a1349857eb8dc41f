// Writes custom kernels in YAML, as a user may write them, with random steps of all kinds.
#include "tests/laws/own_kernel.hpp"

#include <fmt/format.h>

namespace moire::laws {

namespace {

// Formulas use the names `size` (bytes per rank) and `slower` (factor on times).
class Writer {
 public:
  Writer(Random& random, int workgroups, bool stores, bool puts)
      : random_(random), workgroups_(workgroups), stores_(stores), puts_(puts) {}

  // Returns a step on local memory; `bytes` is a formula.
  std::string local(const std::string& bytes) {
    const char* truth = either();
    switch (random_.below(7)) {
      case 0:
        return fmt::format("{{load: {{bytes: '{}', cache_miss: {}, pipelined: {}}}}}", bytes, random_.of({1., 0.3, 0.}),
                           truth);
      case 1:
        return fmt::format("{{store: {{bytes: '{}', posted: {}}}}}", bytes, truth);
      case 2:
        return fmt::format("{{math: {{flop: '100 * {}', {}}}}}", bytes,
                           random_.of<const char*>({"unit: vector", "unit: matrix, dtype: bf16"}));
      case 3:
        return fmt::format("{{reduce: {{bytes: '{}', sources: '{}', dtype: fp16}}}}", bytes, random_.of({1, 2, 5}));
      case 4:
        return fmt::format("{{work: {{amount: '{}', read: '2', write: '1', flop: '3', posted: {}}}}}", bytes, truth);
      case 5:
        return "{fence: {}}";
      default:
        return "{pause: {time: 700 ns, times: slower}}";
    }
  }

  std::string block() {
    const std::string share = "ceil(size / workgroups)", part = fmt::format("ceil(size / workgroups / {})", pieces);
    const std::uint64_t kind = random_.below(taken_ ? 4 : 5);
    const std::string& bytes = kind == 0 || kind == 4 ? part : share;
    const std::string first = local(bytes);
    if (kind == 2 || kind == 3) return first;
    const std::string second = local(bytes);
    if (kind == 1)
      return fmt::format("{{if: {{when: 'mod(workgroup, 2) == 0', do: [{}], else: [{}]}}}}", first, second);
    if (kind == 0)
      return fmt::format(
          "{{for: {{each: i{0}, from: workgroup, below: '{1} * workgroups', step: workgroups, do: [{2}, {3}]}}}}",
          loops_++, pieces, first, second);
    taken_ = true;  // a kernel has at most one step `take`
    return fmt::format("{{take: {{each: t, below: {}, do: [{}, {}]}}}}", pieces * workgroups_, first, second);
  }

  // Returns steps by which every rank sends data and waits for the data that it must receive.
  std::string exchange() {
    const char* truth = either();
    const std::string flag = fmt::format("f{}", flags_++);
    const std::string next = "to: 'mod(rank + 1, ranks)'",
                      last = fmt::format("last: {{counter: {}_all, of: workgroups}}", flag);
    const std::string share = "bytes: 'ceil(size / workgroups)'", part = "bytes: 'ceil(size / workgroups / ranks)'";
    const std::string every = fmt::format("{{wait: {{flag: {}, count: 'workgroups * (ranks - 1)'}}}}", flag);
    if (!stores_) {
      const std::string put = fmt::format("flag: {}, proxied: {}", flag, truth);
      const std::string far = fmt::format("to: 'mod(rank + {}, ranks)'", puts_ ? "gpus" : "1");
      switch (random_.below(3)) {
        case 0:
          return fmt::format("{{for_peers: {{each: p, do: [{{put: {{to: p, {}, {}, queue_pair: workgroup}}}}]}}}}, {}",
                             part, put, every);
        case 1:
          return fmt::format("{{put: {{{}, {}, {}}}}}, {{wait: {{flag: {}, count: workgroups}}}}", far, share, put,
                             flag);
        default:
          return fmt::format("{{put: {{{}, {}, {}, {}}}}}, {{wait: {{flag: {}, count: 1}}}}", far, share, put, last,
                             flag);
      }
    }
    switch (random_.below(5)) {
      case 0:
        return fmt::format(
            "{{for_peers: {{each: p, do: [{{store: {{to: p, {}}}}}]}}}}, {{fence: {{}}}}, "
            "{{for_peers: {{each: p, do: [{{signal: {{to: p, flag: {}}}}}]}}}}, {}",
            part, flag, every);
      case 1:
        return fmt::format(
            "{{store: {{{0}, {1}, posted: {2}}}}}, {{fence: {{}}}}, {{signal: {{{0}, flag: {3}, index: workgroup}}}}, "
            "{{wait: {{flag: {3}, index: workgroup, count: 1}}}}",
            next, share, truth, flag);
      case 2:
        return fmt::format("{{for_peers: {{each: p, do: [{{load: {{from: p, {}, pipelined: {}}}}}]}}}}", part, truth);
      case 3:
        return fmt::format("{{copy: {{{}, {}, flag: {}}}}}, {{wait: {{flag: {}, count: workgroups}}}}", next, share,
                           flag, flag);
      default:
        return fmt::format(
            "{{store: {{{0}, {1}}}}}, {{fence: {{}}}}, {{signal: {{{0}, flag: {2}, {3}}}}}, {{wait: {{flag: {2}, "
            "count: "
            "1}}}}",
            next, share, flag, last);
    }
  }

  std::string flags() const {
    std::string text;
    for (std::size_t i = 0; i < flags_; ++i)
      text += fmt::format("{}f{}: {}, f{}_all: 1", i ? ", " : "", i, workgroups_, i);
    return "{" + text + "}";
  }

 private:
  static constexpr int pieces = 3;  // number of pieces of a workgroup's share

  const char* either() { return random_.of<const char*>({"true", "false"}); }

  Random& random_;
  int workgroups_;
  bool stores_, puts_;
  bool taken_ = false;
  std::size_t loops_ = 0, flags_ = 0;
};

}  // namespace

void draw_own_kernel(Case& one, Random& random, Draw how) {
  const std::int64_t ranks = one.nodes * one.gpus;
  // The workgroups wait for each other, so they must be few enough to be resident at the same time.
  const int workgroups = ranks > 64 ? 1 : ranks > 8 ? random.of({1, 2, 7}) : random.of({1, 2, 7, 16, 64});
  Writer writer(random, workgroups, one.nodes == 1 && wired(one.system), one.nodes > 1);
  std::string steps;
  for (std::uint64_t i = 0, most = 1 + random.below(4); i < most; ++i) {
    const bool meets = ranks > 1 && random.one_in(2);
    steps += (i ? ", " : "") + (meets ? writer.exchange() : writer.block());
  }
  if (how == Draw::loose && random.one_in(3))
    steps +=
        random.of<const char*>({", {store: {bytes: 1, to: ranks}}", ", {load: {bytes: '0 - size'}}",
                                ", {wait: {flag: f0, count: '1000 * workgroups * ranks'}}", ", {math: {}}",
                                ", {put: {to: 0, bytes: 0, flag: f0}}", ", {for: {each: i, below: size, do: []}}"});
  auto& keys = one.work.keys;
  // All workgroups must be resident even on the GPU with the fewest CUs (48), so many workgroups have few threads.
  keys = {{"workgroups", std::to_string(workgroups)},
          {"threads", random.of<const char*>({"64", "256", workgroups > 48 ? "512" : "1024"})}};
  if (random.one_in(3)) keys.push_back({"in_flight", random.of<const char*>({"4 KiB", "64 KiB"})});
  if (random.one_in(3)) keys.push_back({"lds", "16 KiB"});
  if (random.one_in(3)) keys.push_back({"registers_per_thread", random.of<const char*>({"32", "64"})});
  if (how == Draw::loose && random.one_in(4)) keys.push_back({"cluster", "2"});
  keys.push_back({"flags", writer.flags()});
  keys.push_back({"steps", "[" + steps + "]"});
}

}  // namespace moire::laws
