// Flags: counters in the memory of a rank. Workgroups, copies and NICs raise them, and workgroups wait for them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/run_loop.hpp"

namespace moire::core {

using FlagId = std::uint32_t;

class Flags {
 public:
  explicit Flags(Calendar& calendar, std::uint32_t component = 0) : calendar_(calendar), component_(component) {}

  // Makes `count` flags of value 0 with consecutive ids and returns the first id. Memory is allocated on first use.
  FlagId add(std::uint32_t count);
  std::size_t size() const { return size_; }
  std::int64_t value(FlagId id) const { return pages_[id / page] ? (*pages_[id / page])[id % page].value : 0; }
  void raise(FlagId id, std::int64_t by = 1);
  // Prefetch hint: the flag will be raised next. Changes nothing.
  void fetch(FlagId id) const {
    if (pages_[id / page]) __builtin_prefetch(&(*pages_[id / page])[id % page]);
  }
  // Fires sink.fire(payload) `notice` (a polling delay) after the flag reaches `target`, also if it already has.
  void wait(FlagId id, std::int64_t target, Time notice, EventSink& sink, std::uint64_t payload);

  struct Waiter {
    FlagId flag = 0;
    std::int64_t target = 0;
    Time notice;
    EventSink* sink = nullptr;
    std::uint64_t payload = 0;
  };
  // All waiters, by flag, then in the order in which they began to wait.
  std::vector<Waiter> waiting() const;

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Flag {
    std::int64_t value = 0;
    std::int64_t lowest = INT64_MAX;  // the lowest target of all waiters
    std::uint32_t first = none;       // list of parked waiters, oldest first
    std::uint32_t last = none;
  };
  struct Parked {
    std::int64_t target = 0;
    Time notice;
    EventSink* sink = nullptr;
    std::uint64_t payload = 0;
    std::uint32_t next = none;
  };
  static constexpr FlagId page = 64;
  using Page = std::array<Flag, page>;

  Flag& flag_of(FlagId id) {
    std::unique_ptr<Page>& its = pages_[id / page];
    if (!its) its = std::make_unique<Page>();
    return (*its)[id % page];
  }
  void park(Flag& flag, std::uint32_t at);

  Calendar& calendar_;
  std::uint32_t component_;
  FlagId size_ = 0;
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<Parked> parked_;
  std::vector<std::uint32_t> free_;
};

}  // namespace moire::core
