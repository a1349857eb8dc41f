// Runs work phases of workgroups. Tracks what is active on every CU, and moves workgroups between classes of the
// sharing law when the load of their CU changes. Changes the classes of a GPU when its clock changes, or the number of
// its workgroups that load in step.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "models/hardware/cu/cu_array.hpp"
#include "models/hardware/cu/memory_pipe.hpp"
#include "models/hardware/cu/phase_class.hpp"
#include "sim/core/index_table.hpp"
#include "sim/core/pool.hpp"

namespace moire::cu {

using part::Seat;
using part::ShapeId;

class PhaseRunner : public part::Phases, public part::Clocks, public core::Settler, public core::EventSink {
 public:
  // What the clocks depend on besides the CUs.
  struct Operation {
    // Power of a byte per second of traffic of the memory, and of the links, relative to that of a CU with dense matrix
    // arithmetic on random data; 0: not known.
    double memory_byte = 0, link_byte = 0;
    bool traffic_counts() const { return memory_byte + link_byte > 0; }
    bool slowed = false;    // the GPUs run at an operating point below their full clock
    bool repeated = false;  // SystemSpec::repeated
  };
  PhaseRunner(part::Site& site, const CuArraySpec& compute, const Operation& operation);

  ShapeId add_shape(const program::PhaseShape& shape, std::uint32_t queue) override;
  void start(Seat seat, part::Rank rank, CuId cu, ShapeId shape, part::Rank peer, double amount, core::EventSink& sink,
             std::uint64_t payload) override;
  void start_posted(Seat seat, part::Rank rank, CuId cu, ShapeId shape, part::Rank peer, double amount,
                    core::EventSink& sink, std::uint64_t payload) override;
  void leave(Seat seat) override;
  Time straggles(Seat seat, std::int64_t workgroups) const override;
  void stands_in(part::Rank rank, const std::vector<part::Rank>& others, ShapeId first, std::size_t count) override;
  Time looks_back() const override { return pipe_.looks_back(); }
  void traffic_changes(part::Rank rank) override;

  // Starts the phases that were requested in this instant, and moves activities to other classes if the load of their
  // CU has changed. Runs before the sharing law is solved for the instant.
  void settle() override;
  void fire(std::uint64_t seat) override;

