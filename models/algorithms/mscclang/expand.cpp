// Replicates the program: every operation becomes `instances` times `parts` operations, each on a share of the data.
// Data that move in parts give the same result as data that move as a whole, so this is right for every program. A
// later pass (hazards.cpp) finds which parts must wait for which.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/algorithms/mscclang/instruction.hpp"
#include "sim/core/invariant.hpp"

namespace moire::mscclang {

namespace {

constexpr std::int64_t most_slots = 1 << 22;  // chunks of one buffer after replication
constexpr std::size_t most_instructions = 6'000'000;

struct Cutting {
  std::int32_t factor = 1;     // parts that each chunk is cut into
  std::int32_t copies = 1;     // instances with Replication::blocked
  std::int32_t instances = 1;  // instances with Replication::interleaved
  std::int32_t parts = 1;      // number of parts of the operation that has most
};

Cutting cutting(const Program& program) {
  Cutting made;
  std::int64_t common = 1;
  for (const Operation& operation : program.trace().operations) {
    common = std::lcm(common, static_cast<std::int64_t>(operation.parts));
    made.parts = std::max(made.parts, operation.parts);
    if (common > most_slots) {
      throw ProgramError(
          {fmt::format("the least common multiple of the parts of all parallelize() calls exceeds {}", most_slots),
           "use numbers of parts that divide each other"});
    }
  }
  const Options& options = program.options();
  if (options.replication == Replication::blocked) {
    made.copies = options.instances;
  } else {
    made.instances = options.instances;
  }
  made.factor = static_cast<std::int32_t>(common * made.instances);
  return made;
}

class Expansion {
 public:
  explicit Expansion(const Program& program) : program_(program), cut_(cutting(program)) {
    code_.program = &program;
    code_.replicas = cut_.copies * cut_.instances * cut_.parts;
    const auto& lengths = program.trace().lengths;
    code_.lengths = lengths;
    for (auto& buffers : code_.lengths) {
      for (std::int32_t& length : buffers) {
        const std::int64_t whole = static_cast<std::int64_t>(length) * cut_.factor * cut_.copies;
        if (whole > most_slots) {
          throw ProgramError(
              {fmt::format("after replication a buffer has {} chunks, but at most {} are possible", whole, most_slots),
               "use fewer instances, parts or chunks"});
        }
        length = static_cast<std::int32_t>(whole);
      }
      code_.chunks = std::max({code_.chunks, buffers[0], buffers[1]});
    }
    place_results();
    code_.by_rank.resize(code_.lengths.size());
  }

  Code run() {
    const auto& operations = program_.trace().operations;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      for (std::int32_t copy = 0; copy < cut_.copies; ++copy) add(operations[i], static_cast<std::int32_t>(i), copy);
    }
    return std::move(code_);
  }

 private:
  void place_results() {
    for (std::size_t r = 0; r < program_.trace().results.size(); ++r) {
      auto& placed = code_.results.emplace_back();
      for (const Range& range : program_.trace().results[r]) {
        for (std::int32_t copy = 0; copy < cut_.copies; ++copy) {
          const std::int32_t shift = shift_of({static_cast<std::int32_t>(r), range.buffer, 0}, copy);
          placed.push_back({range.buffer, shift + range.begin * cut_.factor, shift + range.end * cut_.factor});
        }
      }
    }
  }

  std::int32_t shift_of(const Place& place, std::int32_t copy) const {
    const auto& lengths = code_.lengths[static_cast<std::size_t>(place.rank)];
    const auto id = static_cast<std::size_t>(place.buffer.id);
    return id < lengths.size() ? lengths[id] / cut_.copies * copy : 0;
  }

  void add(const Operation& operation, std::int32_t number, std::int32_t copy) {
    const std::int32_t shares = cut_.instances * operation.parts;
    const std::int32_t size = operation.count * cut_.factor / shares;
    const Operand src{operation.src.buffer.id, shift_of(operation.src, copy) + operation.src.index * cut_.factor};
    const Operand dst{operation.dst.buffer.id, shift_of(operation.dst, copy) + operation.dst.index * cut_.factor};
    for (std::int32_t share = 0; share < shares; ++share) {
      const std::int32_t instance = share / operation.parts;
      const std::int32_t replica = (copy * cut_.instances + instance) * cut_.parts + share % operation.parts;
      // MSCCL's runtime limits the chunks of one step, so larger shares become several instructions.
      const auto most = static_cast<std::int32_t>(msccl::most_chunks);
      const std::int32_t pieces = (size + most - 1) / most;
      for (std::int32_t piece = 0; piece < pieces; ++piece) {
        const std::int32_t begin = size * piece / pieces;
        const std::int32_t end = size * (piece + 1) / pieces;
        const std::int32_t offset = share * size + begin;
        add(operation, number, replica, {src.buffer, src.index + offset}, {dst.buffer, dst.index + offset},
            end - begin);
      }
    }
  }

  void add(const Operation& operation, std::int32_t number, std::int32_t replica, Operand src, Operand dst,
           std::int32_t count) {
    const bool copies = operation.kind == Operation::Kind::copy;
    Instruction base;
    base.replica = replica;
    base.count = count;
    base.channel = operation.channel;
    base.operation = number;
    if (operation.local()) {
      constexpr ir::Op types[] = {ir::Op::copy, ir::Op::reduce, ir::Op::encode, ir::Op::decode};
      base.type = types[static_cast<std::size_t>(operation.kind)];
      base.rank = operation.src.rank;
      base.src = src;
      base.dst = dst;
      base.block = operation.send_block;
      add(base);
      return;
    }
    const auto transfer = static_cast<Id>(code_.transfers.size());
    Instruction send = base;
    send.type = ir::Op::send;
    send.rank = operation.src.rank;
    send.src = src;
    send.block = operation.send_block;
    send.out = transfer;
    Instruction recv = base;
    recv.type = copies ? ir::Op::recv : ir::Op::recv_reduce_copy;
    recv.rank = operation.dst.rank;
    if (!copies) recv.src = dst;
    recv.dst = dst;
    recv.block = operation.recv_block;
    recv.in = transfer;
    const Id sender = add(send);
    const Id receiver = add(recv);
    code_.transfers.push_back({sender, receiver, -1});
  }

  Id add(const Instruction& instruction) {
    if (code_.instructions.size() >= most_instructions) {
      throw ProgramError(
          {program_.options().name + ": there are too many instructions", "use fewer instances or chunks"});
    }
    const auto id = static_cast<Id>(code_.instructions.size());
    code_.instructions.push_back(instruction);
    code_.by_rank[static_cast<std::size_t>(instruction.rank)].push_back(id);
    return id;
  }

  const Program& program_;
  Cutting cut_;
  Code code_;
};

}  // namespace

Code expand(const Program& program) { return Expansion(program).run(); }

std::string Code::statement(Id id) const {
  const Trace& trace = program->trace();
  return trace.text(trace.operations[static_cast<std::size_t>(at(id).operation)]);
}

SlotRow::SlotRow(const Code& code, std::int32_t rank) {
  starts_.push_back(0);
  for (const std::int32_t length : code.lengths[static_cast<std::size_t>(rank)]) {
    starts_.push_back(starts_.back() + length);
  }
}

}  // namespace moire::mscclang
