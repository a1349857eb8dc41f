#include "models/hardware/nic/nic.hpp"

#include <algorithm>

#include "sim/core/invariant.hpp"
#include "sim/core/pool.hpp"

namespace moire::nic {

namespace {

enum class Step : std::uint64_t { told, fetched, inject, next_of_thread };

std::uint64_t pack(Step step, std::uint32_t index) { return static_cast<std::uint64_t>(step) << 32 | index; }

}  // namespace

// A host thread has queue pairs of its own.
std::uint64_t Nic::Posted::pair() const {
  const std::uint64_t by = issuer == Issuer::proxy ? 1 : 0;
  return by << 63 | static_cast<std::uint64_t>(destination) << 32 | queue_pair;
}

Nic::Nic(core::Calendar& calendar, core::Network& network, core::EndpointId endpoint, const NicSpec& spec,
         std::uint32_t component)
    : calendar_(calendar),
      network_(network),
      endpoint_(endpoint),
      spec_(spec),
      component_(component),
      service_(Time::from_seconds(1 / spec.message_rate.value)) {
  if (spec.queue_pair_message_rate) {
    queue_pair_service_ = Time::from_seconds(1 / spec.queue_pair_message_rate->value);
  }
  thread_alone_ = spec.proxy_time >= queue_pair_service_ * 2 && spec.proxy_time >= queue_pair_service_ + service_ * 2;
}

Time Nic::post(const Put& put) {
  MOIRE_INVARIANT(put.bytes.value >= 1 && put.receiver != nullptr, "a put needs a byte and a receiver");
  const auto known = std::find(receivers_.begin(), receivers_.end(), put.receiver);
  const auto receiver = static_cast<std::uint16_t>(known - receivers_.begin());
  if (known == receivers_.end()) receivers_.push_back(put.receiver);
  MOIRE_INVARIANT(receivers_.size() <= UINT16_MAX, "a NIC serves more receivers than it can number");
  const std::uint32_t index = core::take(puts_, spare_);
  puts_[index] = {put.destination, put.queue_pair, put.bytes, put.payload, receiver, put.flag, put.issuer};
  if (put.issuer == Issuer::gpu) {
    puts_[index].queue_pair %= static_cast<std::uint32_t>(spec_.queue_pairs);
    if (thread_alone_) schedule_untold();
    thread_alone_ = false;
  }
  ++posted_;
  const Time at = calendar_.now() + put.after;
  if (put.after.ps == 0) {
    told(index, at);
  } else if (of_thread_.empty() || !thread_alone_) {
    calendar_.schedule(at, *this, pack(Step::told, index), component_);
  } else {
    const auto later = [](Time time, const Untold& other) { return time < other.at; };
    untold_.insert(std::upper_bound(untold_.begin(), untold_.end(), at, later), {index, at});
  }
  return calendar_.now() + spec_.wqe_build;
}

void Nic::told(std::uint32_t index, Time at) {
  tell_until(at);
  book(index, at);
}

// Reserves the put's time in its queue pair now, so that the queue pair serves puts in the order in which they were
// posted.
void Nic::book(std::uint32_t index, Time at) {
  Time rings = at + spec_.wqe_build;
  if (puts_[index].issuer == Issuer::proxy) {
    // All puts take the same time to reach the host thread, so it serves them in the order in which they were posted.
    proxy_free_ = std::max(rings + spec_.proxy_latency, proxy_free_) + spec_.proxy_time;
    rings = proxy_free_;
  }
  Time fetched = rings + spec_.doorbell;
  if (thread_alone_) {
    const Time work = (queue_pair_service_ + service_) * puts_[index].work_requests();
    of_thread_.push_back({puts_[index], fetched + work + spec_.pcie_latency});
    spare_.push_back(index);
    if (of_thread_.size() == 1)
      calendar_.schedule(of_thread_.front().injects, *this, pack(Step::next_of_thread, 0), component_);
    return;
  }
  if (spec_.queue_pair_message_rate) {
    Time& free = queue_pair_free_[puts_[index].pair()];
    free = std::max(fetched, free) + queue_pair_service_ * puts_[index].work_requests();
    fetched = free;
  }
  calendar_.schedule(fetched, *this, pack(Step::fetched, index), component_);
}

void Nic::tell_until(Time at) {
  while (!untold_.empty() && untold_.front().at <= at) {
    const Untold next = untold_.front();
    untold_.pop_front();
    book(next.index, next.at);
  }
}

void Nic::schedule_untold() {
  tell_until(calendar_.now());
  for (const Untold& put : untold_) calendar_.schedule(put.at, *this, pack(Step::told, put.index), component_);
  untold_.clear();
}

void Nic::fire(std::uint64_t event) {
  const auto index = static_cast<std::uint32_t>(event);
  switch (static_cast<Step>(event >> 32)) {
    case Step::told:
      return told(index, calendar_.now());
    case Step::fetched:
      return fetched(index);
    case Step::inject:
      inject(puts_[index]);
      return spare_.push_back(index);
    case Step::next_of_thread:
      return next_of_thread();
  }
}

void Nic::next_of_thread() {
  tell_until(calendar_.now());
  inject(of_thread_.front().put);
  of_thread_.pop_front();
  if (of_thread_.empty()) return schedule_untold();
  const OfThread& next = of_thread_.front();
  calendar_.schedule(next.injects, *this, pack(Step::next_of_thread, 0), component_);
}

void Nic::fires_next(std::uint64_t event) const {
  if (static_cast<Step>(event >> 32) == Step::next_of_thread) {
    __builtin_prefetch(&of_thread_.front());
  } else {
    __builtin_prefetch(&puts_[static_cast<std::uint32_t>(event)]);
  }
}

void Nic::fetched(std::uint32_t index) {
  if (spec_.queue_pair_message_rate) {
    const auto queue_pair = queue_pair_free_.find(puts_[index].pair());
    if (queue_pair != queue_pair_free_.end() && queue_pair->second == calendar_.now())
      queue_pair_free_.erase(queue_pair);
  }
  free_ = std::max(calendar_.now(), free_) + service_ * puts_[index].work_requests();
  calendar_.schedule(free_ + spec_.pcie_latency, *this, pack(Step::inject, index), component_);
}

void Nic::inject(const Posted& put) {
  const Time after = put.flag ? spec_.flag_latency : Time{};
  network_.send({endpoint_, put.destination, put.queue_pair, put.bytes, receivers_[put.receiver], put.payload, after});
  ++injected_;
}

}  // namespace moire::nic