 private:
  // The two classes used last. They save a look-up, because the next phase often uses one of them again.
  using LastClasses = std::array<core::ClassId, 2>;
  struct alignas(64) Occupant {  // a cache line
    ShapeId shape = 0;
    part::Rank rank = 0;
    part::Rank peer = 0;
    CuId cu = 0;
    core::ActivityId activity = core::no_id;  // no_id also if the activity is in a bundle
    LastClasses last{core::no_id, core::no_id};
    bool present = false;        // counts towards the load of its CU
    bool loads_first = false;    // has loaded nothing since it arrived on its CU
    double computing_share = 0;  // share of its CU's matrix rate; 0: an equal share
    core::EventSink* sink = nullptr;
    std::uint64_t payload = 0;
    core::CapacityId fills = core::no_id;  // memory of whose first loads its phase waits; no_id: none
    std::uint32_t filling = 0;             // of `fills`, in fillings_
  };
  // Active workgroups with the same shape and peer on one CU. A workgroup joins them when the load of the CU changes
  // for the first time after its start.
  struct Alike {
    ShapeId shape = 0;
    part::Rank peer = 0;
    core::BundleId bundle = 0;
    LastClasses last{core::no_id, core::no_id};
  };
  static constexpr std::uint32_t no_place = UINT32_MAX;
  struct Unit {  // one CU
    CuLoad load;
    CuLoad applied;
    bool changed = false;
    double asked = 0;  // bytes in flight of this CU that are contained in Path::asked of its port and its group
    double power = 0;  // sum of PhaseShape::power over its workgroups
    std::uint32_t port = no_place;
    std::uint32_t group = no_place;
    std::vector<Seat> seats;  // of the workgroups that count towards its load, the oldest first
    std::vector<Alike> alike;
  };
  // CUs that share a path to the memory system: a port or a group.
  struct Path {
    std::uint32_t first_unit = 0;
    std::uint32_t last_unit = 0;
    double asked = 0;  // bytes in flight, sum over its CUs
    double told = -1;  // value for the load of its CUs: CuLoad::port_share for a port, group_in_flight for a group
    bool changed = false;
  };
  // A time in which the clock is lower because matrix arithmetic has begun (CuArraySpec::clock_dip).
  struct Dip {
    Time from, until;
  };
  // The clock of a GPU, which matrix arithmetic lowers.
  struct Clock {
    double power = 0;            // sum over the GPU's CUs of min(1, Unit::power)
    double share = 1;            // fraction of the highest clock
    std::uint32_t matrix = 0;    // workgroups that do matrix arithmetic, of whatever digits
    bool beside_matrix = false;  // told to its classes: there are such workgroups
    bool changed = false;
    bool touched = false;       // in touched_clocks_
    int corrections = 0;        // in this instant, because the traffic is another than before
    std::optional<Time> ended;  // when the last matrix arithmetic ended
    std::vector<Dip> dips;      // not yet over
    Time memory_from;           // from then on the power of the memory's traffic lowers the clock
  };
  // A capacity whose load lowers the clock of a GPU, and the power of a unit of this load (Operation).
  struct Drain {
    core::CapacityId capacity;
    double power;
    bool memory;  // not a link
  };
  // Runs after the sharing law is solved, so that it sees the traffic in this instant.
  struct AfterSharing final : core::Settler, core::EventSink {
    explicit AfterSharing(PhaseRunner& of) : runner(of) {}
    void settle() override { runner.check_clocks(); }
    void fire(std::uint64_t clock) override { runner.mark_clock(static_cast<std::uint32_t>(clock)); }
    PhaseRunner& runner;
  };
  // What the classes of a GPU depend on besides the clock.
  struct Gpu {
    std::uint32_t in_step = 0;           // workgroups that load in step
    std::uint32_t told = 0;              // value in its classes
    bool changed = false;                // in_step or the clock
    std::vector<core::ClassId> classes;  // with members, and some that had members
  };
  struct Key {
    ShapeId shape;
    part::Rank rank;
    part::Rank peer;
    std::uint32_t computing;
    double computing_share;
    double in_flight;
    double port_share;
    double group_in_flight;
    bool operator==(const Key&) const = default;
  };
  // A class. Its numbers change when the clock of its GPU changes or the workgroups that load in step.
  struct Made {
    Key key;
    double clock = 1;
    double beside_matrix = 1;
    double held = 0;
    bool listed = false;  // in Gpu::classes
  };
  static std::uint64_t hash(const Key& key);

  struct Starting {
    Seat seat;
    double amount;
  };

