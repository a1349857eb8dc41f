#include "models/hardware/dma/copies.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "sim/config/units.hpp"
#include "sim/core/invariant.hpp"

namespace moire::dma {

using Way = program::Transfer::Way;

const part::Declaration& declaration() {
  static const part::Declaration declared{
      .name = "dma",
      .blame = {{.key = "engines",
                 .lost = "engine_queue",
                 .meaning = "Time lost waiting for DMA or decompression engines that serve other queues"}},
      .timeline = {{program::SpanKind::copy, "DMA engines", "DMA"}}};
  return declared;
}

std::vector<part::Limit> limits(const DmaSpec& dma, BytesPerSecond port, BytesPerSecond path,
                                const program::Program& program) {
  std::vector<part::Limit> all;
  const bool copies = std::any_of(program.queues.begin(), program.queues.end(), [](const program::Queue& queue) {
    return std::any_of(queue.operations.begin(), queue.operations.end(), [](const program::Operation& operation) {
      return std::holds_alternative<program::Copy>(operation);
    });
  });
  if (!copies || path.value == 0) return all;
  const BytesPerSecond engines = dma.bandwidth * static_cast<double>(dma.peer_concurrency);
  for (const char* key : {"node.gpu.port.links", "node.gpu.port.link_bandwidth"}) {
    if (engines < port)
      all.push_back(
          {key, "node.gpu.dma.bandwidth", config::format_quantity(engines) + " of copies by the DMA engines"});
  }
  if (path < dma.bandwidth)
    all.push_back({"node.gpu.dma.bandwidth", "node.gpu.port", config::format_quantity(path) + " to a peer"});
  return all;
}

bool shares(const program::Program& program) {
  return program.several_queues_have(
      [](const program::Operation& operation) { return std::holds_alternative<program::Copy>(operation); });
}

Copies::Copies(part::Site& site, const DmaSpec& spec, const std::optional<HostEngines>& host)
    : site_(site),
      spec_(spec),
      apart_(site.apart().has("engines")),
      classes_(std::size_t{site.ranks()} * site.apart().queues) {
  const std::size_t each = std::size_t{site.ranks()} * site.copies("engines");
  for (std::size_t i = 0; i < each * (host ? 3 : 1); ++i)
    engines_.push_back(std::make_unique<Engines>(i < each ? spec : host->times, site.loop(), site.sharing()));
  for (std::size_t i = each; i < engines_.size(); ++i)
    engines_[i]->set_beside(*engines_[i < 2 * each ? i + each : i - each], host->busy_command);
}

Engines& Copies::engines_of(const part::CopyUse& use) const {
  const std::size_t kind = static_cast<std::size_t>(use.way) * site_.copies("engines");
  const std::size_t place = (kind + (apart_ ? use.queue : 0)) * site_.ranks() + use.rank;
  MOIRE_INVARIANT(place < engines_.size(), "a copy uses the memory of a host, but the node has none");
  return *engines_[place];
}

// A GPU begins with any of the copies, equally often (README.md). In the model, the GPUs of a node begin at the
// multiples of the golden ratio modulo 1 of the cycle. These are spread evenly, and do not follow the order of the
// peers, so that copies meet at receivers about as often as if every GPU began at random.
std::ptrdiff_t Copies::begins_with(part::Rank rank, std::size_t copies) const {
  constexpr double golden = 0.6180339887498949;
  const double place = golden * site_.reach().gpu_of(rank);
  return static_cast<std::ptrdiff_t>((place - std::floor(place)) * static_cast<double>(copies));
}

part::Copies::Finished Copies::finished(const part::CopyUse& copy) const {
  Finished done = engines_of(copy).finished();
  if (copy.by_host_memory()) done.engine += static_cast<std::uint32_t>(spec_.engines + (copy.way == Way::from_host));
  return done;
}

void Copies::use(const part::CopyUse& use, core::ClassSpec& spec) const {
  if (use.by_cus || use.ratio > 0) return;
  spec.bound = spec_.bandwidth.value;
  spec.weight = spec_.bytes_in_flight.value;
}

// Returns the class of a copy. There is one class for copies to each peer. There are two for copies within the GPU,
// through memory and within the cache. Copies into and out of the host's memory have one for each of their footprints.
core::ClassId Copies::class_of(const part::CopyUse& use) {
  // Queues share classes unless a counterfactual run gives them their own memories or links.
  const bool own = site_.apart().has("memory") || site_.apart().has("links");
  auto& classes = classes_[(own ? use.queue * site_.ranks() : 0) + use.rank];
  if (classes.empty()) classes.assign(std::size_t{site_.ranks()} + 1, core::no_id);
  bool cached = false;
  for (const part::Shared* shared : site_.shared()) cached = cached || shared->stays_in_cache(use);
  const auto host = std::tuple{&classes, use.way, use.host_footprint.value};
  core::ClassId& made = use.by_host_memory() ? host_classes_.try_emplace(host, core::no_id).first->second
                                             : classes[cached ? site_.ranks() : use.peer];
  if (made != core::no_id) return made;
  core::ClassSpec spec;
  for (const part::Shared* shared : site_.shared()) shared->use(use, spec);
  return made = site_.sharing().add_class(std::move(spec));
}

void Copies::submit(const part::CopyRequest& request) {
  part::CopyUse use = request.copy;
  use.by_cus = use.within_gpu() && local_by_kernel();
  engines_of(use).submit({.path = class_of(use),
                          .bytes = use.bytes,
                          .queue = request.stream,
                          .ready = request.ready,
                          .local = use.within_gpu(),
                          .sink = request.sink,
                          .payload = request.payload,
                          .without_events = request.without_events,
                          .clocks = site_.find<part::Clocks>(),
                          .between = {use.rank, use.peer}});
}

}  // namespace moire::dma
