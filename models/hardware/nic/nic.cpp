#include "models/hardware/nic/nic.hpp"

#include <algorithm>

#include "sim/core/invariant.hpp"

namespace moire::nic {

namespace {

enum class Step : std::uint64_t { told, rung, fetched, inject, delivered, complete };

std::uint64_t pack(Step step, std::uint32_t index) { return static_cast<std::uint64_t>(step) << 32 | index; }

std::int64_t work_requests(const Put& put) { return put.flag ? 2 : 1; }

std::uint64_t key_of(const Put& put) { return static_cast<std::uint64_t>(put.destination) << 32 | put.queue_pair; }

}  // namespace

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
}

Time Nic::post(const Put& put) {
  MOIRE_INVARIANT(put.bytes.value >= 1 && put.sink != nullptr, "a put needs a byte and a sink");
  std::uint32_t index = 0;
  if (spare_.empty()) {
    index = static_cast<std::uint32_t>(puts_.size());
    puts_.push_back(put);
  } else {
    index = spare_.back();
    spare_.pop_back();
    puts_[index] = put;
  }
  if (put.issuer == Issuer::gpu) puts_[index].queue_pair %= static_cast<std::uint32_t>(spec_.queue_pairs);
  ++posted_;
  if (put.after.ps > 0) {
    calendar_.schedule(calendar_.now() + put.after, *this, pack(Step::told, index), component_);
  } else {
    told(index);
  }
  return calendar_.now() + spec_.wqe_build;
}

void Nic::told(std::uint32_t index) {
  Time rings = calendar_.now() + spec_.wqe_build;
  if (puts_[index].issuer == Issuer::proxy) {
    // Booked at once: every put needs the same time to reach the host thread, so posting order is its order.
    proxy_free_ = std::max(rings + spec_.proxy_latency, proxy_free_) + spec_.proxy_time;
    rings = proxy_free_;
  }
  calendar_.schedule(rings + spec_.doorbell, *this, pack(Step::rung, index), component_);
}

void Nic::fire(std::uint64_t event) {
  const auto index = static_cast<std::uint32_t>(event);
  switch (static_cast<Step>(event >> 32)) {
    case Step::told:
      return told(index);
    case Step::rung:
      return rung(index);
    case Step::fetched:
      return fetched(index);
    case Step::inject:
      return inject(index);
    case Step::delivered:
      return delivered(index);
    case Step::complete:
      return complete(index);
  }
}

void Nic::rung(std::uint32_t index) {
  if (!spec_.queue_pair_message_rate) return fetched(index);
  Time& free = queue_pair_free_[key_of(puts_[index])];
  free = std::max(calendar_.now(), free) + queue_pair_service_ * work_requests(puts_[index]);
  calendar_.schedule(free, *this, pack(Step::fetched, index), component_);
}

void Nic::fetched(std::uint32_t index) {
  const auto queue_pair = queue_pair_free_.find(key_of(puts_[index]));
  if (queue_pair != queue_pair_free_.end() && queue_pair->second == calendar_.now()) queue_pair_free_.erase(queue_pair);
  free_ = std::max(calendar_.now(), free_) + service_ * work_requests(puts_[index]);
  calendar_.schedule(free_ + spec_.pcie_latency, *this, pack(Step::inject, index), component_);
}

void Nic::inject(std::uint32_t index) {
  const Put& put = puts_[index];
  network_.send({endpoint_, put.destination, put.queue_pair, put.bytes, this, pack(Step::delivered, index)});
}

void Nic::delivered(std::uint32_t index) {
  if (!puts_[index].flag) return complete(index);
  calendar_.schedule(calendar_.now() + spec_.flag_latency, *this, pack(Step::complete, index), component_);
}

void Nic::complete(std::uint32_t index) {
  const Put put = puts_[index];
  spare_.push_back(index);
  ++completed_;
  put.sink->fire(put.payload);
}

}  // namespace moire::nic
