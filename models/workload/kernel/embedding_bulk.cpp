// The bulk-synchronous schedule of embedding_all_to_all: the embedding kernel writes all results to a local buffer.
// Then an All-to-All (models/workload/collective) moves them to the ranks.
#include <algorithm>

#include "models/workload/kernel/embedding_spec.hpp"

namespace moire::kernel {

namespace {

// The embedding kernel. A workgroup does one task: a block of samples of one table. Tasks are numbered table by table.
class EmbeddingBody final : public program::KernelBody {
 public:
  enum Shape : std::uint16_t { gather, first_gather };

  EmbeddingBody(const EmbeddingSpec& spec, std::int64_t first_wave, Time before_first)
      : bags_(spec.bags_per_workgroup),
        samples_(spec.global_batch),
        blocks_((spec.global_batch + bags_ - 1) / bags_),
        workgroups_(spec.tables_per_gpu * blocks_),
        first_wave_(first_wave),
        before_first_(before_first) {}
  std::int64_t workgroups(program::Rank) const override { return workgroups_; }
  bool turns(program::Rank) const override { return true; }
  bool by_itself() const override { return true; }
  bool phase(program::Rank, std::int64_t workgroup, std::uint32_t step, program::Phase& phase) const override {
    const bool first = workgroup < first_wave_;
    if (first && step == 0) {
      phase.kind = program::Phase::Kind::delay;
      phase.duration = before_first_;
      return true;
    }
    if (step > (first ? 1 : 0)) return false;
    phase.kind = program::Phase::Kind::work;
    phase.shape = first ? first_gather : gather;
    phase.amount = static_cast<double>(std::min(bags_, samples_ - workgroup % blocks_ * bags_));
    return true;
  }

 private:
  std::int64_t bags_;
  std::int64_t samples_;
  std::int64_t blocks_;
  std::int64_t workgroups_;
  std::int64_t first_wave_;
  Time before_first_;
};

}  // namespace

void append_unfused_embedding(builder::Builder& build, const EmbeddingSpec& spec) {
  const EmbeddingSizes sizes(spec, build.ranks());
  program::Kernel kernel;
  kernel.name = build.unique("embedding");
  kernel.resources.threads = spec.threads;
  kernel.resources.registers_per_thread = spec.registers_per_thread;
  const std::int64_t resident = builder::resident_workgroups(build, kernel.resources);
  program::PhaseShape shape = gather_shape(spec, build.gpu(), "gather", {.passes = 1, .workgroups = resident});
  shape.write = sizes.vector_bytes;
  shape.write_miss = results_written_back(spec, build.gpu(), shape);
  kernel.shapes = {shape, of_first_task(spec, build.gpu(), shape)};
  kernel.body = std::make_shared<EmbeddingBody>(
      spec, resident, before_first_rows(spec, build.gpu(), std::min(resident, sizes.tasks_per_rank * build.ranks())));
  build.queue.operations.emplace_back(std::move(kernel));
}

}  // namespace moire::kernel
