#include "models/algorithms/msccl/result.hpp"

#include "models/algorithms/msccl/blame.hpp"
#include "models/algorithms/msccl/execution.hpp"

namespace moire::msccl {

namespace {

constexpr std::uint64_t undefined = 0;

class Sums {
 public:
  using Value = std::uint64_t;

  Sums(const Wiring& wiring, const Layout& layout, const Goal& goal, Result& result)
      : wiring_(wiring), result_(result), cells_(layout.cells(), undefined) {
    for (std::int32_t gpu = 0; gpu < wiring.algorithm.ranks(); ++gpu) {
      for (std::int64_t chunk = 0; chunk < goal.inputs(gpu); ++chunk)
        cells_[layout.cell(gpu, Buffer::input, chunk)] = number_of({gpu, chunk});
    }
  }

  Value received(std::uint32_t, std::int32_t, Value message) const { return message; }
  Value read(std::uint32_t b, std::int32_t s, Buffer buffer, std::int64_t chunk, std::uint32_t cell) {
    const Value value = cells_[cell];
    if (value == undefined && result_.unwritten_reads++ == 0) {
      const Wiring::Block& block = wiring_.blocks[b];
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
  const Wiring& wiring_;
  Result& result_;
  std::vector<Value> cells_;
};

}  // namespace

Result execute(const Wiring& wiring, CallPattern pattern, const std::vector<std::uint32_t>& order,
               std::uint32_t chunks_per_call) {
  const Algorithm& algorithm = wiring.algorithm;
  const Layout layout(algorithm, pattern);
  const Goal goal(algorithm, pattern);
  Result result;
  result.stated = goal.stated();
  Sums sums(wiring, layout, goal, result);
  carry<std::uint64_t>(wiring, layout, order, chunks_per_call, sums);
  std::optional<Wrong> first;
  for (std::int32_t gpu = 0; gpu < algorithm.ranks(); ++gpu) {
    for (std::int64_t chunk = 0; chunk < goal.outputs(gpu); ++chunk) {
      if (sums.at(layout.cell(gpu, Buffer::output, chunk)) == goal.number_at(gpu, chunk)) continue;
      if (result.wrong_chunks++ > 0) continue;
      first.emplace();
      first->gpu = gpu;
      first->chunk = chunk;
    }
  }
  if (first) {
    explain(wiring, layout, goal, order, chunks_per_call, *first);
    result.first_wrong = std::move(first);
  }
  return result;
}

}  // namespace moire::msccl
