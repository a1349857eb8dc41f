#include "models/dma/engines.hpp"

namespace moire::models::dma {

Engines::Engines(const DmaSpec& spec, core::RunLoop& loop, core::Sharing& sharing)
    : spec_(spec), loop_(loop), sharing_(sharing), engines_(static_cast<std::size_t>(spec.engines)) {}

void Engines::submit(const CopyRequest& request) {
  queue_.push_back(request);
  dispatch();
}

void Engines::dispatch() {
  for (std::uint32_t e = 0; e < engines_.size() && !queue_.empty() && running_ < spec_.peer_concurrency; ++e) {
    Engine& engine = engines_[e];
    if (engine.busy) continue;
    engine.request = queue_.front();
    queue_.pop_front();
    engine.busy = true;
    engine.moving = false;
    ++running_;
    const Time command = engine.request.prefetched ? spec_.next_command : spec_.first_command;
    loop_.calendar().schedule(loop_.now() + command, *this, e);
  }
}

void Engines::fire(std::uint64_t payload) {
  Engine& engine = engines_[payload];
  if (!engine.moving) {
    engine.moving = true;
    engine.begin = loop_.now();
    sharing_.start(engine.request.path, engine.request.bytes.value, *this, payload);
    return;
  }
  engine.busy = false;
  --running_;
  finished_ = {static_cast<std::uint32_t>(payload), engine.begin};
  const CopyRequest done = engine.request;
  done.sink->fire(done.payload);
  dispatch();
}

}  // namespace moire::models::dma
