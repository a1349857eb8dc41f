// Makes random valid programs of the language for collectives (mscclang). Checks that the thread blocks into which a
// program is compiled compute the same as the operations of the program one after the other, however the compiler
// replicates the program.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "models/algorithms/mscclang/compile.hpp"
#include "tests/support/interpret_algorithm.hpp"

namespace moire::mscclang::testing {

class RandomProgram {
 public:
  // `random` returns a number below its argument.
  explicit RandomProgram(std::function<std::uint32_t(std::uint32_t)> random) : random_(std::move(random)) {
    Options options{.name = "random", .collective = ir::Collective::custom, .ranks = pick(2, 5), .in_place = false};
    options.instances = pick(1, 3);
    options.replication = pick(0, 1) == 0 ? Replication::interleaved : Replication::blocked;
    options.fuse = pick(0, 4) != 0;
    options.gather_waits = pick(0, 1) == 0;
    std::vector<InitialBuffers> initial;
    for (std::int32_t r = 0; r < options.ranks; ++r) {
      initial.push_back({std::vector<bool>(static_cast<std::size_t>(pick(3, 6)), true),
                         std::vector<bool>(static_cast<std::size_t>(pick(3, 6)), false)});
    }
    program_.emplace(options, initial);
    scratch_ = program_->scratch("a");
    one_channel_ = pick(0, 2) == 0;
    const std::int32_t operations = pick(5, 60);
    for (std::int32_t i = 0; i < operations; ++i) {
      if (pick(0, 9) == 0) {
        const auto parallel = program_->parallelize(pick(2, 3));
        add();
      } else {
        add();
      }
    }
  }

  Program& program() { return *program_; }

 private:
  std::int32_t pick(std::int32_t low, std::int32_t high) {
    return low + static_cast<std::int32_t>(random_(static_cast<std::uint32_t>(high - low + 1)));
  }

  std::optional<Chunk> any(std::int32_t count) {
    const std::int32_t rank = pick(0, program_->options().ranks - 1);
    const Buffer buffer{pick(0, 2)};
    const std::int32_t index = pick(0, 5);
    for (std::int32_t i = 0; i < count; ++i) {
      if (!program_->is_set(rank, buffer, index + i)) return std::nullopt;
    }
    return program_->chunk(rank, buffer, index, count);
  }

  void add() {
    const std::int32_t count = pick(1, 3);
    const auto from = any(count);
    if (!from) return;
    const Placement placement{.channel = one_channel_ ? 0 : pick(0, 4) == 0 ? pick(0, 2) : -1};
    try {
      if (pick(0, 1) == 0) {
        // Adds a chain of operations, which the compiler can fuse.
        Chunk chunk = *from;
        for (std::int32_t hops = pick(1, 4); hops > 0; --hops) {
          const std::int32_t to = pick(0, program_->options().ranks - 1);
          const Buffer buffer{pick(0, 2)};
          const std::int32_t index = pick(0, 5);
          bool reducible = pick(0, 1) == 0;
          const std::int32_t codes = pick(0, 9);
          if (codes == 0) chunk = chunk.encode(buffer, index, placement);
          if (codes == 1) chunk = chunk.decode(buffer, index, placement);
          if (codes < 2) continue;
          for (std::int32_t i = 0; i < count; ++i) reducible = reducible && program_->is_set(to, buffer, index + i);
          chunk = reducible ? program_->chunk(to, buffer, index, count).reduce(chunk, placement)
                            : chunk.copy(to, buffer, index, placement);
        }
      } else if (const auto into = any(count)) {
        into->reduce(*from, placement);
      }
    } catch (const ProgramError&) {  // an operation outside a buffer or onto its own source is left out
    }
  }

  std::function<std::uint32_t(std::uint32_t)> random_;
  bool one_channel_ = false;  // all operations use channel 0
  std::optional<Program> program_;
  Buffer scratch_;
};

// How chunks of a program become chunks of the compiled algorithm. The algorithm has `copies` copies of the program's
// buffers, one after the other, and in each copy `factor` chunks for one chunk of the program.
struct Scale {
  std::int32_t factor = 1;
  std::int32_t copies = 1;
};
inline Scale scale_of(const Program& program, const msccl::Algorithm& algorithm) {
  Scale scale;
  if (program.options().replication == Replication::blocked) scale.copies = program.options().instances;
  scale.factor = algorithm.gpus[0].input_chunks / program.length(0, input) / scale.copies;
  return scale;
}

// Runs the algorithm and compares its results with those of the program. Returns the first difference or error; "" if
// there is none.
inline std::string compare(const Program& program, const msccl::Algorithm& algorithm) {
  const Scale scale = scale_of(program, algorithm);
  Interpreter run(algorithm);
  const auto place = [&](std::int32_t rank, Buffer buffer, std::int32_t index, std::int32_t copy, std::int32_t part) {
    return (copy * program.length(rank, buffer) + index) * scale.factor + part;
  };
  for (std::int32_t r = 0; r < program.options().ranks; ++r) {
    for (std::int32_t i = 0; i < program.length(r, input) * scale.factor * scale.copies; ++i) {
      run.set(static_cast<std::size_t>(r), 0, static_cast<std::size_t>(i), Values::fingerprint_of(r, i));
    }
  }
  if (std::string error = run.run(); !error.empty()) return error;
  for (std::int32_t r = 0; r < program.options().ranks; ++r) {
    for (const Buffer buffer : {input, output}) {
      for (std::int32_t i = 0; i < program.length(r, buffer); ++i) {
        const ValueId value = program.value({r, buffer, i});
        if (value == no_value) continue;
        for (std::int32_t copy = 0; copy < scale.copies; ++copy) {
          for (std::int32_t part = 0; part < scale.factor; ++part) {
            std::uint64_t expected = 0;
            for (const ValueId one : program.values().contributions(value)) {
              const auto [rank, index] = program.values().origin(one);
              expected += Values::fingerprint_of(rank, place(rank, input, index, copy, part));
            }
            const auto at = static_cast<std::size_t>(place(r, buffer, i, copy, part));
            if (run.value(static_cast<std::size_t>(r), static_cast<std::size_t>(buffer.id), at) != expected) {
              return fmt::format("rank {} buffer {} [{}] differs", r, buffer.id, i);
            }
          }
        }
      }
    }
  }
  return "";
}

}  // namespace moire::mscclang::testing
