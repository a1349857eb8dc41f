// Flags: counters in the memory of a rank. Workgroups, copies and NICs raise them, and workgroups wait for them.
//
// A raise is often known before it happens: a store is on its way for a fixed latency. If a flag is raised `in_order`,
// no raise that becomes known later can come earlier. Then waiters learn at once when their target will be reached, and
// the raise itself is no event.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/run_loop.hpp"

namespace moire::core {

using FlagId = std::uint32_t;

// Learns when a flag reaches a target, as soon as that is known.
class FlagWaiter {
 public:
  virtual ~FlagWaiter() = default;
  // `at` is now or later. May wait for other flags.
  virtual void reaches(std::uint64_t payload, Time at) = 0;

 protected:
  FlagWaiter() = default;
  FlagWaiter(const FlagWaiter&) = default;
  FlagWaiter& operator=(const FlagWaiter&) = default;
};

class Flags final : private EventSink {
 public:
  explicit Flags(Calendar& calendar, std::uint32_t component = 0) : calendar_(calendar), component_(component) {}

  // Makes `count` flags of value 0 with consecutive ids and returns the first id. Memory is allocated on first use.
  // `in_order`: one sender raises each of these flags, over one path.
  FlagId add(std::uint32_t count, bool in_order = false);
  std::size_t size() const { return size_; }
  std::int64_t value(FlagId id) const;
  void raise(FlagId id, std::int64_t by = 1);
  // Raises it by one at a later time, which is returned: a flag that is raised in order rises no earlier than by the
  // calls before.
  Time raise_at(FlagId id, Time at);
  // When the flag reaches (or has reached) `target`: now, a later time, or Time::max() if that is not known yet.
  Time reached(FlagId id, std::int64_t target) const;
  // Tells the waiter when the flag reaches `target`: immediately if that is known, even before wait() returns.
  void wait(FlagId id, std::int64_t target, FlagWaiter& waiter, std::uint64_t payload);

  struct Waiter {
    FlagId flag = 0;
    std::int64_t target = 0;
    FlagWaiter* waiter = nullptr;
    std::uint64_t payload = 0;
  };
  // All waiters whose targets are not known to be reached, by flag, then in the order in which they began to wait.
  std::vector<Waiter> waiting() const;

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Flag {
    std::int64_t known = 0;  // value after all raises that are known
    Time last;               // of the latest of these raises
    // Circular lists, each known by its last entry, whose successor is the first.
    std::uint32_t waiters = none;  // in the order in which they began to wait
    std::uint32_t coming = none;   // earlier raises that are on their way; may contain some that are over
  };
  struct Parked {
    std::int64_t target = 0;
    FlagWaiter* waiter = nullptr;
    std::uint64_t payload = 0;
    std::uint32_t next = none;
    std::int64_t lowest = 0;  // target of this and all waiters before it
  };
  struct Coming {
    Time at;
    std::uint32_t next = none;
  };
  static constexpr FlagId page = 64;
  using Page = std::array<Flag, page>;

  void fire(std::uint64_t id) override { raise(static_cast<FlagId>(id)); }
  void fires_next(std::uint64_t id) const override;
  Flag& flag_of(FlagId id);
  const Flag* find(FlagId id) const { return pages_[id / page] ? &(*pages_[id / page])[id % page] : nullptr; }
  bool in_order(FlagId id) const { return (in_order_[id / page] >> id % page & 1) != 0; }
  void park(Flag& flag, std::uint32_t at);
  void tell(Flag& flag);
  void forget_past(Flag& flag);

  Calendar& calendar_;
  std::uint32_t component_;
  FlagId size_ = 0;
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<std::uint64_t> in_order_;  // a bit for each flag
  std::vector<Parked> parked_;
  std::vector<std::uint32_t> free_parked_;
  std::vector<Coming> coming_;
  std::vector<std::uint32_t> free_coming_;
};

}  // namespace moire::core
