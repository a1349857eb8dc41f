// Writes thread blocks in the form of MSCCL's runtime. Scratch buffers are laid out side by side. Waits become
// dependencies of steps; further waits of the same step become nops, which are steps that only wait.
#include <fmt/format.h>

#include <algorithm>

#include "models/algorithms/mscclang/instruction.hpp"

namespace moire::mscclang {

namespace {

using ir::Op;

constexpr std::size_t most_steps = 256;
constexpr std::int32_t most_channels = 32;

// Finds the waits of one rank that are needed, because neither the order within a thread block nor another wait implies
// them.
class NeededWaits {
 public:
  NeededWaits(const Code& code, const Waits& waits, const Assignment& assignment, const std::vector<std::int32_t>& turn)
      : code_(code), waits_(waits), assignment_(assignment), turn_(turn), index_(code.instructions.size()) {
    for (const auto& blocks : assignment.blocks) {
      for (const auto& block : blocks) {
        for (std::size_t s = 0; s < block.instructions.size(); ++s) {
          index_[static_cast<std::size_t>(block.instructions[s])] = static_cast<std::int32_t>(s);
        }
      }
    }
    known_at_.assign(code.instructions.size(), -1);
    early_.resize(code.instructions.size());
    needed_.resize(code.instructions.size());
  }

  // `order` has the rank's instructions in the order of the schedule.
  void walk(std::int32_t rank, const std::vector<Id>& order) {
    const auto& blocks = assignment_.blocks[static_cast<std::size_t>(rank)];
    if (code_.program->options().gather_waits) {
      for (const auto& block : blocks) gather(block.instructions);
    }
    known_.assign(1, std::vector<std::int32_t>(blocks.size(), -1));
    now_.assign(blocks.size(), 0);
    for (const Id id : order) reduce(id);
  }

  const std::vector<std::vector<Id>>& needed() const { return needed_; }

 private:
  std::size_t block_of(Id id) const {
    return static_cast<std::size_t>(assignment_.block_of[static_cast<std::size_t>(id)]);
  }
  std::int32_t turn(Id id) const { return turn_[static_cast<std::size_t>(id)]; }

  // True if the runtime can do both reductions in one pass. The runtime does so unless the second reduction has a wait
  // of its own.
  bool one_pass(Id a, Id b) const {
    const Instruction& first = code_.at(a);
    const Instruction& second = code_.at(b);
    const auto kind = [](const Operand& o) { return std::min(o.buffer, 2); };
    return first.type == Op::reduce && second.type == Op::reduce && first.dst == second.dst &&
           first.count == second.count && kind(first.src) == kind(second.src);
  }

  void gather(const std::vector<Id>& block) {
    Id first = nobody;
    for (std::size_t s = 0; s < block.size(); ++s) {
      const Id id = block[s];
      if (first == nobody || !one_pass(first, id)) {
        first = id;
        continue;
      }
      for (const Id before : waits_[static_cast<std::size_t>(id)]) {
        if (turn(before) < turn(first)) early_[static_cast<std::size_t>(first)].push_back(before);
      }
    }
  }

  void reduce(Id id) {
    const std::size_t own = block_of(id);
    std::vector<Id> open;
    using List = std::vector<Id>;
    for (const List* list :
         {&waits_[static_cast<std::size_t>(id)], static_cast<const List*>(&early_[static_cast<std::size_t>(id)])}) {
      for (const Id before : *list) {
        if (block_of(before) != own) open.push_back(before);
      }
    }
    std::sort(open.begin(), open.end(), [&](Id a, Id b) { return turn(a) > turn(b); });
    auto& needed = needed_[static_cast<std::size_t>(id)];
    std::vector<std::int32_t> known;
    for (const Id before : open) {
      const std::size_t other = block_of(before);
      const std::int32_t step = index_[static_cast<std::size_t>(before)];
      const auto& current = known.empty() ? known_[static_cast<std::size_t>(now_[own])] : known;
      if (current[other] >= step) continue;
      if (known.empty()) known = current;
      const auto& its = known_[static_cast<std::size_t>(known_at_[static_cast<std::size_t>(before)])];
      for (std::size_t b = 0; b < known.size(); ++b) known[b] = std::max(known[b], its[b]);
      known[other] = std::max(known[other], step);
      needed.push_back(before);
    }
    std::reverse(needed.begin(), needed.end());
    if (!known.empty()) {
      now_[own] = static_cast<std::int32_t>(known_.size());
      known_.push_back(std::move(known));
    }
    known_at_[static_cast<std::size_t>(id)] = now_[own];
  }

