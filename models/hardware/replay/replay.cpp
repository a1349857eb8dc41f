#include "models/hardware/replay/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "sim/core/failure.hpp"
#include "sim/core/invariant.hpp"

namespace moire::replay {

namespace {

// Numbers the shapes of kernels. Kernels with equal shapes in one family of queues (a queue and its streams) share the
// numbers, and with them the classes of the sharing law. So thousands of equal calls need no more classes than one
// call.
class Shapes {
 public:
  explicit Shapes(part::Phases& phases) : phases_(phases) {}

  // Returns the number of the kernel's first shape. If `own`, the kernel gets numbers of its own, so that its work is
  // counted separately.
  part::ShapeId first_of(const program::Kernel& kernel, std::uint32_t family, bool own) {
    std::vector<program::PhaseShape> shapes = kernel.shapes;
    for (program::PhaseShape& shape : shapes) shape.threads = kernel.resources.threads;
    if (shapes.empty()) return 0;
    const std::size_t hash = std::hash<std::string>{}(shapes[0].name) ^ std::hash<double>{}(shapes[0].in_flight.value);
    const auto [begin, end] = known_.equal_range(hash);
    for (auto it = begin; it != end && !own; ++it)
      if (it->second.family == family && it->second.shapes == shapes) return it->second.first;
    const part::ShapeId first = phases_.add_shape(shapes[0], family);
    for (std::size_t s = 1; s < shapes.size(); ++s) phases_.add_shape(shapes[s], family);
    if (!own) known_.emplace(hash, Known{family, std::move(shapes), first});
    return first;
  }

 private:
  struct Known {
    std::uint32_t family;
    std::vector<program::PhaseShape> shapes;
    part::ShapeId first;
  };
  part::Phases& phases_;
  std::unordered_multimap<std::size_t, Known> known_;
};

}  // namespace

// Forwards the loads of capacities (links, memories) and the levels of meters (power, clock) to the observer.
class Replay::LoadWatcher final : public core::SharingObserver {
 public:
  LoadWatcher(machine::Machine& machine, program::Observer& observer) : machine_(machine), observer_(observer) {}
  void capacity_load(core::CapacityId id, Time now, double units_per_second) override {
    const core::CapacitySpec& spec = machine_.sharing().capacity(id);
    observer_.load(spec.name, machine_.site().owner(id), now, units_per_second, spec.rate);
  }
  void meter_level(core::MeterId id, Time now, double units_per_second) override {
    const core::Sharing::MeterSpec& spec = machine_.sharing().meter(id);
    if (spec.full > 0) observer_.load(spec.name, machine_.site().owner_of_meter(id), now, units_per_second, spec.full);
  }

