// What the passes of the compiler work on: instructions of all ranks in the order of the trace, and the transfers
// between them. Chunks are counted as the runtime counts them, after replication.
#pragma once

#include <cstdint>
#include <vector>

#include "models/algorithms/mscclang/program.hpp"

namespace moire::mscclang {

using Id = std::int32_t;  // of an instruction or a transfer, by its position
inline constexpr Id nobody = -1;

struct Operand {  // of this rank
  std::int32_t buffer = -1;
  std::int32_t index = -1;
  bool operator==(const Operand&) const = default;
};

struct Instruction {
  ir::Op type = ir::Op::none;
  bool removed = false;  // lives on in the instruction it was fused into
  std::int32_t rank = 0;
  std::int32_t replica = 0;  // instance and part; each has channels and thread blocks of its own
  Operand src;               // where it reads, if it does
  Operand dst;               // where it writes, or reads and writes
  std::int32_t count = 0;
  Id in = nobody;  // transfers
  Id out = nobody;
  Id fused = nobody;        // the removed send
  std::int32_t block = -1;  // as the program says
  std::int32_t channel = -1;
  std::int32_t operation = 0;
};

struct Transfer {
  Id sender = nobody;
  Id receiver = nobody;
  std::int32_t channel = -1;  // of its replica
};

struct Code {
  const Program* program = nullptr;
  std::vector<Instruction> instructions;
  std::vector<Transfer> transfers;
  std::vector<std::vector<Id>> by_rank;            // in the order of the trace
  std::vector<std::vector<std::int32_t>> lengths;  // rank, buffer
  std::vector<std::vector<Range>> results;         // rank
  std::int32_t replicas = 1;
  std::int32_t chunks = 1;  // that the whole buffer is cut into

  Instruction& at(Id id) { return instructions[static_cast<std::size_t>(id)]; }
  const Instruction& at(Id id) const { return instructions[static_cast<std::size_t>(id)]; }
  Transfer& transfer(Id id) { return transfers[static_cast<std::size_t>(id)]; }
  const Transfer& transfer(Id id) const { return transfers[static_cast<std::size_t>(id)]; }

  std::int32_t to(const Instruction& i) const { return i.out < 0 ? msccl::none : at(transfer(i.out).receiver).rank; }
  std::int32_t from(const Instruction& i) const { return i.in < 0 ? msccl::none : at(transfer(i.in).sender).rank; }
  // As the program says, of any transfer that goes on as this one.
  std::int32_t wish(Id of) const { return at(transfer(of).receiver).channel; }
  std::string statement(Id id) const;
};

// All slots of a rank in one row.
class SlotRow {
 public:
  SlotRow(const Code& code, std::int32_t rank);
  std::size_t size() const { return static_cast<std::size_t>(starts_.back()); }
  std::size_t of(const Operand& operand) const {
    return static_cast<std::size_t>(starts_[static_cast<std::size_t>(operand.buffer)] + operand.index);
  }

 private:
  std::vector<std::int32_t> starts_;
};

Code expand(const Program& program);

// Receive and send of the same chunks become one instruction. In trace order everything still goes forward.
void fuse(Code& code);
void part(Code& code, Id fused);  // takes one such pair apart again

// A channel for each transfer.
void connect_automatic(Code& code);
void connect_manual(Code& code);

// For each instruction, those of its rank that must be done before: what wrote what it reads, what read or wrote
// what it overwrites.
using Waits = std::vector<std::vector<Id>>;
Waits hazards(const Code& code);

struct Schedule {
  std::vector<Id> order;            // of all ranks: everything that waits stands behind what it waits for
  std::vector<std::int32_t> depth;  // instruction: longest way from the beginning
};
// Nothing where no order serves every connection's FIFO; with nothing fused there always is one.
std::optional<Schedule> schedule(const Code& code, const Waits& waits);

// Thread block of each instruction, by rank.
struct Assignment {
  struct Block {
    std::int32_t send = msccl::none;
    std::int32_t recv = msccl::none;
    std::int32_t channel = 0;
    std::vector<Id> instructions;
  };
  std::vector<std::vector<Block>> blocks;  // rank
  std::vector<std::int32_t> block_of;      // instruction
};
Assignment assign(const Code& code, const Schedule& schedule);

msccl::Algorithm emit(const Code& code, const Schedule& schedule, const Waits& waits, const Assignment& assignment);

}  // namespace moire::mscclang