  // If a counterfactual run gives every queue its own CUs or clocks, units or clocks exist once per queue.
  std::uint32_t unit_of(const Occupant& occupant) const {
    return gpu_of(occupant.shape, occupant.rank) * cus_ + occupant.cu;
  }
  std::uint32_t clock_of(ShapeId shape, part::Rank rank) const {
    return (own_clock_ ? queues_[shape] * site_.ranks() : 0) + rank;
  }
  std::uint32_t gpu_of(ShapeId shape, part::Rank rank) const {
    return (own_cus_ ? queues_[shape] * site_.ranks() : 0) + rank;
  }
  // An argument of in_equal_batches() and its result.
  struct Batched {
    double amount = -1;
    ShapeId shape = 0;
  };
  static std::uint64_t kind_of(const Occupant& occupant) { return std::uint64_t{occupant.shape} << 32 | occupant.rank; }
  void add_load(const Occupant& occupant, int sign);
  void add_paths();
  void share_paths();
  void add_power(Unit& unit, std::uint32_t clock, const program::PhaseShape& shape, int sign);
  void mark_clock(std::uint32_t clock);
  void expect_dip(std::uint32_t clock);
  bool dips(Clock& clock);
  double traffic_power(std::uint32_t clock);
  double clock_now(std::uint32_t clock);
  void set_clocks();
  void check_clocks();
  void follow_gpus();
  void mark_gpu(std::uint32_t gpu);
  double port_share(const Path& port) const;
  double group_in_flight(const Path& group) const;
  void mark_changed(std::uint32_t unit);
  void share_arithmetic(const Unit& unit);
  ShapeId in_equal_batches(ShapeId shape, double amount);
  ShapeId find_batched(ShapeId shape, double amount);
  void fill(Seat seat, const core::ClassSpec& spec, double amount);
  void move_all(Unit& unit, part::Rank rank);
  Alike* alike_of(Unit& unit, std::size_t i);
  core::ClassId class_for(Occupant& occupant, CuLoad load);
  core::ClassId class_for(ShapeId shape, part::Rank rank, part::Rank peer, const CuLoad& load, LastClasses& last);
  core::ClassId find(const Key& key, LastClasses& last);
  core::ClassId make(const Key& key);
  bool follows_gpu(ShapeId shape) const { return !clocks_.empty() || shapes_[shape].held_each > 0; }
  CuLoad load_now(const Key& key) const;
  void refresh(core::ClassId id);
  core::ClassSpec spec_of(const Key& key, const CuLoad& load) const;

 protected:
  const CuArraySpec& compute_of(part::Rank rank) const { return slow_.empty() ? compute_ : slow_[rank]; }

 private:
  part::Site& site_;
  MemoryPipe pipe_;
  CuArraySpec compute_;
  std::vector<CuArraySpec> slow_;  // by rank, if clocks differ
  std::uint32_t cus_;
  bool own_cus_;    // every queue has its own CUs
  bool own_clock_;  // every queue has its own clocks
  bool has_begin_;  // the begin of matrix arithmetic has a clock of its own: CuArraySpec::clock_dip...
  bool by_age_;     // older workgroups of a CU get larger shares of its arithmetic
  std::vector<program::PhaseShape> shapes_;
  std::vector<std::uint32_t> queues_;  // by shape
  std::vector<double> arrivals_;       // by shape: first_arrival()
  std::vector<Time> lags_;             // by shape: straggling() of one workgroup
  std::vector<ShapeId> originals_;     // by shape: the shape from which in_equal_batches() made it, or the shape itself
  std::map<std::pair<ShapeId, double>, ShapeId> batched_;  // by original and bytes of a batch
  std::vector<Batched> last_batched_;                      // by shape: the last result of in_equal_batches()
  std::vector<Unit> units_;
  std::vector<bool> occupied_;  // by unit: it has workgroups that count towards its load
  std::vector<std::uint32_t> changed_;
  std::vector<Path> paths_;  // ports and groups
  std::vector<std::uint32_t> changed_paths_;
  Operation operation_;
  AfterSharing after_sharing_{*this};
  std::vector<std::vector<Drain>> drains_;  // by rank; filled when first needed
  std::vector<Clock> clocks_;
  std::vector<std::uint32_t> changed_clocks_;
  std::vector<std::uint32_t> touched_clocks_;  // whose power may have changed in this instant
  std::vector<Gpu> gpus_;                      // by GPU, or by queue and GPU if every queue has its own CUs
  std::vector<std::uint32_t> changed_gpus_;
  std::vector<Starting> starting_;
  std::vector<Seat> alone_;          // scratch of move_all()
  std::vector<Occupant> occupants_;  // by seat
  core::Pool<MemoryPipe::Filling> fillings_;
  std::vector<Made> made_;                  // by class
  core::IndexTable classes_;                // by Made::key
  core::ClassId found_last_ = core::no_id;  // in classes_
};

}  // namespace moire::cu
