#include "models/algorithms/mscclpp/plan_program.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/algorithms/mscclpp/block_steps.hpp"
#include "models/algorithms/mscclpp/complaints.hpp"
#include "models/algorithms/mscclpp/plan_semaphores.hpp"

namespace moire::mscclpp {

namespace {

using ir::Move;
using ir::Op;
using ir::Rank;
using ir::Step;

class PlanProgram final : public ir::ChannelProgram {
 public:
  PlanProgram(std::vector<std::vector<std::vector<Segment>>> blocks, std::vector<std::vector<Rank>> raisers,
              std::vector<Move> moves)
      : blocks_(std::move(blocks)), raisers_(std::move(raisers)), moves_(std::move(moves)) {
    for (const auto& of_rank : blocks_) channels_ = std::max(channels_, static_cast<std::uint32_t>(of_rank.size()));
    for (const auto& of_rank : raisers_)
      semaphores_ = std::max(semaphores_, static_cast<std::uint32_t>(of_rank.size()));
  }

  std::uint32_t channels() const override { return channels_; }
  std::uint32_t channels_of(Rank rank) const override { return static_cast<std::uint32_t>(blocks_[rank].size()); }
  std::uint32_t connections() const override { return 0; }
  std::uint32_t semaphores() const override { return semaphores_; }
  Rank sender(Rank rank, std::uint32_t) const override { return rank; }
  Rank receiver(Rank rank, std::uint32_t) const override { return rank; }
  Rank raiser(Rank rank, std::uint32_t semaphore) const override {
    return semaphore < raisers_[rank].size() ? raisers_[rank][semaphore] : rank;
  }
  std::vector<Move> moves() const override { return moves_; }

  bool step(Rank rank, std::uint32_t channel, std::uint32_t, std::uint32_t number, Step& step) const override {
    const std::vector<Segment>& segments = blocks_[rank][channel];
    const auto behind = std::upper_bound(segments.begin(), segments.end(), number,
                                         [](std::uint32_t n, const Segment& segment) { return n < segment.first; });
    if (behind == segments.begin()) return false;
    const Segment& segment = *std::prev(behind);
    const std::uint64_t round = (number - segment.first) / segment.items.size();
    if (round >= segment.rounds) return false;
    const Item& item = segment.items[(number - segment.first) % segment.items.size()];
    step = item.step;
    step.wait_count += item.waits_per_round * static_cast<std::int64_t>(round);
    const bool data = step.op == Op::one_sided || (step.op == Op::hand_over && !step.far);
    if (segment.unit > 0 && data)
      step.bytes = std::clamp(step.bytes - static_cast<double>(round) * segment.unit, 0.0, segment.unit);
    return true;
  }

 private:
  std::vector<std::vector<std::vector<Segment>>> blocks_;  // by rank
  std::vector<std::vector<Rank>> raisers_;                 // by rank: who raises each of its semaphores
  std::vector<Move> moves_;
  std::uint32_t channels_ = 0;
  std::uint32_t semaphores_ = 0;
};

}  // namespace

std::uint32_t message_chunks(const Plan& plan) {
  const Gpu& gpu = plan.gpus.front();
  const auto ranks = static_cast<std::uint32_t>(plan.gpus.size());
  const bool gathers = plan.collective == ir::Collective::all_gather;
  if (!plan.in_place) return gathers ? gpu.output_chunks : gpu.input_chunks;
  // A plan for in-place calls may state the number of chunks of input or of output only.
  if (gathers) return gpu.output_chunks > 0 ? gpu.output_chunks : gpu.input_chunks * ranks;
  if (plan.collective == ir::Collective::reduce_scatter)
    return gpu.input_chunks > 0 ? gpu.input_chunks : gpu.output_chunks * ranks;
  return std::max(gpu.input_chunks, gpu.output_chunks);
}

std::shared_ptr<const ir::ChannelProgram> plan_program(const Plan& plan, std::uint64_t bytes, std::uint32_t node,
                                                       config::Diagnostics& diagnostics) {
  Complaints complaints(diagnostics);
  Translation translation{.plan = plan,
                          .chunk = bytes / message_chunks(plan),
                          .node = static_cast<std::int32_t>(node),
                          .complaints = complaints,
                          .semaphores = PlanSemaphores(plan),
                          .moves = {}};
  std::vector<std::vector<std::vector<Segment>>> blocks(plan.gpus.size());
  for (std::size_t g = 0; g < plan.gpus.size(); ++g) {
    for (std::size_t b = 0; b < plan.gpus[g].blocks.size(); ++b) blocks[g].push_back(block_steps(translation, g, b));
  }
  if (!complaints.ok()) return nullptr;
  return std::make_shared<PlanProgram>(std::move(blocks), translation.semaphores.raisers(),
                                       std::move(translation.moves));
}

}  // namespace moire::mscclpp
