// Flags: counters in the memory of one rank that workgroups, copies and NICs raise and workgroups wait for.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/run_loop.hpp"

namespace moire::core {

using FlagId = std::uint32_t;

class Flags {
 public:
  explicit Flags(Calendar& calendar, std::uint32_t component = 0) : calendar_(calendar), component_(component) {}

  // Makes `count` flags of value 0; returns the first id, the others follow.
  FlagId add(std::uint32_t count);
  std::size_t size() const { return flags_.size(); }
  std::int64_t value(FlagId id) const { return flags_[id].value; }
  void raise(FlagId id, std::int64_t by = 1);
  // Fires sink.fire(payload) `notice` after the flag reaches `target` (a poll interval); also if it already has.
  void wait(FlagId id, std::int64_t target, Time notice, EventSink& sink, std::uint64_t payload);

  struct Waiter {
    FlagId flag = 0;
    std::int64_t target = 0;
    Time notice;
    EventSink* sink = nullptr;
    std::uint64_t payload = 0;
  };
  // Everyone who still waits, by flag and then in the order they began to.
  std::vector<Waiter> waiting() const;

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Flag {
    std::int64_t value = 0;
    std::int64_t lowest = INT64_MAX;  // target of all who wait
    std::uint32_t first = none;       // parked waiters, oldest first
    std::uint32_t last = none;
  };
  struct Parked {
    std::int64_t target = 0;
    Time notice;
    EventSink* sink = nullptr;
    std::uint64_t payload = 0;
    std::uint32_t next = none;
  };
  void park(Flag& flag, std::uint32_t at);

  Calendar& calendar_;
  std::uint32_t component_;
  std::vector<Flag> flags_;
  std::vector<Parked> parked_;
  std::vector<std::uint32_t> free_;
};

}  // namespace moire::core