 private:
  machine::Machine& machine_;
  program::Observer& observer_;
};

Replay::Replay(machine::Machine& machine, const program::Program& program, program::Observer* observer,
               const std::vector<bool>& watched, Likes likes)
    : machine_(machine),
      program_(program),
      observer_(observer),
      flags_(machine.loop().calendar()),
      phases_(machine.service<part::Phases>()),
      dispatchers_(machine.service<part::Dispatchers>()),
      copies_(machine.service<part::Copies>()),
      decompressors_(machine.service<part::Decompressors>()),
      puts_(machine.service<part::Puts>()),
      meters_(machine.site().find<part::Meters>()),
      own_slots_(machine.site().apart().has("slots")),
      own_host_(machine.site().apart().has("host")),
      pulse_(machine.loop().pulse()) {
  MOIRE_INVARIANT(program.ranks() == machine.ranks() * machine.images(), "a program and its machine differ in ranks");
  for (std::uint32_t array = 0; array < program.arrays(); ++array)
    flags_.add(program.array(array).per_rank * program.ranks(), program.array(array).in_order);
  const bool stand_ins = likes == Likes::one && find_stand_ins();
  Shapes numbers(phases_);
  for (const program::Queue& queue : program.queues) {
    const std::uint32_t family = program.family(static_cast<std::uint32_t>(first_shapes_.size()));
    first_operation_.push_back(static_cast<std::uint32_t>(result_.operations.size()));
    auto& shapes = first_shapes_.emplace_back();
    for (const program::Operation& operation : queue.operations) {
      OperationTimes& times = result_.operations.emplace_back();
      times.queue = queue.name;
      times.name = program::name_of(operation);
      part::ShapeId first = 0;
      if (const auto* kernel = std::get_if<program::Kernel>(&operation)) {
        first = numbers.first_of(*kernel, family, stand_ins && kernel->body->by_itself());
        for (const program::PhaseShape& shape : kernel->shapes) times.phases.push_back({shape.name, 0, {}});
        for (const char* other : {"wait", "delay", "put", "fence"}) times.phases.push_back({other, 0, {}});
      }
      shapes.push_back(first);
    }
  }
  // The next kernel would find an idle memory on a rank whose kernel was not simulated, and a busy one on the others.
  if (stand_ins && machine_.gpu().host.queue_gap < phases_.looks_back()) throw NotByItself();
  result_.spans.resize(result_.operations.size());
  for (std::size_t operation = 0; operation < watched.size(); ++operation)
    if (watched[operation]) result_.spans[operation].resize(machine.ranks());
  queues_.resize(std::size_t{machine.ranks()} * program.queues.size());
  set_launch_order();
  enqueue_all();
  const std::uint32_t own = machine.site().apart().queues;
  MOIRE_INVARIANT(own == 1 || own == program.families(), "a machine was taken apart for another program");
  host_copies_.resize(machine.ranks());
  host_threads_.resize(machine.ranks() * (own_host_ ? program.families() : std::size_t{1}));
  if (stand_ins) {
    stand_ins_.resize(result_.operations.size());
    by_itself_.resize(machine.ranks());
    if (machine.reach().peers() > 0) visits_.resize(machine.ranks());
  }
  result_.rank_end.resize(machine.ranks());
  result_.queue_end.resize(program.queues.size());
  for (std::size_t gpu = 0; gpu < std::size_t{machine.ranks()} * machine.site().copies("slots"); ++gpu) {
    gpus_.push_back(std::make_unique<Gpu>(
        Gpu{.dispatcher = dispatchers_.make_dispatcher(), .peer_stores = PeerStores(machine.gpu().port)}));
    for (std::size_t q = 0; q < program.queues.size(); ++q) {
      orders_[q].mask = gpus_.back()->dispatcher->add_mask(program.queues[q].cus);
    }
  }
  if (observer != nullptr) {
    load_watcher_ = std::make_unique<LoadWatcher>(machine, *observer);
    machine.sharing().observe(load_watcher_.get());
  }
}

Replay::~Replay() = default;

Result Replay::run() {
  for (Rank rank = 0; rank < machine_.ranks(); ++rank) {
    for (std::uint32_t queue = 0; queue < program_.queues.size(); ++queue) {
      if (orders_[queue].before == UINT32_MAX) schedule_next(rank, queue);
    }
  }
  try {
    machine_.run();
  } catch (const core::EndOfTime& end) {
    throw core::RunFailure(end.what() + under_way());
  }
  for (const QueueState& state : queues_) {
    const auto queue = static_cast<std::size_t>(&state - queues_.data()) % program_.queues.size();
    if (state.next < program_.queues[queue].operations.size()) {
      // The full report needs all ranks. If only one block is simulated, run_folded() repeats the run with all ranks.
      result_.deadlock = machine_.images() > 1 ? "the run deadlocks" : deadlock_report();
      return result_;
    }
  }
  count_others();
  count_images();
  result_.end = *std::max_element(result_.rank_end.begin(), result_.rank_end.end());
  machine_.sharing().check_conservation();
  for (const auto& part : machine_.site().parts()) part->check_conservation();
  return result_;
}

void Replay::count_images() {
  const Rank images = machine_.images();
  const std::vector<Time> block = result_.rank_end;
  for (Rank image = 1; image < images; ++image)
    result_.rank_end.insert(result_.rank_end.end(), block.begin(), block.end());
  result_.workgroups *= images;
  result_.traffic.puts *= images;
  result_.traffic.put_bytes = result_.traffic.put_bytes * images;
  result_.traffic.scale_up_bytes = result_.traffic.scale_up_bytes * images;
  result_.traffic.host_bytes = result_.traffic.host_bytes * images;
  for (OperationTimes& operation : result_.operations) {
    operation.workgroups *= images;
    for (program::PhaseTotal& phase : operation.phases) {
      phase.count *= images;
      phase.total = phase.total * images;
    }
  }
}

std::string Replay::under_way() const {
  std::string text = fmt::format("; after {:.6g} s", machine_.loop().now().seconds());
  for (const QueueState& state : queues_) {
    const auto index = static_cast<std::size_t>(&state - queues_.data());
    const program::Queue& queue = program_.queues[index % program_.queues.size()];
    if (state.next >= queue.operations.size()) continue;
    return text + fmt::format(" rank {} queue '{}' is at operation '{}'", index / program_.queues.size(), queue.name,
                              program::name_of(queue.operations[state.next]));
  }
  return text + " all queues have ended";
}

bool Replay::comes_with_last(const program::Operation& operation) {
  if (const auto* copy = std::get_if<program::Copy>(&operation)) return copy->together;
  const auto* kernel = std::get_if<program::Kernel>(&operation);
  return kernel != nullptr && kernel->together;
}

void Replay::fires_next(std::uint64_t payload) const {
  const auto event = static_cast<Event>(payload >> 56);
  const std::uint64_t id = payload & ((std::uint64_t{1} << 56) - 1);
  if (event == Event::workgroup) {
    __builtin_prefetch(&workgroups_[id]);
  }
}

void Replay::fire(std::uint64_t payload) {
  const auto event = static_cast<Event>(payload >> 56);
  const std::uint64_t id = payload & ((std::uint64_t{1} << 56) - 1);
  const auto queues = program_.queues.size();
  switch (event) {
    case Event::start:
      return start_operation(static_cast<Rank>(id / queues), static_cast<std::uint32_t>(id % queues));
    case Event::end:
      return end_operation(static_cast<Rank>(id / queues), static_cast<std::uint32_t>(id % queues));
    case Event::grid:
      return start_grid(static_cast<std::uint32_t>(id));
    case Event::workgroup:
      return go_on(static_cast<std::uint32_t>(id));
    case Event::posted:
      return posted_done(static_cast<std::uint32_t>(id));
    case Event::known:
      return posted_known(static_cast<std::uint32_t>(id));
    case Event::fenced:
      return end_fence(static_cast<std::uint32_t>(id >> 16), static_cast<part::CuId>(id & 0xFFFF));
    case Event::freed:
      --runs_[id >> 16].refilling;
      return free_slot(static_cast<std::uint32_t>(id >> 16), static_cast<part::CuId>(id & 0xFFFF));
    case Event::dispatch:
      return dispatch(static_cast<std::uint32_t>(id));
    case Event::raise:
      return;  // core::Flags schedules an event if it needs one
    case Event::delivered:
      return arrive(static_cast<std::uint32_t>(id));
    case Event::copied:
    case Event::seen: {
      const std::uint64_t of_queue = id & ((std::uint64_t{1} << copy_number_shift) - 1);
      const auto rank = static_cast<Rank>(of_queue / queues);
      const auto queue = static_cast<std::uint32_t>(of_queue % queues);
      const auto number = static_cast<std::uint32_t>(id >> copy_number_shift);
      if (event == Event::copied) return end_copy(rank, queue, number);
      --host_thread(rank, queue).ended;
      return see_copy(rank, queue, number);
    }
  }
}

// Called when it is known that a flag will reach its target at time `at`, which is now or later.
void Replay::reaches(std::uint64_t payload, Time at) {
  if (static_cast<Event>(payload >> 56) != Event::workgroup) {
    machine_.loop().calendar().schedule(at, *this, payload);
    return;
  }
  const auto id = static_cast<std::uint32_t>(payload);
  go_ahead(id, noticed(id, at));
}

void Replay::arrives(std::uint64_t payload, Time at) {
  const auto event = static_cast<Event>(payload >> 56);
  if (event == Event::raise) {
    flags_.raise_at(static_cast<program::FlagRef>(payload), at);
    return;
  }
  // With an observer, the arrival of a signal or put is an event of its own. raise_at() raises the flag here all the
  // same, so that times do not depend on observers.
  if (event == Event::delivered) at = flags_.raise_at(flights_[static_cast<std::uint32_t>(payload)].flag, at);
  machine_.loop().calendar().schedule(at, *this, payload);
}

}  // namespace moire::replay
