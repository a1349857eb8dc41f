#include "plan.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

namespace {

const std::vector<std::string> kTypes = {"s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop"};
const std::vector<std::string> kBuffers = {"i", "o", "s"};
constexpr int kMostChunks = 71;  // most chunks of a step and of a call

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(path) {
    if (!file_) {
      std::perror(path.c_str());
      std::exit(2);
    }
  }
  std::vector<Plan> read() {
    std::string line;
    while (std::getline(file_, line)) {
      ++number_;
      if (line.empty() || line[0] == '#') continue;
      cells_ = std::istringstream(line);
      const std::string kind = word();
      if (kind == "algo") {
        finish();
        algo();
      } else if (plans_.empty()) {
        fail("'" + kind + "' before the first algo");
        break;
      } else if (kind == "gpu") {
        gpu();
      } else if (kind == "tb" && !plans_.back().gpus.empty()) {
        block();
      } else if (kind == "step" && !plans_.back().gpus.empty() && !plans_.back().gpus.back().blocks.empty()) {
        step();
      } else {
        fail("'" + kind + "' out of place");
      }
      if (!good_) break;
    }
    finish();
    if (good_ && plans_.empty()) fail("no algorithm");
    if (!good_) std::exit(2);
    return plans_;
  }

 private:
  void fail(const std::string& what) {
    std::fprintf(stderr, "%s:%d: %s\n", path_.c_str(), number_, what.c_str());
    good_ = false;
  }
  std::string word() {
    std::string text;
    if (!(cells_ >> text)) fail("too few cells");
    return text;
  }
  int number(int least, int most) {
    const std::string text = word();
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || value < least || value > most) {
      fail("'" + text + "'; a number from " + std::to_string(least) + " to " + std::to_string(most) +
           " would be right");
      return least;
    }
    return int(value);
  }
  int one_of(const std::vector<std::string>& words) {
    const std::string text = word();
    const auto found = std::find(words.begin(), words.end(), text);
    if (found != words.end()) return int(found - words.begin());
    fail("'" + text + "' is not known here");
    return 0;
  }

  void algo() {
    Plan p;
    p.file = word();
    p.coll = Coll(one_of(kCollNames));
    p.ll = one_of({"Simple", "LL"}) == 1;
    ranks_ = number(1, 8);
    p.channels = number(1, 64);
    p.chunks = number(1, 1 << 16);
    const bool in_place = number(0, 1) == 1, out_of_place = number(0, 1) == 1;
    p.in_place = in_place || !out_of_place;
    const bool parts = p.coll == Coll::all_gather || p.coll == Coll::all_to_all || p.coll == Coll::reduce_scatter;
    if (parts && p.chunks % ranks_ != 0) fail("nchunksperloop is no multiple of ngpus");
    plans_.push_back(p);
  }
  void gpu() {
    PlanGpu g;
    if (number(0, 7) != plans_.back().ranks()) fail("GPUs are not in order");
    for (int& chunks : g.chunks) chunks = number(0, 1 << 16);
    plans_.back().gpus.push_back(g);
  }
  void block() {
    PlanGpu& g = plans_.back().gpus.back();
    ThreadBlock b;
    if (number(0, 1023) != int(g.blocks.size())) fail("thread blocks are not in order");
    b.send = number(-1, ranks_ - 1);
    b.recv = number(-1, ranks_ - 1);
    b.channel = number(0, plans_.back().channels - 1);
    if (b.send == plans_.back().ranks() - 1 || b.recv == plans_.back().ranks() - 1) fail("a connection to itself");
    g.blocks.push_back(b);
  }
  void step() {
    ThreadBlock& b = plans_.back().gpus.back().blocks.back();
    Step s;
    s.type = StepType(one_of(kTypes));
    s.src_buffer = one_of(kBuffers);
    s.src = number(-1, 1 << 16);
    s.dst_buffer = one_of(kBuffers);
    s.dst = number(-1, 1 << 16);
    s.count = number(0, kMostChunks);
    s.depends_block = number(-1, 1023);
    s.depends_step = number(-1, kMostSteps);
    s.has_dependents = number(0, 1) == 1;
    if (s.type == StepType::nop)
      s.count = 0;
    else if (s.count == 0)
      fail("a step of no chunk");
    if (sends(s.type) && b.send < 0) fail("it sends, and its thread block does not");
    if (receives(s.type) && b.recv < 0) fail("it receives, and its thread block does not");
    if ((reads_source(s.type) && s.src < 0) || (writes_target(s.type) && s.dst < 0)) fail("no place");
    b.steps.push_back(s);
    if (int(b.steps.size()) > kMostSteps) fail("more than " + std::to_string(kMostSteps) + " steps");
  }
  // Checks of the last plan what can only be checked when all of its lines have been read.
  void finish() {
    if (plans_.empty() || !good_) return;
    const Plan& p = plans_.back();
    if (p.ranks() != ranks_) return fail(p.file + ": not as many GPUs as ngpus");
    using Connection = std::tuple<int, int, int>;
    std::set<Connection> outgoing, incoming;
    for (int r = 0; r < ranks_; ++r) {
      for (const ThreadBlock& b : p.gpus[size_t(r)].blocks) {
        if (b.send >= 0 && !outgoing.emplace(r, b.send, b.channel).second)
          fail(p.file + ": two senders of a connection");
        if (b.recv >= 0 && !incoming.emplace(b.recv, r, b.channel).second)
          fail(p.file + ": two receivers of a connection");
        for (const Step& s : b.steps) {
          const auto inside = [&](int buffer, int at) {
            return at >= 0 && at + s.count <= buffer_chunks(p, r, buffer);
          };
          if (reads_source(s.type) && !inside(s.src_buffer, s.src)) fail(p.file + ": a source outside its buffer");
          if (writes_target(s.type) && !inside(s.dst_buffer, s.dst)) fail(p.file + ": a target outside its buffer");
          if (s.depends_block >= int(p.gpus[size_t(r)].blocks.size())) fail(p.file + ": it waits for no thread block");
        }
      }
    }
    if (outgoing != incoming) fail(p.file + ": a connection with one end");
  }
  static int64_t buffer_chunks(const Plan& p, int rank, int buffer) {
    const PlanGpu& g = p.gpus[size_t(rank)];
    if (buffer == 2) return g.chunks[2];
    return std::max<int64_t>(g.chunks[buffer], buffer == 0 ? p.input_chunks(rank) : p.output_chunks(rank));
  }

  std::string path_;
  std::ifstream file_;
  std::istringstream cells_;
  int number_ = 0, ranks_ = 0;
  bool good_ = true;
  std::vector<Plan> plans_;
};

}  // namespace

