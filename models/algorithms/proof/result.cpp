#include "models/algorithms/proof/result.hpp"

#include "models/algorithms/proof/blame.hpp"
#include "models/algorithms/proof/execution.hpp"

namespace moire::proof {

namespace {

constexpr std::uint64_t undefined = 0;

class Sums {
 public:
  using Value = std::uint64_t;

  Sums(const Program& program, const Layout& layout, const Goal& goal, Result& result)
      : program_(program), result_(result), cells_(layout.cells(), undefined) {
    for (std::int32_t gpu = 0; gpu < program.ranks(); ++gpu) {
      for (std::int64_t chunk = 0; chunk < goal.inputs(gpu); ++chunk)
        cells_[layout.cell(gpu, ir::Buffer::input, chunk)] = number_of({gpu, chunk});
    }
  }

  Value received(std::uint32_t, std::int32_t, Value message) const { return message; }
  Value read(std::uint32_t b, std::int32_t s, ir::Buffer buffer, std::int64_t chunk, std::uint32_t cell) {
    const Value value = cells_[cell];
    if (value == undefined && result_.unwritten_reads++ == 0) {
      const Program::Block& block = program_.blocks[b];
      result_.first_unwritten = {{block.gpu, block.index, s}, buffer, chunk};
    }
    return value;
  }
  Value sum(std::uint32_t, std::int32_t, Value a, Value b) const {
    return a == undefined || b == undefined ? undefined : a + b;
  }
  Value write(std::uint32_t, std::int32_t, std::uint32_t cell, Value value) { return cells_[cell] = value; }
  Value sent(std::uint32_t, std::int32_t, Value value) const { return value; }

  Value at(std::uint32_t cell) const { return cells_[cell]; }

 private:
  const Program& program_;
  Result& result_;
  std::vector<Value> cells_;
};

}  // namespace

Result execute(const Program& program, const Layout& layout, const Goal& goal, const std::vector<std::uint32_t>& order,
               std::uint32_t cells_per_call) {
  Result result;
  result.stated = goal.stated();
  Sums sums(program, layout, goal, result);
  carry<std::uint64_t>(program, layout, order, cells_per_call, sums);
  std::optional<Wrong> first;
  for (std::int32_t gpu = 0; gpu < program.ranks(); ++gpu) {
    for (std::int64_t chunk = 0; chunk < goal.outputs(gpu); ++chunk) {
      if (sums.at(layout.cell(gpu, ir::Buffer::output, chunk)) == goal.number_at(gpu, chunk)) continue;
      if (result.wrong_chunks++ > 0) continue;
      first.emplace();
      first->gpu = gpu;
      first->chunk = chunk;
    }
  }
  if (first) {
    explain(program, layout, goal, order, cells_per_call, *first);
    result.first_wrong = std::move(first);
  }
  return result;
}

}  // namespace moire::proof
