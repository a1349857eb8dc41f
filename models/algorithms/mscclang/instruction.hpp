// The data that the compiler's passes share: the instructions of all ranks in the order of the trace, and the transfers
// between instructions. Replication repeats every operation for each instance and part. Chunks are counted after
// replication, as MSCCL's runtime counts them.
#pragma once

#include <cstdint>
#include <vector>

#include "models/algorithms/mscclang/program.hpp"

namespace moire::mscclang {

using Id = std::int32_t;  // index of an instruction or a transfer
inline constexpr Id nobody = -1;

struct Operand {  // a position in a buffer of the instruction's rank
  std::int32_t buffer = -1;
  std::int32_t index = -1;
  bool operator==(const Operand&) const = default;
};

struct Instruction {
  ir::Op type = ir::Op::none;
  bool removed = false;  // true: fused into another instruction
  std::int32_t rank = 0;
  std::int32_t replica = 0;  // index of instance and part; each replica has its own channels and blocks
  Operand src;               // where it reads, if it reads
  Operand dst;               // where it writes, or reads and writes
  std::int32_t count = 0;
  Id in = nobody;  // the transfer that the instruction receives
  Id out = nobody;
  Id fused = nobody;          // the send that was fused into this receive
  std::int32_t block = -1;    // the thread block that the program names; -1: none
  std::int32_t channel = -1;  // the channel that the program names; -1: none
  std::int32_t operation = 0;
};

struct Transfer {
  Id sender = nobody;
  Id receiver = nobody;
  std::int32_t channel = -1;  // number of the channel among those of the replica
};

struct Code {
  const Program* program = nullptr;
  std::vector<Instruction> instructions;
  std::vector<Transfer> transfers;
  std::vector<std::vector<Id>> by_rank;            // in the order of the trace
  std::vector<std::vector<std::int32_t>> lengths;  // number of chunks, by rank and buffer
  std::vector<std::vector<Range>> results;         // by rank
  std::int32_t replicas = 1;
  std::int32_t chunks = 1;  // number of chunks of the largest input or output

  Instruction& at(Id id) { return instructions[static_cast<std::size_t>(id)]; }
  const Instruction& at(Id id) const { return instructions[static_cast<std::size_t>(id)]; }
  Transfer& transfer(Id id) { return transfers[static_cast<std::size_t>(id)]; }
  const Transfer& transfer(Id id) const { return transfers[static_cast<std::size_t>(id)]; }

  std::int32_t to(const Instruction& i) const { return i.out < 0 ? msccl::none : at(transfer(i.out).receiver).rank; }
  std::int32_t from(const Instruction& i) const { return i.in < 0 ? msccl::none : at(transfer(i.in).sender).rank; }
  // Returns the channel that the program names for a transfer; -1: none.
  std::int32_t wish(Id of) const { return at(transfer(of).receiver).channel; }
  std::string statement(Id id) const;
};

// Numbers the slots (chunks of all buffers) of a rank.
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

// Fuses receives and sends of the same chunks into one instruction. An instruction still waits only for instructions
// that come earlier in the trace.
void fuse(Code& code);
void part(Code& code, Id fused);  // undoes one fusion

// Both functions give each transfer a channel, the first for Blocks::automatic, the second for Blocks::manual.
void connect_automatic(Code& code);
void connect_manual(Code& code);

// Waits has for each instruction the instructions of its rank that must finish first. hazards() returns them: the
// instructions that wrote what the instruction reads, and those that read or wrote what it overwrites.
using Waits = std::vector<std::vector<Id>>;
Waits hazards(const Code& code);

struct Schedule {
  std::vector<Id> order;            // of all ranks; each instruction comes after those that it waits for
  std::vector<std::int32_t> depth;  // by instruction: length of the longest chain of waits before it
};
// Returns nothing if the search finds no order in which every connection's receives follow the order of its sends.
// Without fusion, such an order always exists.
std::optional<Schedule> schedule(const Code& code, const Waits& waits);

// The thread block of each instruction, by rank.
struct Assignment {
  struct Block {
    std::int32_t send = msccl::none;
    std::int32_t recv = msccl::none;
    std::int32_t channel = 0;
    std::vector<Id> instructions;
  };
  std::vector<std::vector<Block>> blocks;  // by rank
  std::vector<std::int32_t> block_of;      // by instruction
};
Assignment assign(const Code& code, const Schedule& schedule);

msccl::Algorithm emit(const Code& code, const Schedule& schedule, const Waits& waits, const Assignment& assignment);

}  // namespace moire::mscclang