std::vector<Plan> read_plans(const std::string& path) { return Reader(path).read(); }

int Plan::most_blocks() const {
  size_t most = 0;
  for (const PlanGpu& g : gpus) most = std::max(most, g.blocks.size());
  return int(most);
}

Plan::Place Plan::place(int rank, int buffer) const {
  if (!in_place || buffer == 2) return {buffer, 0};
  const int64_t part = rank * per_rank();
  if (coll == Coll::all_gather) return {1, buffer == 0 ? part : 0};
  if (coll == Coll::reduce_scatter) return {0, buffer == 1 ? part : 0};
  return {0, 0};
}

int64_t Plan::input_chunks(int rank) const {
  if (coll == Coll::custom) return std::max(gpus[size_t(rank)].chunks[0], in_place ? gpus[size_t(rank)].chunks[1] : 0);
  return coll == Coll::all_gather ? per_rank() : chunks;
}

int64_t Plan::output_chunks(int rank) const {
  if (coll == Coll::custom) return std::max(gpus[size_t(rank)].chunks[1], in_place ? gpus[size_t(rank)].chunks[0] : 0);
  return coll == Coll::reduce_scatter ? per_rank() : chunks;
}

GpuProgram compile(const PlanGpu& gpu) {
  GpuProgram program;
  for (const ThreadBlock& block : gpu.blocks) {
    BlockRange range;
    range.op = int32_t(program.ops.size());
    range.wait = int32_t(program.waits.size());
    range.source = int32_t(program.sources.size());
    std::vector<Wait> pending;
    const std::vector<Step>& steps = block.steps;
    for (size_t k = 0; k < steps.size(); ++k) {
      const Step& s = steps[k];
      if (s.depends_block >= 0) pending.push_back({s.depends_block, s.depends_step});
      if (s.type == StepType::nop && !s.has_dependents && k + 1 < steps.size()) continue;
      Op op;
      op.type = s.type;
      op.src_buffer = uint8_t(s.src_buffer);
      op.dst_buffer = uint8_t(s.dst_buffer);
      op.src = s.src;
      op.dst = s.dst;
      op.count = s.count;
      op.first_wait = uint16_t(int32_t(program.waits.size()) - range.wait);
      op.waits = uint16_t(pending.size());
      program.waits.insert(program.waits.end(), pending.begin(), pending.end());
      pending.clear();
      op.first_source = uint16_t(int32_t(program.sources.size()) - range.source);
      if (s.type == StepType::reduce) {
        program.sources.push_back(s.src);
        op.sources = 1;
        while (!steps[k].has_dependents && k + 1 < steps.size() && op.sources < kMostSources) {
          const Step& next = steps[k + 1];
          if (next.type != StepType::reduce || next.depends_block >= 0 || next.dst_buffer != s.dst_buffer ||
              next.dst != s.dst || next.src_buffer != s.src_buffer || next.count != s.count)
            break;
          program.sources.push_back(next.src);
          ++op.sources;
          ++k;
        }
      }
      op.publishes = steps[k].has_dependents ? 1 : 0;
      op.step = uint16_t(k);
      program.ops.push_back(op);
    }
    range.ops = int32_t(program.ops.size()) - range.op;
    range.waits = int32_t(program.waits.size()) - range.wait;
    range.sources = int32_t(program.sources.size()) - range.source;
    program.blocks.push_back(range);
  }
  return program;
}

std::string cut_of(const Plan& plan, int64_t bytes, Cut& cut) {
  if (bytes < 1 || bytes % (int64_t{16} * plan.chunks) != 0)
    return "whole chunks of a multiple of 16 bytes would be right: nchunksperloop is " + std::to_string(plan.chunks);
  cut.chunk_bytes = bytes / plan.chunks;
  cut.call_bytes = plan.ll ? kLlCallBytes : kSimpleCallBytes;
  cut.iterations = (cut.chunk_bytes + cut.call_bytes - 1) / cut.call_bytes;
  cut.chunks_per_call = int32_t(std::min<int64_t>(std::max<int64_t>(cut.call_bytes / cut.chunk_bytes, 1), kMostChunks));
  return "";
}
