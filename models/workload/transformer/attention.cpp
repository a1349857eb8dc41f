#include "models/workload/transformer/attention.hpp"

#include <algorithm>

namespace moire::transformer {

namespace {

constexpr std::int64_t threads = 256;
constexpr std::int64_t registers = 240;       // per thread; accumulators of a block of queries, as in FlashAttention-2
constexpr std::int64_t block = 128;           // queries per workgroup
constexpr std::int64_t keys_at_once = 64;     // keys in each of two stages of shared memory
constexpr std::int64_t shortest_part = 256;   // least keys of a workgroup if several share the keys of a block
constexpr double element = 2;                 // bytes
constexpr double backward_flop = 2.5;         // FLOP over those of forward: five products instead of two
constexpr double operands_of_backward = 2.5;  // bytes read over those of forward: also outputs and their gradients

std::int64_t over(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
double real(std::int64_t x) { return static_cast<double>(x); }

class AttentionBody final : public program::KernelBody {
 public:
  explicit AttentionBody(std::int64_t workgroups) : workgroups_(workgroups) {}
  std::int64_t workgroups(program::Rank) const override { return workgroups_; }
  bool turns(program::Rank) const override { return true; }
  bool by_itself() const override { return true; }
  bool phase(program::Rank, std::int64_t, std::uint32_t step, program::Phase& phase) const override {
    phase.kind = program::Phase::Kind::work;
    phase.amount = 1 / real(workgroups_);
    return step == 0;
  }

 private:
  std::int64_t workgroups_;
};

}  // namespace

AttentionWork work_of(const AttentionSpec& spec, std::int64_t places) {
  const std::int64_t sequences = over(spec.tokens, spec.queries);
  // While decoding, the query heads that share keys and values form one block of query rows.
  const std::int64_t shared = spec.heads / spec.kv_heads;
  const bool decoding = spec.queries == 1;
  const std::int64_t rows = decoding ? shared : spec.queries;
  const std::int64_t blocks = sequences * (decoding ? spec.kv_heads : spec.heads) * over(rows, block);
  // If there are few blocks, several workgroups share the keys of one block.
  const std::int64_t parts =
      std::clamp<std::int64_t>(places / blocks, 1, std::max<std::int64_t>(1, spec.context / shortest_part));
  const double seen = real(spec.context) * (spec.causal ? 0.5 : 1);
  AttentionWork work;
  work.workgroups = blocks * parts;
  // Whole blocks are computed, even if few of their rows are queries. Matrix units need at least 16 rows.
  const double computed = real(blocks) * std::min(real(block), real(over(rows, 16) * 16));
  const double width = real(spec.head_dim);
  work.flop = 4 * computed * seen * width;
  const double queries = real(spec.tokens) * real(spec.heads) * width * element;
  work.requested = queries + real(blocks) * seen * 2 * width * element;
  work.loaded = queries + real(sequences) * real(spec.context) * real(spec.kv_heads) * 2 * width * element;
  work.written = queries;
  if (spec.backward) {
    work.flop *= backward_flop;
    work.requested *= operands_of_backward;
    work.loaded *= operands_of_backward;
    work.written = work.loaded - queries * (operands_of_backward - 1);
  }
  work.loaded = std::min(work.loaded, work.requested);
  return work;
}

void append_attention(builder::Builder& build, const AttentionSpec& spec, const std::string& name) {
  const double stages = real(2 * keys_at_once * 2 * spec.head_dim) * element;
  program::Kernel kernel;
  kernel.name = build.unique(name);
  kernel.resources = {threads, registers, Bytes{stages}, 1};
  const AttentionWork work = work_of(spec, builder::resident_workgroups(build, kernel.resources));
  program::PhaseShape shape;
  shape.name = "attention";
  shape.read = work.requested;
  shape.read_miss = work.loaded / work.requested;
  shape.write = work.written;
  shape.flop = work.flop / spec.efficiency;
  shape.unit = program::Arithmetic::matrix_16bit;
  shape.power = spec.efficiency;
  shape.in_flight = Bytes{stages / 2};
  shape.threads = threads;
  kernel.shapes.push_back(shape);
  kernel.body = std::make_shared<AttentionBody>(work.workgroups);
  build.queue.operations.emplace_back(std::move(kernel));
}

}  // namespace moire::transformer
