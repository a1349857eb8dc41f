// Runs the prover's interpreter of MSCCL algorithms on numbers that a test chooses. Tests use it for custom
// collectives, whose result no definition states.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "models/algorithms/msccl/lower.hpp"
#include "models/algorithms/msccl/rules.hpp"
#include "models/algorithms/proof/execution.hpp"
#include "models/algorithms/proof/races.hpp"

namespace moire::mscclang::testing {

class Interpreter {
 public:
  explicit Interpreter(const msccl::Algorithm& algorithm)
      : algorithm_(algorithm),
        layout_(layout_of(algorithm, msccl::CallPattern::out_of_place)),
        values_{std::vector<std::optional<std::uint64_t>>(layout_.cells()), false} {}

  void set(std::size_t rank, std::size_t buffer, std::size_t index, std::uint64_t value) {
    values_.cells[cell(rank, buffer, index)] = value;
  }
  std::uint64_t value(std::size_t rank, std::size_t buffer, std::size_t index) const {
    return values_.cells[cell(rank, buffer, index)].value_or(0);
  }

  // Runs the algorithm. Returns a message if it violates a rule of the format, deadlocks, reads memory that was not
  // written, or has races. Returns "" if there is no such error.
  std::string run() {
    config::Diagnostics diagnostics;
    if (!check_rules(algorithm_, diagnostics)) return diagnostics.str();
    const proof::Program program = program_of(algorithm_);
    const proof::Schedule run = schedule(program, msccl::most_chunks, most_calls, true);
    if (!run.complete) return fmt::format("rank {} hangs", program.blocks[run.stuck.front().block].gpu);
    proof::carry<Values::Value>(program, layout_, run.order, msccl::most_chunks, values_);
    if (values_.read_nothing) return "a read of memory that was not written";
    const proof::Races races = find_races(program, layout_, run.order, msccl::most_chunks, most_calls);
    return races.count == 0 ? "" : fmt::format("{} races", races.count);
  }

 private:
  static constexpr std::uint32_t most_calls = 1024;  // per connection; these programs make fewer calls

  struct Values {
    using Value = std::uint64_t;
    static Value received(std::uint32_t, std::int32_t, Value value) { return value; }
    Value read(std::uint32_t, std::int32_t, ir::Buffer, std::int64_t, std::uint32_t cell) {
      read_nothing |= !cells[cell].has_value();
      return cells[cell].value_or(0);
    }
    static Value sum(std::uint32_t, std::int32_t, Value a, Value b) { return a + b; }
    Value write(std::uint32_t, std::int32_t, std::uint32_t cell, Value value) { return *(cells[cell] = value); }
    static Value sent(std::uint32_t, std::int32_t, Value value) { return value; }

    std::vector<std::optional<std::uint64_t>> cells;
    bool read_nothing = false;
  };

  std::uint32_t cell(std::size_t rank, std::size_t buffer, std::size_t index) const {
    return layout_.cell(static_cast<std::int64_t>(rank), static_cast<ir::Buffer>(buffer),
                        static_cast<std::int64_t>(index));
  }

  const msccl::Algorithm& algorithm_;
  proof::Layout layout_;
  Values values_;
};

}  // namespace moire::mscclang::testing
