// Runs work phases of workgroups: keeps what is active on every CU and moves workgroups between classes of the sharing
// law when their CU gets fuller or emptier.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "models/cu/cu_array.hpp"
#include "models/machine/machine.hpp"
#include "models/machine/phase_class.hpp"

namespace moire::models::machine {

using ShapeId = std::uint32_t;
// The place of one resident workgroup; numbers are the caller's, small and reused.
using Seat = std::uint32_t;

class PhaseRunner final : public core::Settler, public core::EventSink {
 public:
  explicit PhaseRunner(Machine& machine);

  ShapeId add_shape(const program::PhaseShape& shape);
  // Runs `amount` units of a shape for the workgroup in `seat`; then sink.fire(payload). Between two phases the seat
  // goes on counting as load of its CU: issuing a put or a fence is too short to leave its share to others.
  void start(Seat seat, Rank rank, cu::CuId cu, ShapeId shape, Rank peer, double amount, core::EventSink& sink,
             std::uint64_t payload);
  // Work that its workgroup does not wait for: takes a seat of its own and no share of the CU from others.
  void start_posted(Seat seat, Rank rank, cu::CuId cu, ShapeId shape, Rank peer, double amount, core::EventSink& sink,
                    std::uint64_t payload);
  // The workgroup begins to wait for others, or retires: its share of the CU is free.
  void leave(Seat seat);

  // Enters what started in this instant and moves what needs another class because its CU's load changed; runs before
  // the sharing settles.
  void settle() override;
  void fire(std::uint64_t seat) override;

 private:
  struct Occupant {
    ShapeId shape = 0;
    Rank rank = 0;
    Rank peer = 0;
    cu::CuId cu = 0;
    bool present = false;  // counts as load of its CU
    core::ActivityId activity = core::no_id;
    core::EventSink* sink = nullptr;
    std::uint64_t payload = 0;
  };
  struct Unit {  // one CU
    CuLoad load;
    CuLoad applied;
    bool changed = false;
    double at_port = 0;  // bytes in flight it asks its port for
    std::uint32_t port = no_port;
    std::vector<Seat> seats;
  };
  // A port of a group to the memory system.
  struct Port {
    std::uint32_t first_unit = 0;
    std::uint32_t last_unit = 0;
    double asked = 0;  // bytes in flight, sum over its CUs
    bool changed = false;
  };
  static constexpr std::uint32_t no_port = UINT32_MAX;
  struct Key {
    ShapeId shape;
    Rank rank;
    Rank peer;
    std::uint32_t computing;
    double in_flight;
    double port_share;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  struct Starting {
    Seat seat;
    double amount;
  };

  std::uint32_t unit_of(const Occupant& occupant) const { return occupant.rank * cus_ + occupant.cu; }
  void add_load(const Occupant& occupant, int sign);
  void add_ports();
  void share_ports();
  core::ClassId class_for(const Occupant& occupant, const CuLoad& load);

  Machine& machine_;
  std::uint32_t cus_;
  std::vector<program::PhaseShape> shapes_;
  std::vector<Unit> units_;
  std::vector<std::uint32_t> changed_;
  std::vector<Port> ports_;
  std::vector<std::uint32_t> changed_ports_;
  std::vector<Starting> starting_;
  std::vector<Occupant> occupants_;
  std::unordered_map<Key, core::ClassId, KeyHash> classes_;
};

}  // namespace moire::models::machine
