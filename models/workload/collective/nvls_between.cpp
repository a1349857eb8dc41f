// Runs all-reduces by NVLS over several nodes. One GPU per NIC of a node owns a part of the buffer. The threads of a
// channel form four groups. Scatter copies the input to buffers that the node's switch can reach, and gather copies
// from buffers to the output, as in one node (nvls.cpp). Reduce loads the sums of a part over the node's GPUs from the
// switch and sends them to other nodes. Broadcast receives the results from other nodes and stores them to all GPUs of
// its own node.
//   nvls_tree   The GPUs of the same number in all nodes form two binary trees, and channels alternate between them.
//               Reduce adds the children's sums and sends the total to the parent. At the root, reduce stores the
//               result to all GPUs of the node and sends it to the children. In all other nodes, broadcast also
//               forwards the result to the children.
//   nvls_sharp  The switches between the nodes add up the sums that reduce sends, and send the result to all nodes.
#include <algorithm>
#include <cmath>

#include "models/workload/collective/algorithms.hpp"
#include "models/workload/collective/channel_kernel.hpp"
#include "models/workload/collective/nvls.hpp"
#include "models/workload/collective/rings.hpp"
#include "models/workload/collective/spread.hpp"
#include "models/workload/collective/trees.hpp"

namespace moire::collective {

namespace {

using libraries::NvlsBetweenSpec;
using program::Phase;

constexpr std::uint32_t most_below = 2;

// Indices of the shapes (demands per byte) of the four groups of threads. Reduce and broadcast have one shape for each
// number of children from 0 to most_below. These shapes are for nodes other than the root of a tree. The same shapes
// follow for the root, where scatter, reduce and gather have as many threads as with NVLS in one node.
enum Shape : std::uint16_t {
  scatter_loop,
  reduce_loop,
  broadcast_loop = reduce_loop + 1 + most_below,
  gather_loop = broadcast_loop + 1 + most_below,
  loops
};
enum Strand : std::uint32_t { scatter, reduce, broadcast, gather, all_strands };

class NvlsBetween final : public program::KernelBody {
 public:
  struct Terms {
    part::Reach reach;
    std::vector<Rank> owners;  // GPUs of a node that own a part
    std::vector<Tree> trees;   // over the nodes; empty if the switches between nodes sum
    NvlsParts parts;
    std::int64_t slots = 1;
    Time setup, overhead;
    double spread = 0;
    // `ready`, `done` and `freed` have one flag for each channel. `ready` counts the chunks that the scatter threads of
    // all GPUs of the node have copied to buffers. `done` counts the results that all owners have stored to this GPU's
    // buffers. `freed` counts the chunks that this GPU's gather threads have copied to the output.
    program::FlagBlock ready, done, freed;
    // `filled` and `taken` have `ends` flags for each channel. In `filled`, there is one flag per child, which counts
    // the chunks that came from it; the last flag counts the chunks from the parent, or, if the switches sum, from the
    // switches. In `taken`, flag 0 counts the chunks that the parent has taken, or, if the switches sum, those that
    // this rank's broadcast threads have taken. The other flags count the chunks that each child has taken.
    program::FlagBlock filled, taken;
  };
  static constexpr std::uint32_t ends = most_below + 1;  // number of flags of a channel in `filled` and in `taken`

  explicit NvlsBetween(Terms terms) : terms_(std::move(terms)) {
    const std::size_t roles = sums() ? 1 : terms_.trees.size() * terms_.trees.front().parent.size();
    for (std::size_t role = 0; role < roles; ++role) {
      const Role made = role_of(role);
      for (const bool owns : {false, true})
        for (std::uint32_t strand = 0; strand < all_strands; ++strand)
          lists_.push_back(list(made, owns, static_cast<Strand>(strand)));
    }
  }

  std::int64_t workgroups(Rank) const override { return terms_.parts.shares.channels; }
  std::uint32_t strands(Rank) const override { return all_strands; }
  bool turns(Rank by) const override { return sums() && by % terms_.reach.gpus_per_node() == 0; }
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    return strand_phase(rank, workgroup, 0, step, phase);
  }

