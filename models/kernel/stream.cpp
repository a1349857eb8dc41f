#include "models/kernel/stream.hpp"

#include <algorithm>
#include <cmath>

#include "sim/config/spec.hpp"

namespace moire::models::kernel {

namespace {

class StreamBody final : public program::KernelBody {
 public:
  StreamBody(std::int64_t blocks, double last) : blocks_(blocks), last_(last) {}
  std::int64_t workgroups(program::Rank) const override { return blocks_; }
  bool phase(program::Rank, std::int64_t workgroup, std::uint32_t step, program::Phase& phase) const override {
    phase.kind = program::Phase::Kind::work;
    phase.amount = workgroup + 1 == blocks_ ? last_ : 1;
    return step == 0;
  }

 private:
  std::int64_t blocks_;
  double last_;  // share of a block
};

}  // namespace

void StreamSpec::describe(config::Describer<StreamSpec>& d) {
  d.component("stream", "Element-wise kernel that reads and writes memory once on every rank.");
  d.field("read", &StreamSpec::read, "Bytes read");
  d.field("write", &StreamSpec::write, "Bytes written");
  d.field("block", &StreamSpec::block, "Bytes read and written by one workgroup").positive().or_default();
  d.field("in_flight", &StreamSpec::in_flight, "Bytes a workgroup keeps requested: 256 threads x 16 B x 4 loads")
      .positive()
      .or_default();
  d.check([](const StreamSpec& s) -> std::optional<std::string> {
    if (s.read.value + s.write.value <= 0) return "a stream that neither reads nor writes; give read or write";
    return std::nullopt;
  });
}

void append_stream(builder::Builder& build, const StreamSpec& spec) { append_stream(build, spec, "stream"); }

void append_stream(builder::Builder& build, const StreamSpec& spec, const std::string& name) {
  const double total = spec.read.value + spec.write.value;
  const double blocks = std::ceil(total / spec.block.value);
  program::PhaseShape shape;
  shape.name = "stream";
  shape.read = spec.block.value * spec.read.value / total;
  shape.write = spec.block.value * spec.write.value / total;
  shape.in_flight = spec.in_flight;
  program::Kernel kernel;
  kernel.name = build.unique(name);
  kernel.resources = {256, 32, Bytes{}, 1};
  kernel.shapes.push_back(shape);
  kernel.body =
      std::make_shared<StreamBody>(static_cast<std::int64_t>(blocks), total / spec.block.value - (blocks - 1));
  build.queue.operations.emplace_back(std::move(kernel));
}

}  // namespace moire::models::kernel
