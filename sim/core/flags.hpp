// A flag is a counter in the memory of a rank. Workgroups, copies and NICs raise flags, and workgroups wait for flags.
//
// The time of a raise is often known beforehand, because the store that raises the flag takes a fixed latency. If a
// flag is `in_order`, a call of raise_at() never raises it before the raises of earlier calls. Its waiters therefore
// learn at the call at which time their target will be reached, and the raise needs no event in the calendar. Other
// flags may be raised earlier by a later call. Their raises are events while somebody waits, and are only recorded
// otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/run_loop.hpp"

namespace moire::core {

using FlagId = std::uint32_t;

// Somebody who waits for a flag. Flags tells a waiter the time at which its flag reaches its target, as soon as this
// time is known.
class FlagWaiter {
 public:
  virtual ~FlagWaiter() = default;
  // Called once per wait: the flag reaches the target at `at`, which is now or later. Implementations may call
  // Flags::wait().
  virtual void reaches(std::uint64_t payload, Time at) = 0;

 protected:
  FlagWaiter() = default;
  FlagWaiter(const FlagWaiter&) = default;
  FlagWaiter& operator=(const FlagWaiter&) = default;
};

class Flags final : private EventSink {
 public:
  explicit Flags(Calendar& calendar, std::uint32_t component = 0) : calendar_(calendar), component_(component) {}

  // Makes `count` flags of value 0 with consecutive ids and returns the first id. A flag gets memory on its first use.
  // `in_order` states that a single sender raises each of these flags, over a single path.
  FlagId add(std::uint32_t count, bool in_order = false);
  std::size_t size() const { return size_; }
  std::int64_t value(FlagId id) const;
  void raise(FlagId id, std::int64_t by = 1);
  // Raises the flag by one at time `at`. Returns the time of the raise, which can be later than `at`: an `in_order`
  // flag never rises before the raises of earlier calls.
  Time raise_at(FlagId id, Time at);
  // Returns the time at which the flag reaches `target`: now if the flag has reached it, a later time if this time is
  // known, else Time::max(). A later time is only known for an `in_order` flag.
  Time reached(FlagId id, std::int64_t target) const;
  // Calls waiter.reaches() once it is known when the flag reaches `target`. If this time is known already, the call
  // comes before wait() returns.
  void wait(FlagId id, std::int64_t target, FlagWaiter& waiter, std::uint64_t payload);

  struct Waiter {
    FlagId flag = 0;
    std::int64_t target = 0;
    FlagWaiter* waiter = nullptr;
    std::uint64_t payload = 0;
  };
  // Returns all waiters that have not been told a time, sorted by flag and then by the order in which they began to
  // wait.
  std::vector<Waiter> waiting() const;

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Flag {
    std::int64_t known = 0;  // value after all recorded raises; a raise that is an event counts when it fires
    Time last;               // time of the latest recorded raise
    // Two circular lists. Each field is the index of the list's last entry, and the successor of the last entry is the
    // first entry.
    std::uint32_t waiters = none;  // in parked_, in the order in which they began to wait
    std::uint32_t coming = none;   // in coming_: known raises before the latest; some of them may be in the past
  };
  struct Parked {
    std::int64_t target = 0;
    FlagWaiter* waiter = nullptr;
    std::uint64_t payload = 0;
    std::uint32_t next = none;
    std::int64_t lowest = 0;  // the lowest target of this waiter and of all before it in the list
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
  void add_coming(Flag& flag, Time at);
  void make_events(FlagId id, Flag& flag);
  void park(Flag& flag, std::uint32_t at);
  void tell(Flag& flag);
  void forget_past(Flag& flag);

  Calendar& calendar_;
  std::uint32_t component_;
  FlagId size_ = 0;
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<std::uint64_t> in_order_;  // one bit per flag
  std::vector<Parked> parked_;
  std::vector<std::uint32_t> free_parked_;
  std::vector<Coming> coming_;
  std::vector<std::uint32_t> free_coming_;
};

}  // namespace moire::core