  bool strand_phase(Rank rank, std::int64_t workgroup, std::uint32_t strand, std::uint32_t number,
                    Phase& phase) const override {
    if (number == 0) {
      phase.kind = Phase::Kind::delay;
      phase.instructions = true;
      phase.duration = terms_.setup;
      return true;
    }
    const auto channel = static_cast<std::uint32_t>(workgroup);
    const Rank gpu = terms_.reach.gpu_of(rank), node = terms_.reach.node_of(rank);
    const auto owner = std::find(terms_.owners.begin(), terms_.owners.end(), gpu);
    const bool owns = owner != terms_.owners.end();
    const std::size_t role = sums() ? 0 : channel % terms_.trees.size() * nodes() + node;
    const std::vector<Action>& list = lists_[(role * 2 + (owns ? 1 : 0)) * all_strands + strand];
    if (list.empty()) return false;
    const auto loop = static_cast<std::uint32_t>((number - 1) / list.size());
    if (!terms_.parts.has(channel, loop)) return false;
    const Action& action = list[(number - 1) % list.size()];
    const double own =
        owns ? terms_.parts.bytes(static_cast<std::uint32_t>(owner - terms_.owners.begin()), channel, loop) : 0;
    const auto flag = [&](Rank of) {
      return flags(action.flags).at(of, channel * per_channel(action.flags) + action.end);
    };
    switch (action.what) {
      case Action::wait:
        if (action.late && loop < terms_.slots) break;
        phase.kind = Phase::Kind::wait;
        phase.flag = flag(rank);
        phase.target = action.each * (action.late ? loop - terms_.slots + 1 : loop + 1);
        break;
      case Action::think:
        phase.kind = Phase::Kind::delay;
        phase.instructions = true;
        phase.duration = spread_out(terms_.overhead, terms_.spread, channel, strand, loop);
        break;
      case Action::work:
        phase.amount = strand == scatter || strand == gather ? terms_.parts.bytes_of_all(channel, loop) : own;
        if (phase.amount <= 0) break;
        phase.kind = Phase::Kind::work;
        phase.shape = action.shape;
        phase.peer = rank;
        break;
      case Action::signal:
        phase.kind = Phase::Kind::signal;
        phase.peer = action.to == own_rank ? rank : node * terms_.reach.gpus_per_node() + action.to;
        phase.flag = flag(phase.peer);
        break;
      case Action::put:
        phase.kind = Phase::Kind::put;
        phase.proxied = true;
        phase.summed = sums();
        phase.peer = sums() ? rank : action.to * terms_.reach.gpus_per_node() + gpu;
        phase.bytes = Bytes{action.data && own > 0 ? std::ceil(own) : flag_bytes};
        phase.queue_pair = channel * 4 + action.way;
        phase.flag = flag(phase.peer);
        break;
    }
    return true;
  }

  // Returns the rank that raises flag `index` of `filled` or `taken`, for deadlock reports.
  Rank raiser(Rank rank, std::uint32_t index, bool filled) const {
    const Rank node = terms_.reach.node_of(rank), gpu = terms_.reach.gpu_of(rank);
    if (sums()) return rank;
    const Role role = role_of(index / ends % terms_.trees.size() * nodes() + node);
    const std::uint32_t end = index % ends;
    const bool of_parent = filled ? end == most_below : end == 0;
    const std::uint32_t child = filled ? end : end - 1;
    if (of_parent) return role.top ? rank : role.parent * terms_.reach.gpus_per_node() + gpu;
    return child < role.children.size() ? role.children[child] * terms_.reach.gpus_per_node() + gpu : rank;
  }

 private:
  enum Flags : std::uint8_t { ready, done, freed, filled, taken };
  static constexpr Rank own_rank = UINT32_MAX;
  // The purposes of puts along an edge of a tree. Puts of each purpose have queue pairs of their own.
  enum Way : std::uint8_t { up, taken_up, down, taken_down };
  struct Action {
    enum What : std::uint8_t { wait, think, work, signal, put };
    What what;
    Flags flags = ready;
    std::uint32_t end = 0;  // number of the flag among a channel's flags in `filled` or `taken`
    std::uint16_t shape = 0;
    std::int64_t each = 1;  // how often the flag is raised per chunk
    bool late = false;      // true if the action waits for a free place in a buffer, not for data
    Rank to = own_rank;     // signal: a GPU of the node; put: a node
    bool data = false;
    Way way = up;
  };
  // The position of a node in one of the trees.
  struct Role {
    bool top = false;
    Rank parent = 0;
    std::uint32_t place = 0;  // index among the parent's children
    std::vector<Rank> children{};
  };

  bool sums() const { return terms_.trees.empty(); }
  std::size_t nodes() const { return terms_.trees.front().parent.size(); }
  const program::FlagBlock& flags(Flags which) const {
    const program::FlagBlock* const all[] = {&terms_.ready, &terms_.done, &terms_.freed, &terms_.filled, &terms_.taken};
    return *all[which];
  }
  static std::uint32_t per_channel(Flags which) { return which == filled || which == taken ? ends : 1; }

  Role role_of(std::size_t number) const {
    if (sums()) return {};
    const Tree& tree = terms_.trees[number / nodes()];
    const auto node = static_cast<Rank>(number % nodes());
    return {node == tree.root, tree.parent[node], tree.place[node], tree.children[node]};
  }

