#include "models/hardware/dma/engines.hpp"

#include <algorithm>

namespace moire::dma {

Engines::Engines(const DmaSpec& spec, core::RunLoop& loop, core::Sharing& sharing)
    : spec_(spec), loop_(loop), sharing_(sharing), engines_(static_cast<std::size_t>(spec.engines)) {}

void Engines::set_beside(const Engines& beside, Time longer) {
  beside_ = &beside;
  longer_ = longer;
}

void Engines::submit(const CopyRequest& request) {
  if (request.local && spec_.local_command) return start_kernel(request);
  queue_.push_back(request);
  dispatch();
}

void Engines::start_kernel(const CopyRequest& request) {
  const auto engines = static_cast<std::ptrdiff_t>(spec_.engines);
  auto seat = std::find_if(engines_.begin() + engines, engines_.end(), [](const Engine& e) { return !e.busy; });
  if (seat == engines_.end()) seat = engines_.insert(engines_.end(), Engine{});
  begin(static_cast<std::uint32_t>(seat - engines_.begin()), request,
        std::max(loop_.now(), request.ready + *spec_.local_command));
}

void Engines::begin(std::uint32_t number, const CopyRequest& request, Time at) {
  Engine& engine = engines_[number];
  engine.request = request;
  engine.busy = true;
  engine.moving = false;
  loop_.calendar().schedule(at, *this, number);
}

void Engines::dispatch() {
  const auto engines = static_cast<std::uint32_t>(spec_.engines);
  for (std::uint32_t e = 0; e < engines && !queue_.empty() && running_ < spec_.peer_concurrency; ++e) {
    const Engine& engine = engines_[e];
    if (engine.busy) continue;
    const CopyRequest request = queue_.front();
    queue_.pop_front();
    Time at = std::max(loop_.now(), request.ready + spec_.first_command - request.without_events);
    if (engine.used) {
      const bool switches = engine.queue != request.queue;
      const Time command = switches ? spec_.switch_time(request.without_events) : spec_.next_command;
      at = std::max(at, engine.end + command + (beside_ != nullptr && beside_->moving() ? longer_ : Time{}));
    }
    begin(e, request, at);
    ++running_;
  }
}

void Engines::tell_clocks(const CopyRequest& request) {
  for (const part::Rank rank : request.between)
    if (request.clocks != nullptr) request.clocks->traffic_changes(rank);
}

void Engines::fire(std::uint64_t payload) {
  Engine& engine = engines_[payload];
  if (!engine.moving) {
    engine.moving = true;
    ++moving_;
    engine.begin = loop_.now();
    sharing_.start(engine.request.path, engine.request.bytes.value, *this, payload);
    tell_clocks(engine.request);
    return;
  }
  const CopyRequest done = engine.request;
  --moving_;
  engine.busy = false;
  engine.used = true;
  engine.queue = done.queue;
  engine.end = loop_.now();
  tell_clocks(done);
  finished_ = {static_cast<std::uint32_t>(payload), engine.begin};
  if (payload < static_cast<std::uint64_t>(spec_.engines)) --running_;
  done.sink->fire(done.payload);
  dispatch();
}

}  // namespace moire::dma
