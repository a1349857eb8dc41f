#include "models/workload/kernel/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/workload/kernel/operators.hpp"

namespace moire::kernel {

namespace {

constexpr std::int64_t threads = 256;
constexpr double loaded_at_once = threads * 16 * 4.;  // bytes of each array: four loads of 16 B per thread

// Block b is done by workgroup b modulo the number of workgroups.
class StreamBody final : public program::KernelBody {
 public:
  StreamBody(double blocks, std::int64_t workgroups)
      : blocks_(static_cast<std::int64_t>(std::ceil(blocks))), all_(blocks), workgroups_(workgroups) {}
  std::int64_t workgroups(program::Rank) const override { return workgroups_; }
  bool turns(program::Rank) const override { return true; }
  bool by_itself() const override { return true; }
  bool phase(program::Rank, std::int64_t workgroup, std::uint32_t step, program::Phase& phase) const override {
    const std::int64_t own = (blocks_ - workgroup + workgroups_ - 1) / workgroups_;
    phase.kind = program::Phase::Kind::work;
    const double missing = (blocks_ - 1) % workgroups_ == workgroup ? static_cast<double>(blocks_) - all_ : 0;
    phase.amount = (static_cast<double>(own) - missing) / all_;
    return step == 0;
  }

 private:
  std::int64_t blocks_;
  double all_;  // number of blocks; a last block that is not full counts as a fraction
  std::int64_t workgroups_;
};

}  // namespace

void StreamSpec::describe(config::Describer<StreamSpec>& d) {
  d.component("stream", "Element-wise kernel that reads and writes memory once on every rank.");
  d.field("read", &StreamSpec::read, "Bytes read").or_default();
  d.field("write", &StreamSpec::write, "Bytes written").or_default();
  d.field("inputs", &StreamSpec::inputs, "Number of arrays that are read, of `bytes` each").range(1, 64).or_default();
  d.field("bytes", &StreamSpec::bytes,
          "Bytes of each array: `inputs` arrays are read and one is written; replaces read and write")
      .or_default();
  d.field("schedule", &StreamSpec::schedule,
          "workgroup_a_block: one workgroup per block; grid_stride: as many workgroups as the GPU holds, which walk "
          "over the blocks")
      .choices({{"workgroup_a_block", StreamSchedule::workgroup_a_block}, {"grid_stride", StreamSchedule::grid_stride}})
      .or_default();
  d.field("block", &StreamSpec::block,
          "Bytes that a workgroup reads and writes at a time; absent: 16 KiB of each array, or 64 KiB")
      .positive()
      .optional();
  d.field("in_flight", &StreamSpec::in_flight,
          "Bytes that a workgroup requests before it waits; absent: 256 threads x 16 B x 4 loads, for each input")
      .positive()
      .fractional()
      .optional();
  d.check([](const StreamSpec& s) -> std::optional<config::Problem> {
    if (s.bytes.value > 0 && s.read.value + s.write.value > 0) {
      return config::Problem{"bytes is given together with read or write",
                             "write bytes (and inputs), or read and write"};
    }
    if (s.all_read().value + s.all_written().value <= 0) {
      return config::Problem{"the stream neither reads nor writes", "write bytes, or read or write"};
    }
    return std::nullopt;
  });
}

void append_stream(builder::Builder& build, const StreamSpec& spec) { append_stream(build, spec, "stream"); }

void append_stream(builder::Builder& build, const StreamSpec& spec, const std::string& name) {
  build.queue.operations.emplace_back(stream_kernel(build, spec, build.unique(name)));
}

program::Kernel stream_kernel(const builder::Builder& build, const StreamSpec& spec, std::string name) {
  const double read = spec.all_read().value, written = spec.all_written().value;
  const double total = read + written;
  const bool arrays = spec.bytes.value > 0;
  const auto inputs = static_cast<double>(spec.inputs);
  const double block = spec.block.value_or(Bytes{arrays ? loaded_at_once * (inputs + 1) : 4 * loaded_at_once}).value;
  const double batch = spec.in_flight.value_or(Bytes{arrays ? loaded_at_once * inputs : loaded_at_once}).value;
  program::PhaseShape shape;
  shape.name = "stream";
  shape.read = read;
  shape.write = written;
  const bool strides = spec.schedule == StreamSchedule::grid_stride;
  shape.walk = strides ? program::Walk::in_strides : program::Walk::in_order;
  shape.pipelined = false;  // a workgroup loads a batch, waits for it and stores it before it loads the next
  shape.in_flight = Bytes{read > 0 ? std::min(batch, block * read / total) : batch};
  shape.threads = threads;
  program::Kernel kernel;
  kernel.name = std::move(name);
  kernel.resources = {threads, 32, Bytes{}, 1};
  kernel.shapes.push_back(shape);
  const auto count = static_cast<std::int64_t>(std::ceil(total / block));
  const std::int64_t workgroups =
      strides ? std::min(count, builder::resident_workgroups(build, kernel.resources)) : count;
  kernel.body = std::make_shared<StreamBody>(total / block, workgroups);
  return kernel;
}

builder::Operator stream_operator() {
  const auto check = [](const StreamSpec& spec,
                        const libraries::EquippedSystem& system) -> std::optional<config::Problem> {
    const double bytes = spec.all_read().value + spec.all_written().value;
    const double memory = system.node.gpu.hbm.capacity.value;
    if (bytes <= memory) return std::nullopt;
    return config::Problem{
        fmt::format("arrays of {:.4g} GB do not fit into the memory of {:.4g} GB", bytes * 1e-9, memory * 1e-9),
        "make the stream smaller"};
  };
  return builder::make_operator<StreamSpec>("stream", append_stream, check);
}

}  // namespace moire::kernel