  std::vector<Action> list(const Role& role, bool owns, Strand strand) const {
    std::vector<Action> made;
    const Rank gpus = terms_.reach.gpus_per_node();
    const auto below = static_cast<std::uint32_t>(role.children.size());
    const auto wait = [&](Flags flags, std::uint32_t end, std::int64_t each, bool late) {
      made.push_back({.what = Action::wait, .flags = flags, .end = end, .each = each, .late = late});
    };
    const auto work = [&](std::uint32_t shape) {
      made.push_back({.what = Action::think});
      made.push_back({.what = Action::work, .shape = static_cast<std::uint16_t>(shape + (role.top ? loops : 0))});
    };
    const auto signal = [&](Flags flags, Rank to) {
      made.push_back({.what = Action::signal, .flags = flags, .to = to});
    };
    const auto put = [&](Flags flags, std::uint32_t end, Rank to, bool data, Way way) {
      made.push_back({.what = Action::put, .flags = flags, .end = end, .to = to, .data = data, .way = way});
    };
    const auto store_to_all = [&] {
      for (Rank gpu = 0; gpu < gpus; ++gpu) signal(done, gpu);
      for (const Rank child : role.children) put(filled, most_below, child, true, down);
    };
    switch (strand) {
      case scatter:
        wait(freed, 0, 1, true);
        work(scatter_loop);
        for (const Rank owner : terms_.owners) signal(ready, owner);
        break;
      case reduce:
        if (!owns) break;
        wait(ready, 0, gpus, false);
        for (std::uint32_t child = 0; child < below; ++child) wait(filled, child, 1, false);
        if (!role.top) wait(taken, 0, 1, true);
        for (std::uint32_t child = 0; role.top && child < below; ++child) wait(taken, 1 + child, 1, true);
        work(reduce_loop + below);
        if (sums()) {
          put(filled, most_below, own_rank, true, up);
        } else if (!role.top) {
          put(filled, role.place, role.parent, true, up);
        }
        for (const Rank child : role.children) put(taken, 0, child, false, taken_up);
        if (role.top) store_to_all();
        break;
      case broadcast:
        if (!owns || role.top) break;
        wait(filled, most_below, 1, false);
        for (std::uint32_t child = 0; child < below; ++child) wait(taken, 1 + child, 1, true);
        work(broadcast_loop + below);
        store_to_all();
        if (sums()) {
          made.push_back({.what = Action::signal, .flags = taken});
        } else {
          put(taken, 1 + role.place, role.parent, false, taken_down);
        }
        break;
      default:
        wait(done, 0, static_cast<std::int64_t>(terms_.owners.size()), false);
        work(gather_loop);
        signal(freed, own_rank);
    }
    return made;
  }

  Terms terms_;
  std::vector<std::vector<Action>> lists_;  // one list per role, case (GPU owns a part or not) and strand
};

std::vector<program::PhaseShape> shapes_of(const libraries::ChannelsSpec& all, const NvlsBetweenSpec& between) {
  std::vector<program::PhaseShape> shapes;
  const libraries::NvlsSpec& node = *all.nvls;
  for (const bool top : {false, true}) {
    const auto add = [&](const std::string& name, std::int64_t threads, double read, double write, bool sums,
                         bool stores) {
      program::PhaseShape& shape = shapes.emplace_back(nvls_shape(all, name.c_str(), threads));
      shape.read = read;
      shape.write = write;
      shape.peer_read = sums ? 1 : 0;
      shape.peer_write = stores ? 1 : 0;
      shape.by_switch = sums || stores;
    };
    const std::string end = top ? " at the root" : "";
    add("scatter" + end, top ? node.scatter_threads : between.scatter_threads, 1, 1, false, false);
    for (std::uint32_t below = 0; below <= most_below; ++below)
      add(fmt::format("reduce, {} below{}", below, end), top ? node.reduce_threads : between.reduce_threads, below,
          top ? below : 1, true, top);
    for (std::uint32_t below = 0; below <= most_below; ++below)
      add(fmt::format("broadcast, {} below", below), between.broadcast_threads, 1, below, false, true);
    add("gather" + end, top ? node.gather_threads : between.gather_threads, 1, 1, false, false);
  }
  return shapes;
}

// Returns the GPUs of a node that own a part: the first GPU of each NIC.
std::vector<Rank> owners_of(const machine::SystemSpec& system) {
  std::vector<Rank> owners = gpus_by_nic(system);
  owners.resize(std::min(owners.size(), static_cast<std::size_t>(system.node.nics)));
  std::sort(owners.begin(), owners.end());
  return owners;
}

std::optional<std::string> no_tree(const machine::SystemSpec& system) {
  if (system.nodes < 2) return "nvls_tree connects nodes, but there is only one node";
  return no_nvls(system);
}

std::optional<std::string> no_sharp(const machine::SystemSpec& system) {
  if (system.nodes < 2) return "nvls_sharp sums in the switches between nodes, but there is only one node";
  if (system.fabric->reduction() == nullptr)
    return "nvls_sharp sums in the switches between nodes, but the fabric has no reduction";
  if (system.network.model == machine::NetworkModel::flow)
    return "nvls_sharp sums in the switches between nodes, which network.model: flow (SimGrid) cannot simulate";
  return no_nvls(system);
}

}  // namespace

