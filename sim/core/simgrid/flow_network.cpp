#include "sim/core/simgrid/flow_network.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <simgrid/s4u/Activity.hpp>
#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <tuple>

#include "sim/core/invariant.hpp"
#include "sim/core/simgrid/path_zone.hpp"
#include "sim/core/simgrid/run_loop_model.hpp"

namespace moire::core::flow {

namespace {

// Make SimGrid's flows plain max-min: no TCP window, no reverse traffic, no correction factors of calibrated models,
// and times that are precise to the picosecond.
constexpr const char* faithful[] = {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0",
                                    "surf/precision:1e-12"};

std::unique_ptr<simgrid::s4u::Engine> only_engine() {
  static bool made = false;
  MOIRE_INVARIANT(!made && !simgrid::s4u::Engine::is_initialized(),
                  "a process can hold one SimGrid simulation; run the next one in a process of its own");
  made = true;
  char program[] = "moire";
  char quiet[] = "--log=xbt_cfg.thresh:warning";  // suppresses a line per flag
  char* arguments[] = {program, quiet, nullptr};
  int count = 2;
  auto engine = std::make_unique<simgrid::s4u::Engine>(&count, arguments);
  for (const char* flag : faithful) simgrid::s4u::Engine::set_config(flag);
  return engine;
}

}  // namespace

struct FlowNetwork::Impl final : EventSink {
  using Key = std::tuple<EndpointId, EndpointId, std::uint32_t>;
  struct Channel {
    std::vector<LinkId> path;
    Time latency;
    std::deque<Message> waiting;
  };
  using Channels = std::map<Key, Channel>;
  // Messages that travel in one communication.
  struct Batch {
    std::size_t index = 0;  // index in `batches`
    std::vector<Message> members;
    Bytes bytes;
    Channels::iterator channel;
    simgrid::s4u::CommPtr comm;  // must outlive its completion
  };

  Impl(RunLoop& run_loop, const Topology& served, FlowNetworkSpec the_spec, std::uint32_t the_component)
      : loop(run_loop), topology(served), spec(the_spec), component(the_component), engine(only_engine()) {
    zone = new PathZone(topology);  // owned by the engine
    carried.resize(topology.links().size());
    model = std::make_shared<RunLoopModel>(
        loop, [this] { return !starting.empty(); }, [this] { start_all(); });
    engine->add_model(model);
    simgrid::s4u::Activity::on_completion_cb([this](const simgrid::s4u::Activity& comm) { completed(comm); });
  }

  void send(const Message& message) {
    MOIRE_INVARIANT(message.bytes.value >= 1 && message.receiver != nullptr, "a message needs a byte and a receiver");
    injected = injected + message.bytes;
    const auto [at, is_new] = channels.try_emplace({message.source, message.destination, message.flow});
    Channel& channel = at->second;
    channel.waiting.push_back(message);
    if (!is_new) return;
    topology.route(message.source, message.destination, message.flow, channel.path);
    MOIRE_INVARIANT(!channel.path.empty(), "a network path needs at least one link");
    for (const LinkId link : channel.path) channel.latency += topology.links()[link].latency;
    starting.push_back(at);
  }

  // Runs when SimGrid's clock has reached ours: starts the first message of each channel that was idle, alone.
  void start_all() {
    const std::vector<Channels::iterator> now = std::exchange(starting, {});
    for (const auto at : now) start(at, 1);
  }

  void start(Channels::iterator at, std::size_t most) {
    Channel& channel = at->second;
    Batch& batch = take_batch();
    batch.channel = at;
    do {
      batch.bytes = batch.bytes + channel.waiting.front().bytes;
      batch.members.push_back(channel.waiting.front());
      channel.waiting.pop_front();
    } while (batch.members.size() < most && !channel.waiting.empty() &&
             batch.bytes + channel.waiting.front().bytes <= spec.merge_limit);

    ++communications;
    zone->set_path(channel.path);
    batch.comm = simgrid::s4u::Comm::sendto_init();
    batch.comm->set_data(&batch);
    batch.comm->set_payload_size(static_cast<std::uint64_t>(std::ceil(batch.bytes.value)));
    batch.comm->set_source(zone->host(std::get<0>(at->first)));
    batch.comm->set_destination(zone->host(std::get<1>(at->first)));  // this starts it
  }

  // The last byte has left the source; it arrives after the latency of the path.
  void completed(const simgrid::s4u::Activity& comm) {
    const auto& batch = *comm.get_data<Batch>();
    const Channels::iterator at = batch.channel;
    for (const LinkId link : at->second.path) carried[link] = carried[link] + batch.bytes;
    const Time sent = std::max(loop.now(), from_simgrid(simgrid::s4u::Engine::get_clock()));
    loop.calendar().schedule(sent + at->second.latency, *this, batch.index, component);
    if (at->second.waiting.empty()) {
      channels.erase(at);
    } else {
      start(at, SIZE_MAX);
    }
  }

  void fire(std::uint64_t index) override {
    Batch& batch = batches[index];
    const std::vector<Message> members = std::exchange(batch.members, {});
    delivered = delivered + std::exchange(batch.bytes, {});
    batch.comm = nullptr;
    free_batches.push_back(index);
    for (const Message& message : members) message.receiver->arrives(message.payload, loop.now() + message.after);
  }

  Batch& take_batch() {
    if (free_batches.empty()) {
      Batch& made = batches.emplace_back();
      made.index = batches.size() - 1;
      return made;
    }
    const std::size_t index = free_batches.back();
    free_batches.pop_back();
    return batches[index];
  }

  RunLoop& loop;
  const Topology& topology;
  FlowNetworkSpec spec;
  std::uint32_t component;
  std::unique_ptr<simgrid::s4u::Engine> engine;
  PathZone* zone = nullptr;
  std::shared_ptr<RunLoopModel> model;
  Channels channels;  // channels with waiting or travelling messages
  std::vector<Channels::iterator> starting;
  std::deque<Batch> batches;  // a deque, because SimGrid holds pointers to its elements
  std::vector<std::size_t> free_batches;
  std::vector<Bytes> carried;
  Bytes injected, delivered;
  std::uint64_t communications = 0;
};

FlowNetwork::FlowNetwork(RunLoop& loop, const Topology& topology, FlowNetworkSpec spec, std::uint32_t component)
    : impl_(std::make_unique<Impl>(loop, topology, spec, component)) {}

FlowNetwork::~FlowNetwork() = default;

void FlowNetwork::send(const Message& message) { impl_->send(message); }
Bytes FlowNetwork::injected() const { return impl_->injected; }
Bytes FlowNetwork::delivered() const { return impl_->delivered; }
std::uint64_t FlowNetwork::communications() const { return impl_->communications; }

std::vector<LinkUse> FlowNetwork::use() const {
  std::vector<LinkUse> result;
  for (std::size_t link = 0; link < impl_->carried.size(); ++link) {
    const Bytes bytes = impl_->carried[link];
    result.push_back({bytes, duration(bytes, impl_->topology.links()[link].bandwidth)});
  }
  return result;
}

void run_with_simgrid(RunLoop& loop, FlowNetwork& network) {
  MOIRE_INVARIANT(&loop == &network.impl_->loop, "the network belongs to another run loop");
  loop.settle();
  network.impl_->engine->run();
  network.impl_->model->rethrow_failure();
  MOIRE_INVARIANT(loop.idle() && network.impl_->channels.empty(), "SimGrid stopped before the run was over");
}

}  // namespace moire::core::flow