  const Code& code_;
  const Waits& waits_;
  const Assignment& assignment_;
  const std::vector<std::int32_t>& turn_;
  std::vector<std::int32_t> index_;     // by instruction: position in its block
  std::vector<std::int32_t> known_at_;  // by instruction: index into known_ of what its end conveys
  std::vector<std::vector<Id>> early_;  // waits of later reductions of the same pass
  std::vector<std::vector<Id>> needed_;
  std::vector<std::vector<std::int32_t>> known_;  // each entry has, by block, the last step known to be done
  std::vector<std::int32_t> now_;                 // by block: index into known_ of what the block knows now
};

class Emitter {
 public:
  Emitter(const Code& code, const Assignment& assignment, const std::vector<std::vector<Id>>& needed)
      : code_(code),
        assignment_(assignment),
        needed_(needed),
        step_(code.instructions.size()),
        flagged_(code.instructions.size()) {
    for (const auto& buffers : code.lengths) {
      auto& starts = scratch_.emplace_back();
      std::int32_t next = 0;
      for (std::size_t b = 2; b < buffers.size(); ++b) {
        starts.push_back(next);
        next += buffers[b];
      }
      scratch_chunks_.push_back(next);
    }
    number();
  }

  msccl::Algorithm run() const {
    const Options& options = code_.program->options();
    msccl::Algorithm made;
    made.name = options.name;
    made.collective = options.collective;
    made.protocol = options.protocol;
    made.chunks = code_.chunks;
    made.in_place = options.in_place;
    made.out_of_place = !options.in_place;
    made.min_bytes = options.min_bytes;
    made.max_bytes = options.max_bytes;
    for (std::size_t r = 0; r < assignment_.blocks.size(); ++r) {
      msccl::Gpu& gpu = made.gpus.emplace_back();
      gpu.input_chunks = code_.lengths[r][0];
      gpu.output_chunks = code_.lengths[r][1];
      gpu.scratch_chunks = scratch_chunks_[r];
      for (const auto& block : assignment_.blocks[r]) {
        made.channels = std::max(made.channels, block.channel + 1);
        gpu.blocks.push_back(emit(static_cast<std::int32_t>(r), block));
      }
    }
    if (made.channels > most_channels) {
      throw ProgramError({fmt::format("{}: the program needs {} channels, but the runtime has {}", options.name,
                                      made.channels, most_channels),
                          "use fewer instances or channels"});
    }
    return made;
  }

