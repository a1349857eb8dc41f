#include "models/dma/engines.hpp"

namespace moire::models::dma {

Engines::Engines(const DmaSpec& spec, core::RunLoop& loop, core::Sharing& sharing)
    : spec_(spec), loop_(loop), sharing_(sharing), engines_(static_cast<std::size_t>(spec.engines)) {}

void Engines::submit(const CopyRequest& request) {
  if (request.local && local_by_kernel()) {
    auto place = static_cast<std::size_t>(spec_.engines);
    while (place < engines_.size() && engines_[place].busy) ++place;
    if (place == engines_.size()) engines_.emplace_back();
    return begin(place, request, spec_.local_command);
  }
  queue_.push_back(request);
  dispatch();
}

void Engines::begin(std::size_t engine, const CopyRequest& request, Time command) {
  engines_[engine] = {true, false, request, Time{}};
  loop_.calendar().schedule(loop_.now() + command, *this, engine);
}

void Engines::dispatch() {
  const auto engines = static_cast<std::size_t>(spec_.engines);
  for (std::size_t e = 0; e < engines && !queue_.empty() && running_ < spec_.peer_concurrency; ++e) {
    if (engines_[e].busy) continue;
    const CopyRequest request = queue_.front();
    queue_.pop_front();
    ++running_;
    begin(e, request, request.prefetched ? spec_.next_command : spec_.first_command);
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
  if (payload < static_cast<std::uint64_t>(spec_.engines)) --running_;
  finished_ = {static_cast<std::uint32_t>(payload), engine.begin};
  const CopyRequest done = engine.request;
  done.sink->fire(done.payload);
  dispatch();
}

}  // namespace moire::models::dma
