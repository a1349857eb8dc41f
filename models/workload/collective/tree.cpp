// Trees: partial sums go up to the root while results come down. Each direction has half of a channel's threads.
#include "models/workload/collective/algorithms.hpp"
#include "models/workload/collective/shares.hpp"
#include "models/workload/collective/trees.hpp"

namespace moire::collective {

namespace {

class TreeProgram final : public ChannelProgram {
 public:
  explicit TreeProgram(const Work& work) : reduces_(work.kind == Kind::all_reduce), chunk_(work.chunk) {
    if (reduces_) {
      trees_ = trees(work.system);
    } else {
      trees_ = {tree_from(work.system, work.root)};
    }
    shares_ = deal(work.bytes, work.channels, std::ceil(work.cell / (reduces_ ? 2. : 1.) / 16) * 16);
  }

  std::uint32_t channels() const override { return shares_.channels; }
  std::uint32_t strands() const override { return reduces_ ? 2 : 1; }
  // Each channel has most_children connections from children up to their parent, then as many from the parent down to
  // its children.
  std::uint32_t connections() const override { return shares_.channels * 2 * most_children; }
  Rank sender(Rank rank, std::uint32_t connection) const override {
    return other_end(rank, connection, connection % (2 * most_children) < most_children);
  }
  Rank receiver(Rank rank, std::uint32_t connection) const override {
    return other_end(rank, connection, connection % (2 * most_children) >= most_children);
  }

  bool step(Rank rank, std::uint32_t channel, std::uint32_t strand, std::uint32_t number, Step& step) const override {
    constexpr std::uint32_t of_chunk = 2 * most_children;
    const std::uint32_t chunk = number / of_chunk;
    const double left = shares_.of(channel) - chunk * chunk_;
    if (left <= 0) return false;
    step.bytes = std::min(chunk_, left);
    step.sent = step.received = chunk;
    if (reduces_ && strand == 0) {
      up(rank, channel, number % of_chunk, step);
    } else {
      down(rank, channel, number % of_chunk, step);
    }
    return true;
  }

  // The partial sum of several children is kept in the output until the final sum replaces it. A rank forwards results
  // from its output.
  Places places(Rank rank, std::uint32_t channel, std::uint32_t strand, std::uint32_t number) const override {
    const double begin = channel * shares_.share + number / (2 * most_children) * chunk_;
    const std::uint32_t at = number % (2 * most_children);
    const Tree& own = tree(channel);
    const bool goes_up = reduces_ && strand == 0;
    const bool own_data = goes_up ? at == 0 : rank == own.root;
    return {{own_data ? Buffer::input : Buffer::output, begin}, {Buffer::output, begin}};
  }

 private:
  const Tree& tree(std::uint32_t channel) const { return trees_[channel % trees_.size()]; }

  Rank other_end(Rank rank, std::uint32_t connection, bool child) const {
    const Tree& own = tree(connection / (2 * most_children));
    const std::uint32_t place = connection % most_children;
    if (!child) return own.parent[rank];
    return place < own.children[rank].size() ? own.children[rank][place] : rank;
  }

  static std::uint32_t upwards(std::uint32_t channel, std::uint32_t place) {
    return 2 * most_children * channel + place;
  }
  static std::uint32_t downwards(std::uint32_t channel, std::uint32_t place) {
    return upwards(channel, place) + most_children;
  }

  // Writes a step of the way up. After its own steps of the way up, the root sends the sum down.
  void up(Rank rank, std::uint32_t channel, std::uint32_t at, Step& step) const {
    const Tree& own = tree(channel);
    const auto& children = own.children[rank];
    const bool root = rank == own.root;
    if (at < children.size()) {
      const bool last = at + 1 == children.size();
      step.op = !last ? Op::recv_reduce_copy : root ? Op::recv_reduce_copy_send : Op::recv_reduce_send;
      if (!last) step.effort = ir::Effort::nothing;  // one loop adds up the data of all children
      step.from = children[at];
      step.in = upwards(channel, at);
    } else if (at == 0 && !root) {
      step.op = Op::send;
    }
    if (effect(step.op).sends) {
      step.to = root ? children[0] : own.parent[rank];
      step.out = root ? downwards(channel, 0) : upwards(channel, own.place[rank]);
    }
    if (root && at >= children.size() && at + 1 < 2 * children.size())
      send_down(children, channel, static_cast<std::uint32_t>(at + 1 - children.size()), step);
  }

  void down(Rank rank, std::uint32_t channel, std::uint32_t at, Step& step) const {
    const Tree& own = tree(channel);
    const auto& children = own.children[rank];
    const bool root = rank == own.root;
    if (root && reduces_) return;  // the root of an all-reduce sends the sum down in up()
    if (at > 0 || root) {
      if (at < children.size()) send_down(children, channel, at, step);
      return;
    }
    step.op = children.empty() ? Op::recv : Op::recv_copy_send;
    step.from = own.parent[rank];
    step.in = downwards(channel, own.place[rank]);
    if (children.empty()) return;
    step.to = children[0];
    step.out = downwards(channel, 0);
  }

  static void send_down(const std::vector<Rank>& children, std::uint32_t channel, std::uint32_t at, Step& step) {
    step.op = Op::send;
    if (at > 0) step.effort = ir::Effort::nothing;  // one loop sends to all children
    step.to = children[at];
    step.out = downwards(channel, at);
  }

  bool reduces_;
  double chunk_;
  std::vector<Tree> trees_;
  Shares shares_;
};

Hops hops(const machine::SystemSpec& system, Kind kind) {
  return {ways(kind) * static_cast<double>(system.node.gpus - 1), ways(kind) * doublings(system.nodes)};
}

}  // namespace

constinit const ChannelAlgorithm tree_algorithm{
    .name = "tree",
    .expectation = &libraries::ProtocolSpec::tree,
    .does = [](Kind kind) { return kind == Kind::all_reduce || kind == Kind::broadcast; },
    .wrong_machine = nullptr,
    .hops = hops,
    .traffic = [](Kind kind, double, double bytes) { return ways(kind) * bytes; },
    .nics_together = true,
    .is_tree = true,
    .program = [](const Work& work) -> std::shared_ptr<const ChannelProgram> {
      return std::make_shared<TreeProgram>(work);
    }};

}  // namespace moire::collective
