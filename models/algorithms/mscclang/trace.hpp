// The operations that a program recorded, and the values of its chunks.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "models/algorithms/msccl/algorithm.hpp"

namespace moire::mscclang {

// A buffer of a program, which every rank has. The id 0 is the input, 1 is the output; ids from 2 are scratch buffers.
struct Buffer {
  std::int32_t id = 0;
  bool is_scratch() const { return id >= 2; }
  bool operator==(const Buffer&) const = default;
};
inline constexpr Buffer input{0};
inline constexpr Buffer output{1};

struct Place {
  std::int32_t rank = 0;
  Buffer buffer;
  std::int32_t index = 0;
  bool operator==(const Place&) const = default;
};

// A line of the user's program.
struct Where {
  std::string file;
  std::uint32_t line = 0;
};

struct Operation {
  enum class Kind : std::uint8_t { copy, reduce, encode, decode };
  Kind kind = Kind::copy;
  Place src;
  Place dst;
  std::int32_t count = 1;
  std::int32_t send_block = -1;
  std::int32_t recv_block = -1;
  std::int32_t channel = -1;
  std::int32_t parts = 1;
  std::int32_t file = 0;
  std::uint32_t line = 0;

  bool local() const { return src.rank == dst.rank; }
};

struct Range {
  Buffer buffer;
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

struct Trace {
  std::vector<Operation> operations;  // their places are canonical: see Program::canonical
  std::vector<std::string> files;
  std::vector<std::string> scratch_names;  // of the buffers with ids 2, 3, ...
  // By rank, then buffer: number of chunks. 0 for an input or output that lies inside the other buffer.
  std::vector<std::vector<std::int32_t>> lengths;
  // By rank: the chunks whose values must be kept to the end. Values of other chunks may be lost.
  std::vector<std::vector<Range>> results;

  std::string text(const Place& place, std::int32_t count) const;
  std::string text(const Operation& operation) const;  // "ring.py:12: copy of rank 0 input[1] to rank 1 input[1]"
};

// The value of a chunk: the contribution of one rank (an input chunk) or a sum of contributions. Each contribution has
// a 64-bit hash, and a value's fingerprint is the sum of the hashes of its contributions. Values with equal
// fingerprints are treated as equal.
using ValueId = std::int32_t;
inline constexpr ValueId no_value = -1;

class Values {
 public:
  ValueId contribution(std::int32_t rank, std::int32_t index);
  ValueId sum(ValueId a, ValueId b);
  std::uint64_t fingerprint(ValueId value) const { return all_[static_cast<std::size_t>(value)].fingerprint; }
  bool is_sum(ValueId value) const { return all_[static_cast<std::size_t>(value)].right >= 0; }
  std::vector<ValueId> contributions(ValueId value) const;  // a contribution that was added twice occurs twice
  // Returns the rank of a contribution and the index of the chunk in that rank's buffer.
  std::pair<std::int32_t, std::int32_t> origin(ValueId value) const {
    const Value& is = all_[static_cast<std::size_t>(value)];
    return {is.left, is.index};
  }
  std::string text(ValueId value) const;  // such as "rank 0 [3] + rank 1 [3]"
  std::size_t size() const { return all_.size(); }

  static std::uint64_t fingerprint_of(std::int32_t rank, std::int32_t index);

 private:
  struct Value {
    std::uint64_t fingerprint = 0;
    std::int32_t left = 0;    // rank of a contribution, or first operand
    std::int32_t right = -1;  // second operand; -1: this is a contribution
    std::int32_t index = 0;   // of a contribution
  };
  std::vector<Value> all_;
};

// States for each chunk of a rank's input and output whether it holds data at the start. The lengths of the two vectors
// are the lengths of the buffers.
struct InitialBuffers {
  std::vector<bool> input;
  std::vector<bool> output;
};

}  // namespace moire::mscclang
