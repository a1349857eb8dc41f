// Over 400 lines: the loads of CUs, ports, groups and clocks change together, in one step at the end of an instant.
#include "models/hardware/cu/phase_runner.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "sim/core/invariant.hpp"

namespace moire::cu {

namespace {

// The bytes in flight at a port count in steps of port_queue / port_steps. Smaller changes hardly affect workgroups.
constexpr double port_steps = 4;
// A group's bytes in flight are rounded up to a multiple of bytes_in_flight_per_cu or, if smaller, of this many bytes.
// Rounding up slows a lone workgroup only if this multiple / load_per_group exceeds the latency of the memory. 128 KiB
// at 1 TB/s take 131 ns, less than the latency of any memory.
constexpr double group_step = 128 * 1024;
// A quotient that exceeds a whole number of batches or of bytes by less than this share is that number.
constexpr double rounding = 1e-6;

// Returns whether the phase takes part in sharing the arithmetic and the issue slots of its CU.
bool computes(const program::PhaseShape& shape) { return shape.flop > 0 || shape.instructions.all > 0; }

}  // namespace

PhaseRunner::PhaseRunner(part::Site& site, const CuArraySpec& compute, const Operation& operation)
    : site_(site),
      pipe_(site),
      compute_(compute),
      cus_(static_cast<std::uint32_t>(compute.total_cus())),
      own_cus_(site.apart().has("cus")),
      own_clock_(site.apart().has("clock")),
      has_begin_(compute.clock_dip > 0 || compute.clock_dip_delay.ps > 0),
      by_age_(compute.younger_matrix_share < 1),
      operation_(operation) {
  MOIRE_INVARIANT(own_cus_ || !own_clock_, "CUs that are shared have one clock");
  units_.resize(std::size_t{site.ranks()} * cus_ * site.copies("cus"));
  occupied_.resize(units_.size());
  gpus_.resize(units_.size() / cus_);
  if (compute.matrix_clock) clocks_.resize(std::size_t{site.ranks()} * site.copies("clock"));
  if (operation.repeated)
    for (Clock& clock : clocks_) clock.ended = Time{};
  if (compute.port_queue || compute.load_per_group) add_paths();
  for (part::Rank rank = 0; rank < site.ranks() && !site.uneven().clock.empty(); ++rank)
    slow_.push_back(compute.at_clock(site.uneven().clock[rank]));
  site.loop().add_first(*this);
  if (!clocks_.empty() && operation.traffic_counts()) site.loop().add(after_sharing_);
}

void PhaseRunner::add_paths() {
  const CuArraySpec& compute = compute_;
  const auto add = [this](std::uint32_t& unit, std::int64_t cus, std::uint32_t Unit::*path) {
    const std::uint32_t first = unit;
    for (std::int64_t i = 0; i < cus; ++i) units_[unit++].*path = static_cast<std::uint32_t>(paths_.size());
    paths_.push_back({first, unit});
  };
  for (std::uint32_t first = 0; first < units_.size(); first += cus_) {
    std::uint32_t unit = first;
    for (const std::int64_t behind : compute.ports) add(unit, behind, &Unit::port);
    if (!compute.load_per_group) continue;
    unit = first;
    for (const CuGroupSpec& group : compute.groups) {
      for (std::int64_t copy = 0; copy < group.count; ++copy) add(unit, group.cus, &Unit::group);
    }
  }
}

// Returns the share of the bytes in flight that the port passes on to a saturated memory (CuLoad::port_share). The
// share changes in steps. Otherwise, a workgroup that starts or ends would move all workgroups of the port to new
// classes, although their rates hardly change.
double PhaseRunner::port_share(const Path& port) const {
  const double queue = compute_.port_queue->value;
  return std::min(1.0, port_steps / std::ceil(port_steps * port.asked / queue));
}

double PhaseRunner::group_in_flight(const Path& group) const {
  const double step = std::min(compute_.bytes_in_flight_per_cu.value, group_step);
  return step * std::ceil(group.asked / step);
}

void PhaseRunner::mark_changed(std::uint32_t at) {
  if (units_[at].changed) return;
  units_[at].changed = true;
  changed_.push_back(at);
}

void PhaseRunner::share_paths() {
  for (const std::uint32_t at : changed_) {
    Unit& unit = units_[at];
    const double asks = std::min(unit.load.in_flight, compute_.bytes_in_flight_per_cu.value);
    for (const std::uint32_t number : {unit.port, unit.group}) {
      if (number == no_place) continue;
      Path& path = paths_[number];
      path.asked += asks - unit.asked;
      if (path.changed) continue;
      path.changed = true;
      changed_paths_.push_back(number);
    }
    unit.asked = asks;
  }
  for (const std::uint32_t number : changed_paths_) {
    Path& path = paths_[number];
    path.changed = false;
    const bool is_port = units_[path.first_unit].port == number;
    const double now = is_port ? port_share(path) : group_in_flight(path);
    if (path.told == now) continue;
    path.told = now;
    for (std::uint32_t at = path.first_unit; at < path.last_unit; ++at) {
      if (occupied_[at]) mark_changed(at);
    }
  }
  changed_paths_.clear();
}

ShapeId PhaseRunner::add_shape(const program::PhaseShape& shape, std::uint32_t queue) {
  shapes_.push_back(shape);
  queues_.push_back(queue);
  // Bytes in flight are rounded up to whole bytes. So the sum over a CU is exact, and has the same value again after
  // workgroups have started and ended.
  shapes_.back().in_flight.value = std::ceil(shape.in_flight.value);
  arrivals_.push_back(first_arrival(compute_, site_, shapes_.back(), queue));
  pipe_.expect(arrivals_.back());
  lags_.push_back(straggling(compute_, site_, shapes_.back(), queue, 1));
  originals_.push_back(static_cast<ShapeId>(shapes_.size() - 1));
  last_batched_.emplace_back();
  return originals_.back();
}

// Returns the shape of a phase that waits for each batch of loads. Its last batch takes a latency even if few bytes are
// left for it, so the phase is divided into equal batches: `amount` units take as many batches of at most `in_flight`
// bytes as are necessary.
ShapeId PhaseRunner::in_equal_batches(ShapeId shape, double amount) {
  if (const Batched& last = last_batched_[shape]; last.amount == amount) return last.shape;
  const ShapeId batched = find_batched(shape, amount);
  last_batched_[shape] = {amount, batched};
  return batched;
}

ShapeId PhaseRunner::find_batched(ShapeId shape, double amount) {
  const program::PhaseShape& of = shapes_[shape];
  const double loaded = amount * (of.read - of.dependent_read + of.peer_read);
  if (of.pipelined || loaded <= 0) return shape;
  const double batches = std::ceil(loaded / of.in_flight.value - rounding);
  const double batch = std::ceil(loaded / std::max(1.0, batches) - rounding);
  if (batch >= of.in_flight.value) return shape;
  const auto [found, made] = batched_.try_emplace({shape, batch}, shape);
  if (made) {
    program::PhaseShape batched = of;
    batched.in_flight = Bytes{std::max(1.0, batch)};
    found->second = add_shape(batched, queues_[shape]);
    originals_.back() = shape;
  }
  return found->second;
}

void PhaseRunner::add_load(const Occupant& occupant, int sign) {
  const program::PhaseShape& shape = shapes_[occupant.shape];
  const std::uint32_t at = unit_of(occupant);
  Unit& unit = units_[at];
  if (shape.read + shape.write + shape.peer_write + shape.peer_read > 0)
    unit.load.in_flight += sign * shape.in_flight.value;
  if (computes(shape)) unit.load.computing += static_cast<std::uint32_t>(sign);
  if (shape.held_each > 0) {
    gpus_[at / cus_].in_step += static_cast<std::uint32_t>(sign);
    mark_gpu(at / cus_);
  }
  if (!clocks_.empty()) add_power(unit, clock_of(occupant.shape, occupant.rank), shape, sign);
  mark_changed(at);
}

void PhaseRunner::start(Seat seat, part::Rank rank, CuId cu, ShapeId shape, part::Rank peer, double amount,
                        core::EventSink& sink, std::uint64_t payload) {
  if (seat >= occupants_.size()) occupants_.resize(seat + 1);
  shape = in_equal_batches(shape, amount);
  Occupant& occupant = occupants_[seat];
  const bool same_load = occupant.present && occupant.shape == shape;
  if (occupant.present && !same_load) add_load(occupant, -1);
  const bool arrives = !occupant.present;
  if (shapes_[shape].peer_write + shapes_[shape].peer_read == 0) peer = rank;  // the shape uses no peer
  occupant = {shape,
              rank,
              peer,
              cu,
              core::no_id,
              occupant.last,
              true,
              arrives || occupant.loads_first,
              same_load ? occupant.computing_share : 0,
              &sink,
              payload};
  if (arrives) {
    const std::uint32_t at = unit_of(occupant);
    units_[at].seats.push_back(seat);
    occupied_[at] = true;
  }
  if (!same_load) add_load(occupant, 1);
  starting_.push_back({seat, amount});
}

void PhaseRunner::start_posted(Seat seat, part::Rank rank, CuId cu, ShapeId shape, part::Rank peer, double amount,
                               core::EventSink& sink, std::uint64_t payload) {
  if (seat >= occupants_.size()) occupants_.resize(seat + 1);
  if (shapes_[shape].peer_write + shapes_[shape].peer_read == 0) peer = rank;
  occupants_[seat] = {shape, rank, peer, cu, core::no_id, occupants_[seat].last, false, false, 0, &sink, payload};
  starting_.push_back({seat, amount});
}

void PhaseRunner::leave(Seat seat) {
  if (seat >= occupants_.size() || !occupants_[seat].present) return;
  Occupant& occupant = occupants_[seat];
  add_load(occupant, -1);
  const std::uint32_t at = unit_of(occupant);
  std::vector<Seat>& seats = units_[at].seats;
  seats.erase(std::find(seats.begin(), seats.end(), seat));
  occupied_[at] = !seats.empty();
  occupant.present = false;
}

Time PhaseRunner::straggles(Seat seat, std::int64_t workgroups) const {
  const ShapeId shape = occupants_[seat].shape;
  const Time last = straggling(compute_, site_, shapes_[shape], queues_[shape], static_cast<double>(workgroups));
  return std::max(last, lags_[shape]) - lags_[shape];
}

void PhaseRunner::stands_in(part::Rank rank, const std::vector<part::Rank>& others, ShapeId first, std::size_t count) {
  if (others.empty()) return;
  core::Sharing& sharing = site_.sharing();
  // Every rank has the same capacities, in the same order.
  std::vector<std::vector<core::CapacityId>> own(site_.ranks());
  std::vector<std::size_t> place(sharing.capacities());
  for (core::CapacityId id = 0; id < place.size(); ++id) {
    std::vector<core::CapacityId>& of = own[site_.owner(id)];
    place[id] = of.size();
    of.push_back(id);
  }
  for (core::ClassId id = 0; id < made_.size(); ++id) {
    const Key& key = made_[id].key;
    const ShapeId original = originals_[key.shape];
    if (key.rank != rank || original < first || original >= first + count) continue;
    const bool own_class = classes_.find(hash(key), [id](core::ClassId found) { return found == id; }) != core::no_id;
    if (!own_class) continue;  // a class of another part, whose entry is unused
    for (const core::Demand& demand : sharing.spec(id).demands) {
      for (const part::Rank other : others)
        sharing.serve(own[other].at(place[demand.capacity]), demand.per_work * sharing.done(id));
    }
  }
}

// Sets the shares of the CU's matrix rate. Each workgroup that does arithmetic gets `younger_matrix_share` times the
// share of the next older workgroup, and all shares add up to 1.
void PhaseRunner::share_arithmetic(const Unit& unit) {
  double sum = 0;
  double share = 1;
  for (std::uint32_t i = 0; i < unit.load.computing; ++i, share *= compute_.younger_matrix_share) sum += share;
  share = 1 / sum;
  for (const Seat seat : unit.seats) {
    Occupant& occupant = occupants_[seat];
    if (!computes(shapes_[occupant.shape])) continue;
    occupant.computing_share = share;
    share *= compute_.younger_matrix_share;
  }
}

// Runs at the end of an instant, because only then all workgroups that end and start on a CU in this picosecond are
// known. If one workgroup replaces another of the same kind, no class changes.
void PhaseRunner::settle() {
  core::Sharing& sharing = site_.sharing();
  set_clocks();
  follow_gpus();
  if (!paths_.empty()) share_paths();
  for (const std::uint32_t at : changed_) {
    Unit& unit = units_[at];
    unit.changed = false;
    if (unit.port != no_place) unit.load.port_share = paths_[unit.port].told;
    if (unit.group != no_place) unit.load.group_in_flight = paths_[unit.group].told;
    // The load may be the same although other workgroups are now the oldest.
    const bool by_age = by_age_ && unit.load.computing > 1;
    if (unit.load == unit.applied && !by_age) continue;
    unit.applied = unit.load;
    if (by_age_) share_arithmetic(unit);
    move_all(unit, at / cus_ % site_.ranks());
  }
  changed_.clear();
  for (const Starting& starting : starting_) {
    Occupant& occupant = occupants_[starting.seat];
    const CuLoad& load = units_[unit_of(occupant)].load;
    const CuLoad alone{.in_flight = shapes_[occupant.shape].in_flight.value, .computing = 1};
    const core::ClassId into = class_for(occupant, occupant.present ? load : alone);
    if (occupant.loads_first && arrivals_[occupant.shape] > 0) fill(starting.seat, sharing.spec(into), starting.amount);
    occupant.activity = sharing.start(into, starting.amount, *this, starting.seat);
  }
  starting_.clear();
}

// Tells the pipe of the first loads of a workgroup. A phase waits for no more of the latency than it would wait alone:
// in the sharing law, a pipelined phase with fewer bytes than one round trip takes the same share of a round trip.
void PhaseRunner::fill(Seat seat, const core::ClassSpec& spec, double amount) {
  Occupant& occupant = occupants_[seat];
  const core::CapacityId memory = spec.latency_capacity;
  if (memory == core::no_id || spec.window <= 0) return;
  occupant.loads_first = false;
  double units = 0;  // of the memory
  for (const core::Demand& demand : spec.demands) units += demand.capacity == memory ? amount * demand.per_work : 0;
  const double alone = amount * (spec.latency + spec.delay) / spec.window;
  const double latency = std::min(arrivals_[occupant.shape], alone - units / site_.sharing().capacity(memory).rate);
  if (latency <= 0) return;
  const auto filling = pipe_.begin(memory, latency, kind_of(occupant));
  if (!filling) return;
  occupant.filling = fillings_.take();
  fillings_[occupant.filling] = *filling;
  occupant.fills = memory;
}

// Moves the workgroups of a CU to the classes for its new load. Workgroups that are alike join a bundle at the first
// change of this load after their start, because they will probably move again.
void PhaseRunner::move_all(Unit& unit, part::Rank rank) {
  core::Sharing& sharing = site_.sharing();
  for (Alike& alike : unit.alike) {
    if (sharing.has_members(alike.bundle))
      sharing.move_bundle(alike.bundle, class_for(alike.shape, rank, alike.peer, unit.load, alike.last));
  }
  alone_.clear();
  for (const Seat seat : unit.seats) {
    if (occupants_[seat].activity != core::no_id) alone_.push_back(seat);
  }
  for (std::size_t i = 0; i < alone_.size(); ++i) {
    Occupant& occupant = occupants_[alone_[i]];
    if (Alike* alike = alike_of(unit, i)) {
      sharing.join(occupant.activity, alike->bundle);
      occupant.activity = core::no_id;
    } else {
      sharing.move(occupant.activity, class_for(occupant, unit.load));
    }
  }
}

// Returns the bundle that alone_[i] shall join, in the class for the present load of its CU. Returns null if its rate
// depends on its age, or if there is neither a bundle nor a later entry of alone_ that is alike.
PhaseRunner::Alike* PhaseRunner::alike_of(Unit& unit, std::size_t i) {
  Occupant& occupant = occupants_[alone_[i]];
  if (by_age_ && computes(shapes_[occupant.shape])) return nullptr;  // its rate differs from that of its neighbours
  core::Sharing& sharing = site_.sharing();
  const auto same = [&](const auto& other) { return other.shape == occupant.shape && other.peer == occupant.peer; };
  Alike* empty = nullptr;
  for (Alike& alike : unit.alike) {
    const bool has_members = sharing.has_members(alike.bundle);
    if (has_members && same(alike)) return &alike;
    if (!has_members) empty = &alike;
  }
  if (std::none_of(alone_.begin() + i + 1, alone_.end(), [&](Seat seat) { return same(occupants_[seat]); }))
    return nullptr;
  const core::ClassId in = class_for(occupant, unit.load);
  if (empty == nullptr) {
    empty = &unit.alike.emplace_back();
    empty->bundle = sharing.add_bundle(in);
  }
  empty->shape = occupant.shape;
  empty->peer = occupant.peer;
  sharing.move_bundle(empty->bundle, in);
  return empty;
}

void PhaseRunner::fire(std::uint64_t seat) {
  Occupant& occupant = occupants_[seat];
  occupant.activity = core::no_id;
  Time rest = lags_[occupant.shape];
  if (const core::CapacityId memory = std::exchange(occupant.fills, core::no_id); memory != core::no_id) {
    rest += pipe_.rest(memory, fillings_[occupant.filling], kind_of(occupant));
    fillings_.give_back(occupant.filling);
  }
  if (rest.ps > 0) {
    site_.loop().calendar().schedule(site_.loop().now() + rest, *occupant.sink, occupant.payload);
  } else {
    occupant.sink->fire(occupant.payload);
  }
}

core::ClassId PhaseRunner::class_for(Occupant& occupant, CuLoad load) {
  load.computing_share = occupant.computing_share;
  return class_for(occupant.shape, occupant.rank, occupant.peer, load, occupant.last);
}

core::ClassId PhaseRunner::class_for(ShapeId shape, part::Rank rank, part::Rank peer, const CuLoad& load,
                                     LastClasses& last) {
  const core::ClassId id = find({.shape = shape,
                                 .rank = rank,
                                 .peer = peer,
                                 .computing = load.computing,
                                 .computing_share = load.computing_share,
                                 .in_flight = load.in_flight,
                                 .port_share = load.port_share,
                                 .group_in_flight = load.group_in_flight},
                                last);
  if (follows_gpu(shape) && !made_[id].listed) {
    refresh(id);
    gpus_[gpu_of(shape, rank)].classes.push_back(id);
    made_[id].listed = true;
  }
  return id;
}

core::ClassId PhaseRunner::find(const Key& key, LastClasses& last) {
  for (const core::ClassId one : last) {
    if (one != core::no_id && made_[one].key == key) return one;
  }
  // The workgroups of many CUs often move to one class, one after the other.
  if (found_last_ == core::no_id || made_[found_last_].key != key) {
    const std::uint64_t hashed = hash(key);
    found_last_ = classes_.find(hashed, [&](core::ClassId id) { return made_[id].key == key; });
    if (found_last_ == core::no_id) {
      found_last_ = make(key);
      classes_.insert(hashed, found_last_);
    }
  }
  last = {found_last_, last[0]};
  return found_last_;
}

core::ClassId PhaseRunner::make(const Key& key) {
  const CuLoad load = load_now(key);
  const core::ClassId id = site_.sharing().add_class(spec_of(key, load));
  made_.resize(id + 1);
  made_[id] = {key, load.clock, load.beside_matrix, held_for(shapes_[key.shape], load.in_step)};
  return id;
}

CuLoad PhaseRunner::load_now(const Key& key) const {
  const Clock* clock = clocks_.empty() ? nullptr : &clocks_[clock_of(key.shape, key.rank)];
  return {.in_flight = key.in_flight,
          .computing = key.computing,
          .port_share = key.port_share,
          .group_in_flight = key.group_in_flight,
          .clock = clock == nullptr ? 1 : clock->share,
          .beside_matrix = clock != nullptr && clock->beside_matrix ? compute_.clock_beside_matrix : 1,
          .computing_share = key.computing_share,
          .in_step = gpus_[gpu_of(key.shape, key.rank)].told};
}

core::ClassSpec PhaseRunner::spec_of(const Key& key, const CuLoad& load) const {
  return phase_class(compute_of(key.rank), site_, shapes_[key.shape], key.rank, key.peer, load, queues_[key.shape]);
}

std::uint64_t PhaseRunner::hash(const Key& key) {
  std::uint64_t h = key.shape;
  for (const std::uint64_t part :
       {std::uint64_t{key.rank}, std::uint64_t{key.peer}, std::uint64_t{key.computing},
        std::bit_cast<std::uint64_t>(key.computing_share), std::bit_cast<std::uint64_t>(key.in_flight),
        std::bit_cast<std::uint64_t>(key.port_share), std::bit_cast<std::uint64_t>(key.group_in_flight)}) {
    h = (h ^ part) * 0x9E3779B97F4A7C15ULL;
    h ^= h >> 29;
  }
  return h;
}

}  // namespace moire::cu
