#include "models/algorithms/proof/conflicts.hpp"

#include "models/algorithms/proof/clock.hpp"

namespace moire::proof {

namespace {

// Keeps how many calls of the other blocks of its GPU each block knows to be over. Only dependencies convey this
// knowledge here.
class LocalOrder {
 public:
  LocalOrder(const Program& program, std::int32_t gpu)
      : program_(program), begin_(program.first[gpu]), blocks_(program.first[gpu + 1] - begin_), known_(blocks_) {
    first_step_.push_back(0);
    for (std::uint32_t b = 0; b < blocks_; ++b) first_step_.push_back(first_step_.back() + steps(b).size());
    waited_for_.assign(first_step_.back(), false);
    for (std::uint32_t b = 0; b < blocks_; ++b) {
      for (const Step& step : steps(b)) {
        if (step.waits_for != nobody) waited_for_[place(step)] = true;
      }
    }
    published_.resize(first_step_.back());
  }

  void begin(const Call& call) {
    const std::uint32_t b = call.block - begin_;
    const Step& step = steps(b)[call.step];
    if (call.first != 0 || step.waits_for == nobody || step.waits_for == call.block) return;
    known_[b].join(published_[place(step)]);
  }
  void end(const Call& call) {
    const std::uint32_t b = call.block - begin_;
    if (!call.last || !waited_for_[first_step_[b] + call.step]) return;
    Clock& learnt = published_[first_step_[b] + call.step];
    learnt = Clock(blocks_);
    learnt.join(known_[b]);
    learnt.set(b, call.number + 1);
  }
  // True if `block` knows that the call of `touch` is over.
  bool is_before(const Touch& touch, std::uint32_t block) const {
    if (touch.block == block) return true;
    return known_[block - begin_].of(touch.block - begin_) > touch.call;
  }

 private:
  const std::vector<Step>& steps(std::uint32_t b) const { return program_.blocks[begin_ + b].steps; }

  // Returns the index, among all steps of the GPU, of the step that `step` waits for.
  std::size_t place(const Step& step) const { return first_step_[step.waits_for - begin_] + step.waits_step; }

  const Program& program_;
  const std::uint32_t begin_;
  const std::uint32_t blocks_;
  std::vector<Clock> known_;  // by block: how many calls of each other block are known to be over
  std::vector<std::size_t> first_step_;
  std::vector<bool> waited_for_;
  std::vector<Clock> published_;
};

class Memory {
 public:
  Memory(std::uint32_t first, std::uint32_t cells, const LocalOrder& order, std::vector<Conflict>& conflicts)
      : first_(first), cells_(cells), order_(order), conflicts_(conflicts) {}

  void read(std::uint32_t cell, const Touch& touch) {
    Cell& at = cells_[cell - first_];
    compare(at.last_write, touch, cell);
    if (at.reads != nobody && reads_[at.reads].touch.block == touch.block) {
      reads_[at.reads].touch = touch;  // replaces the block's earlier read, which program order puts first
    } else {
      reads_.push_back({touch, at.reads});
      at.reads = static_cast<std::uint32_t>(reads_.size() - 1);
    }
  }
  void write(std::uint32_t cell, const Touch& touch) {
    Cell& at = cells_[cell - first_];
    compare(at.last_write, touch, cell);
    for (std::uint32_t i = at.reads; i != nobody; i = reads_[i].next) compare(reads_[i].touch, touch, cell);
    at = {touch, nobody};
  }

 private:
  struct Cell {
    Touch last_write;
    std::uint32_t reads = nobody;
  };
  struct Read {
    Touch touch;
    std::uint32_t next;
  };

  void compare(const Touch& first, const Touch& second, std::uint32_t cell) {
    if (first.block == nobody || order_.is_before(first, second.block)) return;
    conflicts_.push_back({first, second, cell});
  }

  const std::uint32_t first_;
  std::vector<Cell> cells_;
  std::vector<Read> reads_;
  const LocalOrder& order_;
  std::vector<Conflict>& conflicts_;
};

void touch_all(const Program& program, const Layout& layout, const Call& call, Memory& memory) {
  const Program::Block& block = program.blocks[call.block];
  const Step& step = block.steps[call.step];
  const ir::Effect does = effect(step.op);
  const Touch read{call.block, call.number, call.step, false};
  const Touch write{call.block, call.number, call.step, true};
  const auto cell = [&](ir::Buffer buffer, std::int32_t offset, std::uint32_t chunk) {
    return layout.cell(block.gpu, buffer, std::int64_t{offset} + chunk);
  };
  const std::uint32_t behind = call.first + call.count;
  for (std::uint32_t c = call.first; does.reads_src && c < behind; ++c)
    memory.read(cell(step.src_buffer, step.src_offset, c), read);
  for (std::uint32_t c = call.first; does.reads_dst && c < behind; ++c)
    memory.read(cell(step.dst_buffer, step.dst_offset, c), read);
  for (std::uint32_t c = call.first; does.writes_dst && c < behind; ++c)
    memory.write(cell(step.dst_buffer, step.dst_offset, c), write);
}

}  // namespace

std::vector<Conflict> find_conflicts(const Program& program, const Layout& layout,
                                     const std::vector<std::uint32_t>& order, std::uint32_t cells_per_call) {
  const std::int32_t gpus = program.ranks();
  // Sorts the calls by GPU and keeps the order of the calls of each GPU.
  std::vector<std::size_t> begin(static_cast<std::size_t>(gpus) + 1);
  for (const std::uint32_t b : order) ++begin[program.blocks[b].gpu + 1];
  for (std::int32_t g = 0; g < gpus; ++g) begin[g + 1] += begin[g];
  std::vector<std::uint32_t> on_gpus(order.size());
  std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
  for (const std::uint32_t b : order) on_gpus[next[program.blocks[b].gpu]++] = b;

  std::vector<Conflict> conflicts;
  Calls calls(program, cells_per_call);
  for (std::int32_t gpu = 0; gpu < gpus; ++gpu) {
    LocalOrder local(program, gpu);
    Memory memory(layout.first(gpu), layout.cells(gpu), local, conflicts);
    for (std::size_t i = begin[gpu]; i < begin[gpu + 1]; ++i) {
      const Call call = calls.next(on_gpus[i]);
      local.begin(call);
      touch_all(program, layout, call, memory);
      local.end(call);
    }
  }
  return conflicts;
}

}  // namespace moire::proof
