#include "models/algorithms/proof/codings.hpp"

#include <algorithm>

#include "models/algorithms/proof/execution.hpp"

namespace moire::proof {

namespace {

struct Coded {
  bool encoded = false;
  std::uint32_t passes = 0;
  std::uint32_t chunk = 0;  // number of the encoded chunk, if `encoded`
};

class Follower {
 public:
  using Value = Coded;

  Follower(const Program& program, const Layout& layout, Codings& codings)
      : program_(program), codings_(codings), cells_(layout.cells()), writers_(layout.cells()) {
    for (const Program::Block& block : program.blocks) {
      codings_.takes.emplace_back(block.steps.size());
      known_.emplace_back(block.steps.size());
      next_.emplace_back();
      for (const Step& step : block.steps) {
        next_.back().push_back(codings_.chunks);
        if (step.op == ir::Op::encode) codings_.chunks += step.count;
      }
    }
  }

  Value received(std::uint32_t b, std::int32_t s, Value message) { return taken(b, s, message); }
  Value read(std::uint32_t b, std::int32_t s, ir::Buffer, std::int64_t, std::uint32_t cell) {
    source_ = cell;
    return taken(b, s, cells_[cell]);
  }
  Value sum(std::uint32_t b, std::int32_t s, Value first, Value second) {
    if (first.encoded || second.encoded) blame(Miscoding::sum, b, s);
    return {false, std::max(first.passes, second.passes)};
  }
  Value write(std::uint32_t b, std::int32_t s, std::uint32_t cell, Value value) {
    const ir::Op op = program_.blocks[b].steps[static_cast<std::size_t>(s)].op;
    if (is_coding(op)) {
      if (cell == source_) blame(Miscoding::in_place, b, s);
      if (op == ir::Op::encode && value.encoded) blame(Miscoding::encoded_twice, b, s);
      if (op == ir::Op::decode && !value.encoded) blame(Miscoding::not_encoded, b, s);
      const bool encodes = op == ir::Op::encode;
      value = {encodes, value.passes + (encodes ? 1 : 0), encodes ? next_[b][static_cast<std::size_t>(s)]++ : 0};
      codings_.passes = std::max(codings_.passes, value.passes);
    }
    writers_[cell] = at(b, s);
    return cells_[cell] = value;
  }
  Value sent(std::uint32_t, std::int32_t, Value value) const { return value; }

  void finish(std::uint32_t output) {
    if (cells_[output].encoded && !codings_.first_wrong) codings_.first_wrong = {Miscoding::result, writers_[output]};
  }

 private:
  StepAt at(std::uint32_t b, std::int32_t s) const { return {program_.blocks[b].gpu, program_.blocks[b].index, s}; }
  void blame(Miscoding fault, std::uint32_t b, std::int32_t s) {
    if (!codings_.first_wrong) codings_.first_wrong = {fault, at(b, s)};
  }
  Value taken(std::uint32_t b, std::int32_t s, Value value) {
    const auto step = static_cast<std::size_t>(s);
    std::vector<std::uint32_t>& takes = codings_.takes[b][step];
    if (known_[b][step] && takes.empty() == value.encoded && !ir::effect(program_.blocks[b].steps[step].op).reduces)
      blame(Miscoding::mixed, b, s);
    known_[b][step] = true;
    if (value.encoded) takes.push_back(value.chunk);
    return value;
  }

  const Program& program_;
  Codings& codings_;
  std::vector<Coded> cells_;
  std::vector<StepAt> writers_;                   // by cell: the step that wrote it last
  std::vector<std::vector<bool>> known_;          // by block and step: the step has taken a chunk
  std::vector<std::vector<std::uint32_t>> next_;  // by block and step: number of the chunk that the step encodes next
  std::uint32_t source_ = 0;                      // the cell that was read last
};

bool has_codings(const Program& program) {
  return std::any_of(program.blocks.begin(), program.blocks.end(), [](const Program::Block& block) {
    return std::any_of(block.steps.begin(), block.steps.end(), [](const Step& step) { return is_coding(step.op); });
  });
}

}  // namespace

Codings follow_codings(const Program& program, const Layout& layout, const Goal& goal,
                       const std::vector<std::uint32_t>& order, std::uint32_t cells_per_call) {
  Codings codings;
  if (!has_codings(program)) return codings;
  Follower follower(program, layout, codings);
  carry<Coded>(program, layout, order, cells_per_call, follower);
  for (std::int32_t gpu = 0; gpu < program.ranks(); ++gpu) {
    for (std::int64_t chunk = 0; chunk < goal.outputs(gpu); ++chunk)
      follower.finish(layout.cell(gpu, ir::Buffer::output, chunk));
  }
  return codings;
}

}  // namespace moire::proof