void append_nvls_between(builder::Builder& build, const libraries::LibrarySpec& library, Algorithm algorithm,
                         double bytes, std::uint32_t channels, const std::string& name) {
  const libraries::ChannelsSpec& all = *library.channels;
  const bool by_tree = algorithm == Algorithm::nvls_tree;
  const NvlsBetweenSpec& between = by_tree ? *all.nvls->tree : *all.nvls->sharp;
  NvlsBetween::Terms terms;
  terms.reach = build.reach();
  terms.owners = owners_of(build.system);
  if (by_tree) {
    const auto pair = trees_of_nodes(static_cast<Rank>(build.system.nodes));
    terms.trees.assign(pair.begin(), pair.end());
  }
  constexpr std::int64_t many_nodes = 4;  // from this number of nodes on, NCCL takes deep_chunk (ncclNvlsTuning)
  const Bytes chunk = build.system.nodes >= many_nodes ? between.deep_chunk.value_or(between.chunk) : between.chunk;
  const auto owners = static_cast<std::uint32_t>(terms.owners.size());
  terms.parts = nvls_parts(cut(bytes, owners, 16), owners, channels, chunk.value, between.smallest_chunk.value,
                           between.halved_below);
  check_pieces(bytes / terms.parts.chunk * build.ranks(), fmt::format("chunks of {:.0f} B", terms.parts.chunk));
  terms.slots = all.nvls->slots;
  terms.setup = all.setup;
  terms.overhead = all.simple.step_overhead;
  terms.spread = all.simple.step_spread;

  program::Kernel kernel;
  kernel.name = build.unique(name);
  kernel.resources = resources_of(library, build.gpu(), all.nvls->threads, terms.parts.shares.channels);
  kernel.shapes = shapes_of(all, between);
  const std::uint32_t count = terms.parts.shares.channels;
  const auto in_node = [&](const char* what) {
    return build.program.add_flags({kernel.name + what, count, [kernel_name = kernel.name](Rank rank, std::uint32_t) {
                                      return std::pair{rank, kernel_name};
                                    }});
  };
  terms.ready = in_node(".ready");
  terms.done = in_node(".done");
  terms.freed = in_node(".freed");
  // Deadlock reports ask the body who raises a flag, but the body is built after the flags.
  const auto body = std::make_shared<std::shared_ptr<const NvlsBetween>>();
  const auto of_edges = [&](const char* what, bool filled) {
    return build.program.add_flags({kernel.name + what, count * NvlsBetween::ends,
                                    [body, filled, kernel_name = kernel.name](Rank rank, std::uint32_t index) {
                                      return std::pair{(*body)->raiser(rank, index, filled), kernel_name};
                                    }});
  };
  terms.filled = of_edges(".filled", true);
  terms.taken = of_edges(".taken", false);
  *body = std::make_shared<NvlsBetween>(std::move(terms));
  kernel.body = *body;
  build.queue.operations.emplace_back(std::move(kernel));
}

constinit const ChannelAlgorithm nvls_tree_algorithm{
    .name = "nvls_tree",
    .expectation = nullptr,
    .does = [](Kind kind) { return kind == Kind::all_reduce; },
    .wrong_machine = no_tree,
    .hops =
        [](const machine::SystemSpec& system, Kind) {
          return Hops{0, 2 * doublings(system.nodes)};
        },
    // Each tree of the pair handles half of the bytes. A node sends this half to its parent in both trees and, in the
    // tree in which it is not a leaf, to its two children. These are at most 2 x `bytes` in all.
    .traffic = [](Kind, double, double bytes) { return 2 * bytes; },
    .nics_together = true,
    .is_tree = true,
    .program = nullptr};

constinit const ChannelAlgorithm nvls_sharp_algorithm{.name = "nvls_sharp",
                                                      .expectation = nullptr,
                                                      .does = [](Kind kind) { return kind == Kind::all_reduce; },
                                                      .wrong_machine = no_sharp,
                                                      .hops =
                                                          [](const machine::SystemSpec&, Kind) {
                                                            return Hops{0, 1};
                                                          },
                                                      .traffic = [](Kind, double, double bytes) { return bytes; },
                                                      .nics_together = true,
                                                      .program = nullptr};

}  // namespace moire::collective