 private:
  void number() {
    for (std::size_t r = 0; r < assignment_.blocks.size(); ++r) {
      for (std::size_t b = 0; b < assignment_.blocks[r].size(); ++b) {
        std::size_t next = 0;
        const auto& block = assignment_.blocks[r][b];
        for (const Id id : block.instructions) {
          const auto& waits = needed_[static_cast<std::size_t>(id)];
          next += waits.empty() ? 0 : waits.size() - 1;
          step_[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(next++);
          for (const Id before : waits) flagged_[static_cast<std::size_t>(before)] = true;
        }
        if (next <= most_steps) continue;
        throw ProgramError(
            {fmt::format(
                 "{}: a thread block of rank {} (sends to {}, receives from {}) has {} steps, but the runtime takes {}",
                 code_.program->options().name, r, block.send, block.recv, next, most_steps),
             "use more channels or thread blocks, or fewer chunks"});
      }
    }
  }

  msccl::ThreadBlock emit(std::int32_t rank, const Assignment::Block& block) const {
    msccl::ThreadBlock made;
    made.send = block.send;
    made.recv = block.recv;
    made.channel = block.channel;
    for (const Id id : block.instructions) {
      const auto& waits = needed_[static_cast<std::size_t>(id)];
      for (std::size_t w = 0; w + 1 < waits.size(); ++w) {
        msccl::Step nop;
        nop.dst_buffer = ir::Buffer::output;
        nop.src_offset = nop.dst_offset = msccl::none;
        wait(nop, waits[w]);
        made.steps.push_back(nop);
      }
      msccl::Step step = emit(rank, code_.at(id));
      if (!waits.empty()) wait(step, waits.back());
      step.has_dependents = flagged_[static_cast<std::size_t>(id)];
      made.steps.push_back(step);
    }
    return made;
  }

  void wait(msccl::Step& step, Id before) const {
    step.depends_block = assignment_.block_of[static_cast<std::size_t>(before)];
    step.depends_step = step_[static_cast<std::size_t>(before)];
  }

  msccl::Step emit(std::int32_t rank, const Instruction& is) const {
    msccl::Step step;
    step.type = is.type;
    step.count = static_cast<std::uint16_t>(is.count);
    put(step.src_buffer, step.src_offset, rank, is.src);
    put(step.dst_buffer, step.dst_offset, rank, is.dst);
    // The file states the place at the other end of the connection for an operand that a step does not use. This helps
    // people who read the file.
    if (is.type == Op::recv || is.type == Op::recv_copy_send) {
      const Instruction& sender = code_.at(code_.transfer(is.in).sender);
      put(step.src_buffer, step.src_offset, sender.rank, sender.src.index >= 0 ? sender.src : sender.dst);
    }
    if (is.type == Op::send || is.type == Op::recv_reduce_send) {
      const Instruction& receiver = code_.at(code_.transfer(is.out).receiver);
      put(step.dst_buffer, step.dst_offset, receiver.rank, receiver.dst);
    }
    return step;
  }

  void put(ir::Buffer& buffer, std::int32_t& offset, std::int32_t rank, const Operand& operand) const {
    if (operand.index < 0) return;
    if (operand.buffer < 2) {
      buffer = operand.buffer == 0 ? ir::Buffer::input : ir::Buffer::output;
      offset = operand.index;
      return;
    }
    buffer = ir::Buffer::scratch;
    offset = scratch_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(operand.buffer - 2)] + operand.index;
  }

  const Code& code_;
  const Assignment& assignment_;
  const std::vector<std::vector<Id>>& needed_;
  std::vector<std::int32_t> step_;
  std::vector<bool> flagged_;
  std::vector<std::vector<std::int32_t>> scratch_;  // by rank and scratch buffer: its first chunk in the scratch
  std::vector<std::int32_t> scratch_chunks_;
};

}  // namespace

msccl::Algorithm emit(const Code& code, const Schedule& schedule, const Waits& waits, const Assignment& assignment) {
  std::vector<std::int32_t> turn(code.instructions.size());
  std::vector<std::vector<Id>> orders(code.by_rank.size());
  for (std::size_t i = 0; i < schedule.order.size(); ++i) {
    const Id id = schedule.order[i];
    turn[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(i);
    orders[static_cast<std::size_t>(code.at(id).rank)].push_back(id);
  }
  NeededWaits reduced(code, waits, assignment, turn);
  for (std::size_t r = 0; r < orders.size(); ++r) reduced.walk(static_cast<std::int32_t>(r), orders[r]);
  return Emitter(code, assignment, reduced.needed()).run();
}

}  // namespace moire::mscclang
