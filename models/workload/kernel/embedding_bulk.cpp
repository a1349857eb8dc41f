// The bulk-synchronous schedule of embedding_all_to_all: the embedding kernel writes all results to a local buffer.
// Then an All-to-All (models/workload/collective) moves them to the ranks.
#include <algorithm>

#include "models/workload/kernel/embedding_spec.hpp"

namespace moire::kernel {

namespace {

// The embedding kernel. A workgroup does one task: a block of samples of one table. Tasks are numbered table by table.
class EmbeddingBody final : public program::KernelBody {
 public:
  enum Shape : std::uint16_t { gather, first_gather, store };

  EmbeddingBody(const EmbeddingSpec& spec, std::int64_t first_wave, Time before_first, std::uint32_t steps)
      : bags_(spec.bags_per_workgroup),
        samples_(spec.global_batch),
        blocks_((spec.global_batch + bags_ - 1) / bags_),
        workgroups_(spec.tables_per_gpu * blocks_),
        first_wave_(first_wave),
        before_first_(before_first),
        steps_(steps) {}
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
    if (first) --step;
    if (step >= steps_) return false;
    phase.kind = program::Phase::Kind::work;
    phase.shape = step == 1 ? store : first ? first_gather : gather;
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
  std::uint32_t steps_;
};

// Adds to `gather`, the shape of one vector, the stores of results that pass beside the loads, and returns the shape of
// those for which a workgroup waits (write is 0 if there are none). A CU has store_window_per_cu bytes of stores in
// flight. Its `per_cu` workgroups have their rows at about the same time, so they also store at the same time.
program::PhaseShape store_results(const EmbeddingSpec& spec, const machine::GpuSpec& gpu, double per_cu,
                                  double vector_bytes, program::PhaseShape& gather) {
  program::PhaseShape store{.name = "store",
                            .write = vector_bytes,
                            .write_miss = results_written_back(spec, gpu, gather),
                            .in_flight = Bytes{static_cast<double>(spec.bags_per_workgroup) * vector_bytes}};
  const double stored = store.write * store.write_miss;
  gather.mixed_stores = store.mixed_stores = stored / (gather.fetched() + stored);
  gather.write_miss = store.write_miss;
  gather.write = store.write * std::min(1.0, gpu.port.store_window_per_cu.value / (per_cu * store.in_flight.value));
  store.write -= gather.write;
  return store;
}

}  // namespace

void append_unfused_embedding(builder::Builder& build, const EmbeddingSpec& spec) {
  const EmbeddingSizes sizes(spec, build.ranks());
  program::Kernel kernel;
  kernel.name = build.unique("embedding");
  kernel.resources.threads = spec.threads;
  kernel.resources.registers_per_thread = spec.registers_per_thread;
  const std::int64_t resident = builder::resident_workgroups(build, kernel.resources);
  program::PhaseShape shape = gather_shape(spec, build.gpu(), "gather", {.passes = 1, .workgroups = resident});
  const std::int64_t cus = build.gpu().compute.total_cus();
  const std::int64_t at_once = std::min(resident, sizes.tasks_per_rank * build.ranks());
  const auto per_cu = static_cast<double>((at_once + cus - 1) / cus);
  const program::PhaseShape store = store_results(spec, build.gpu(), per_cu, sizes.vector_bytes, shape);
  kernel.shapes = {shape, of_first_task(spec, build.gpu(), shape), store};
  kernel.body = std::make_shared<EmbeddingBody>(spec, resident, before_first_rows(spec, build.gpu(), at_once),
                                                store.write > 0 ? 2 : 1);
  build.queue.operations.emplace_back(std::move(kernel));
}

}  // namespace moire::kernel
