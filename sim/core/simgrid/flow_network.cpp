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

// With these settings, SimGrid shares links max-min fairly and models nothing else: no TCP window, no reverse traffic,
// and no correction factors of calibrated models. Times are precise to the picosecond.
constexpr const char* faithful[] = {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0",
                                    "surf/precision:1e-12"};

std::unique_ptr<simgrid::s4u::Engine> only_engine() {
  static bool made = false;
  MOIRE_INVARIANT(!made && !simgrid::s4u::Engine::is_initialized(),
                  "a process can hold one SimGrid simulation; run the next one in a process of its own");
  made = true;
  char program[] = "moire";
  char quiet[] = "--log=xbt_cfg.thresh:warning";  // else SimGrid would print a line for each setting
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
  // A message that SimGrid is carrying, or that waits for the latency of its path.
  struct Flow {
    std::size_t index = 0;  // index in `flows`
    Message message;
    Channels::iterator channel;
    simgrid::s4u::CommPtr comm;  // must outlive its completion
  };

  Impl(RunLoop& run_loop, const Topology& served, std::uint32_t the_component)
      : loop(run_loop), topology(served), component(the_component), engine(only_engine()) {
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

  // Starts the first message of each channel that was idle. Runs when SimGrid's clock has reached Moire's clock.
  void start_all() {
    const std::vector<Channels::iterator> now = std::exchange(starting, {});
    for (const auto at : now) start(at);
  }

  void start(Channels::iterator at) {
    Channel& channel = at->second;
    Flow& flow = take_flow();
    flow.channel = at;
    flow.message = channel.waiting.front();
    channel.waiting.pop_front();
    ++communications;
    zone->set_path(channel.path);
    flow.comm = simgrid::s4u::Comm::sendto_init();
    flow.comm->set_data(&flow);
    flow.comm->set_payload_size(static_cast<std::uint64_t>(std::ceil(flow.message.bytes.value)));
    flow.comm->set_source(zone->host(std::get<0>(at->first)));
    flow.comm->set_destination(zone->host(std::get<1>(at->first)));  // this starts the communication
  }

  // The last byte has left the source. The message arrives after the latency of the path.
  void completed(const simgrid::s4u::Activity& comm) {
    const auto& flow = *comm.get_data<Flow>();
    const Channels::iterator at = flow.channel;
    for (const LinkId link : at->second.path) carried[link] = carried[link] + flow.message.bytes;
    const Time sent = std::max(loop.now(), from_simgrid(simgrid::s4u::Engine::get_clock()));
    loop.calendar().schedule(sent + at->second.latency, *this, flow.index, component);
    if (at->second.waiting.empty()) {
      channels.erase(at);
    } else {
      start(at);
    }
  }

  void fire(std::uint64_t index) override {
    const Message message = flows[index].message;
    delivered = delivered + message.bytes;
    flows[index].comm = nullptr;
    free_flows.push_back(index);
    message.receiver->arrives(message.payload, loop.now() + message.after);
  }

  Flow& take_flow() {
    if (free_flows.empty()) {
      Flow& made = flows.emplace_back();
      made.index = flows.size() - 1;
      return made;
    }
    const std::size_t index = free_flows.back();
    free_flows.pop_back();
    return flows[index];
  }

  RunLoop& loop;
  const Topology& topology;
  std::uint32_t component;
  std::unique_ptr<simgrid::s4u::Engine> engine;
  PathZone* zone = nullptr;
  std::shared_ptr<RunLoopModel> model;
  Channels channels;  // channels with waiting or travelling messages
  std::vector<Channels::iterator> starting;
  std::deque<Flow> flows;  // a deque, because SimGrid holds pointers to its elements
  std::vector<std::size_t> free_flows;
  std::vector<Bytes> carried;
  Bytes injected, delivered;
  std::uint64_t communications = 0;
};

FlowNetwork::FlowNetwork(RunLoop& loop, const Topology& topology, std::uint32_t component)
    : impl_(std::make_unique<Impl>(loop, topology, component)) {}

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
