// Bulk-synchronous: the embedding kernel writes all results to a local buffer, from which an All-to-All moves
// them (models/collective).
#include <algorithm>

#include "models/kernel/embedding_spec.hpp"

namespace moire::models::kernel {

namespace {

// One logical workgroup = one (table, block of samples), in the order of the tables.
class EmbeddingBody final : public program::KernelBody {
 public:
  EmbeddingBody(const EmbeddingSpec& spec, std::int64_t first_wave)
      : bags_(spec.bags_per_workgroup),
        samples_(spec.global_batch),
        blocks_((spec.global_batch + bags_ - 1) / bags_),
        workgroups_(spec.tables_per_gpu * blocks_),
        first_wave_(spec.start_up.ps > 0 ? first_wave : 0),
        start_up_(spec.start_up) {}
  std::int64_t workgroups(program::Rank) const override { return workgroups_; }
  bool phase(program::Rank, std::int64_t workgroup, std::uint32_t step, program::Phase& phase) const override {
    const std::uint32_t first = workgroup < first_wave_ ? 1 : 0;
    if (step < first) {
      phase.kind = program::Phase::Kind::delay;
      phase.duration = start_up_;
      return true;
    }
    if (step > first) return false;
    phase.kind = program::Phase::Kind::work;
    phase.amount = static_cast<double>(std::min(bags_, samples_ - workgroup % blocks_ * bags_));
    return true;
  }

 private:
  std::int64_t bags_;
  std::int64_t samples_;
  std::int64_t blocks_;
  std::int64_t workgroups_;
  std::int64_t first_wave_;
  Time start_up_;
};

}  // namespace

void append_unfused_embedding(builder::Builder& build, const EmbeddingSpec& spec) {
  const EmbeddingSizes sizes(spec, build.ranks());
  program::Kernel kernel;
  kernel.name = build.unique("embedding");
  kernel.resources.threads = spec.threads;
  kernel.resources.registers_per_thread = spec.registers_per_thread;
  const std::int64_t resident = builder::resident_workgroups(build.gpu(), kernel.resources);
  program::PhaseShape shape = gather_shape(spec, build.gpu(), "gather", {.passes = 1, .workgroups = resident});
  shape.write = sizes.vector_bytes;
  kernel.shapes.push_back(shape);
  kernel.body = std::make_shared<EmbeddingBody>(spec, resident);
  build.queue.operations.emplace_back(std::move(kernel));
}

}  // namespace moire::models::kernel
