#include "models/algorithms/mscclang/compile.hpp"

#include "models/algorithms/mscclang/instruction.hpp"
#include "sim/core/invariant.hpp"

namespace moire::mscclang {

namespace {

void connect(Code& code) {
  if (code.program->options().blocks == Blocks::manual) {
    connect_manual(code);
  } else {
    connect_automatic(code);
  }
}

void part_all(Code& code) {
  for (Id id = 0; id < static_cast<Id>(code.instructions.size()); ++id) {
    if (code.at(id).fused != nobody) part(code, id);
  }
}

}  // namespace

msccl::Algorithm compile(const Program& program) {
  Code code = expand(program);
  if (program.options().fuse) fuse(code);
  connect(code);
  Waits waits = hazards(code);
  std::optional<Schedule> scheduled = schedule(code, waits);
  if (!scheduled) {
    part_all(code);
    connect(code);
    waits = hazards(code);
    scheduled = schedule(code, waits);
  }
  MOIRE_INVARIANT(scheduled, "a program in its own order can always be scheduled");
  const Assignment assignment = assign(code, *scheduled);
  return emit(code, *scheduled, waits, assignment);
}

}  // namespace moire::mscclang
