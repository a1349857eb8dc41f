#include "models/workload/collective/mscclpp.hpp"

#include <fmt/format.h>

#include "models/algorithms/mscclpp/check.hpp"
#include "models/algorithms/mscclpp/plan_program.hpp"
#include "models/algorithms/mscclpp/reader.hpp"
#include "models/workload/collective/channel_kernel.hpp"
#include "models/workload/collective/collective.hpp"
#include "models/workload/collective/operators.hpp"
#include "sim/config/spec.hpp"
#include "sim/formats/file.hpp"

namespace moire::collective {

namespace {

using mscclpp::Plan;

// Reads and proves the plan, checks it against the system, and appends its kernel.
class Appending {
 public:
  Appending(builder::Builder& build, const MscclppSpec& spec, const config::Node& node,
            config::Diagnostics& diagnostics)
      : build_(build), spec_(spec), node_(node), diagnostics_(diagnostics) {}

  bool run() {
    if (const auto problem = check_memory(spec_.bytes, build_.system)) {
      diagnostics_.error(node_.place, *problem);
      return false;
    }
    const std::optional<Plan> plan = read();
    if (!plan || !fits(*plan)) return false;
    // The time of a plan with a wrong result is of no use, so the plan is proved first.
    const auto found = mscclpp::proved(*plan, text_);
    for (const config::Diagnostic& error : found->sorted()) diagnostics_.error(error.place, error.what, error.remedy);
    return found->ok() && append(*plan);
  }

 private:
  bool fail(const std::string& what, const std::string& right) {
    diagnostics_.error(node_.place, what, right);
    return false;
  }

  std::optional<Plan> read() {
    auto text = formats::read_file({.file = spec_.plan, .place = node_.place}, mscclpp::most_plan_bytes, diagnostics_);
    if (!text) return std::nullopt;
    text_ = std::move(*text);
    return mscclpp::read_plan(spec_.plan.string(), text_, diagnostics_);
  }

  bool fits(const Plan& plan) {
    if (plan.ranks() != static_cast<std::int32_t>(build_.ranks()))
      return fail(fmt::format("{} is a plan for {} GPUs, but the system has {}", spec_.plan.string(), plan.ranks(),
                              build_.ranks()),
                  fmt::format("set system.nodes and system.node.gpus so that there are {} GPUs", plan.ranks()));
    const double bytes = spec_.bytes.value;
    bytes_ = static_cast<std::uint64_t>(bytes);
    const std::uint64_t chunks = mscclpp::message_chunks(plan);
    if (chunks == 0) return true;  // the proof reports a plan without chunks
    const std::uint64_t unit = chunks * plan.alignment;
    if (bytes_ % unit != 0)
      return fail(fmt::format("{} B cannot be divided into whole units of {} B for each of {} chunks", bytes_,
                              plan.alignment, chunks),
                  fmt::format("write a multiple of {} B, for example {} B", unit, (bytes_ / unit + 1) * unit));
    if (bytes_ < plan.min_bytes || bytes_ > plan.max_bytes)
      return fail(
          fmt::format("the plan is for messages of {} to {} B, not of {} B", plan.min_bytes, plan.max_bytes, bytes_),
          "write bytes within this range, or name another plan");
    return true;
  }

  bool append(const Plan& plan) {
    const std::uint32_t node = build_.reach().peers() + 1;
    auto steps = mscclpp::plan_program(plan, bytes_, node, diagnostics_);
    if (!steps) return false;
    // Thread blocks wait for each other, so all of them must be resident at once.
    const std::int64_t resident =
        builder::resident_workgroups(build_, resources_of(spec_.library, build_.gpu(), plan.threads));
    if (steps->channels() > resident)
      return fail(fmt::format("the plan has {} thread blocks per GPU, but the GPU can hold only {} at once",
                              steps->channels(), resident),
                  "give the queue more CUs, or use a plan with fewer thread blocks");
    append_plan_kernel(build_, std::move(steps), spec_.library, plan.threads, builder::bytes_of(spec_.dtype),
                       plan.name.empty() ? "mscclpp" : plan.name);
    return true;
  }

  builder::Builder& build_;
  const MscclppSpec& spec_;
  const config::Node& node_;
  config::Diagnostics& diagnostics_;
  std::string text_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

void MscclppSpec::describe(config::Describer<MscclppSpec>& d) {
  d.component(
      "mscclpp",
      "An execution plan of MSCCL++ (JSON), simulated thread block by thread block. It is proved correct before it is "
      "timed.");
  d.field("plan", &MscclppSpec::plan,
          "The plan, a JSON file in schema 1 (`inputChunks`) or schema 2 (`input_chunks`) of MSCCL++")
      .exists();
  d.field("bytes", &MscclppSpec::bytes,
          "Bytes of a rank's input buffer (all-gather: output buffer); each chunk must be a multiple of the plan's "
          "buffer_alignment")
      .positive();
  d.field("dtype", &MscclppSpec::dtype, "Element type of sums")
      .choices(
          {{"fp32", builder::DataType::fp32}, {"fp16", builder::DataType::fp16}, {"bf16", builder::DataType::bf16}})
      .or_default();
  d.field("library", &MscclppSpec::library, "The costs of the executor's operations: a file in configs/libraries")
      .example("../libraries/mscclpp.yaml");
}

bool append_mscclpp(builder::Builder& build, const MscclppSpec& spec, const config::Node& node,
                    config::Diagnostics& diagnostics) {
  return Appending(build, spec, node, diagnostics).run();
}

builder::Operator mscclpp_operator() { return builder::make_operator<MscclppSpec>("mscclpp", append_mscclpp); }

}  // namespace moire::collective
