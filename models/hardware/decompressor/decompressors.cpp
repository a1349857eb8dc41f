#include "models/hardware/decompressor/decompressors.hpp"

#include "sim/core/invariant.hpp"

namespace moire::decompressor {

const part::Declaration& declaration() {
  static const part::Declaration declared{.name = "decompressor"};
  return declared;
}

Engines::Engines(const DecompressorSpec& spec, core::RunLoop& loop, core::Sharing& sharing)
    : spec_(spec), loop_(loop), sharing_(sharing), engines_(static_cast<std::size_t>(spec.engines)) {}

void Engines::submit(const Request& request) {
  queue_.push_back(request);
  dispatch();
}

void Engines::dispatch() {
  for (std::size_t e = 0; e < engines_.size() && !queue_.empty(); ++e) {
    Engine& engine = engines_[e];
    if (engine.busy) continue;
    engine.request = queue_.front();
    queue_.pop_front();
    engine.busy = true;
    engine.moving = false;
    loop_.calendar().schedule(std::max(loop_.now(), engine.request.asked.ready) + spec_.command, *this, e);
  }
}

void Engines::fire(std::uint64_t payload) {
  Engine& engine = engines_[payload];
  if (!engine.moving) {
    engine.moving = true;
    engine.begin = loop_.now();
    sharing_.start(engine.request.work, engine.request.asked.copy.bytes.value, *this, payload);
    return;
  }
  const part::CopyRequest done = engine.request.asked;
  engine.busy = false;
  finished_ = {static_cast<std::uint32_t>(payload), engine.begin};
  done.sink->fire(done.payload);
  dispatch();
}

Decompressors::Decompressors(part::Site& site, const std::optional<DecompressorSpec>& spec) : site_(site), spec_(spec) {
  if (!spec) return;
  for (std::size_t all = std::size_t{site.ranks()} * site.copies("engines"); engines_.size() < all;)
    engines_.push_back(std::make_unique<Engines>(*spec, site.loop(), site.sharing()));
}

void Decompressors::use(const part::CopyUse& use, core::ClassSpec& spec) const {
  if (use.ratio == 0) return;
  spec.bound = spec_->bandwidth.value;
  spec.weight = spec_->bytes_in_flight.value;
}

core::ClassId Decompressors::class_of(const part::CopyUse& use) {
  const bool own = site_.apart().has("memory");  // a counterfactual run gives every queue its own memory
  const auto [known, fresh] = classes_.try_emplace({use.rank, own ? use.queue : 0, use.ratio}, core::no_id);
  if (fresh) {
    core::ClassSpec spec;
    for (const part::Shared* shared : site_.shared()) shared->use(use, spec);
    known->second = site_.sharing().add_class(std::move(spec));
  }
  return known->second;
}

void Decompressors::submit(const part::CopyRequest& request) {
  MOIRE_INVARIANT(spec_.has_value(), "a GPU without an engine decompresses by kernels");
  const std::uint32_t own = site_.apart().has("engines") ? request.copy.queue : 0;
  engines_[own * site_.ranks() + request.copy.rank]->submit({class_of(request.copy), request});
}

}  // namespace moire::decompressor
