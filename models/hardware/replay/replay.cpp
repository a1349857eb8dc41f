#include "models/hardware/replay/replay.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/invariant.hpp"

namespace moire::replay {

// Passes loads of links and memories on to the program's observer under their names.
class Replay::LoadWatcher final : public core::SharingObserver {
 public:
  LoadWatcher(machine::Machine& machine, program::Observer& observer) : machine_(machine), observer_(observer) {}
  void capacity_load(core::CapacityId id, Time now, double units_per_second) override {
    const core::CapacitySpec& spec = machine_.sharing().capacity(id);
    observer_.load(spec.name, machine_.capacity_info()[id].rank, now, units_per_second, spec.rate);
  }

 private:
  machine::Machine& machine_;
  program::Observer& observer_;
};

namespace {

// Of the CUs that a queue may use (all, where it names none).
std::int64_t most_in_a_group(const cu::CuArraySpec& spec, const std::vector<std::uint32_t>& cus) {
  std::int64_t most = 0;
  std::uint32_t begin = 0;
  for (const cu::CuGroupSpec& group : spec.groups) {
    for (std::int64_t copy = 0; copy < group.count; ++copy) {
      const std::uint32_t end = begin + static_cast<std::uint32_t>(group.cus);
      const std::int64_t used = cus.empty() ? group.cus : std::count_if(cus.begin(), cus.end(), [&](std::uint32_t cu) {
        return begin <= cu && cu < end;
      });
      most = std::max(most, used);
      begin = end;
    }
  }
  return most;
}

}  // namespace

std::optional<config::Problem> does_not_fit(const program::Program& program, const machine::GpuSpec& gpu) {
  for (const program::Queue& queue : program.queues) {
    const std::int64_t largest_group = most_in_a_group(gpu.compute, queue.cus);
    for (const program::Operation& operation : queue.operations) {
      const auto* kernel = std::get_if<program::Kernel>(&operation);
      if (kernel == nullptr) continue;
      const std::int64_t fits = cu::occupancy(gpu.compute, kernel->resources);
      if (fits == 0) {
        return config::Problem{fmt::format("a workgroup of kernel '{}' does not fit on a CU of {}: too many {}",
                                           kernel->name, gpu.name,
                                           cu::limiting_resource(gpu.compute, kernel->resources))};
      }
      const std::int64_t cluster = kernel->resources.cluster;
      if (cluster > gpu.compute.cluster_max || cluster > fits * largest_group) {
        return config::Problem{
            fmt::format("kernel '{}' asks for clusters of {} workgroups", kernel->name, cluster),
            fmt::format("{} places at most {}{}", gpu.name, std::min(gpu.compute.cluster_max, fits * largest_group),
                        queue.cus.empty() ? "" : " on the CUs of queue '" + queue.name + "'")};
      }
    }
  }
  return std::nullopt;
}

Replay::Replay(machine::Machine& machine, const program::Program& program, program::Observer* observer)
    : machine_(machine), program_(program), observer_(observer), flags_(machine.loop().calendar()), phases_(machine) {
  MOIRE_INVARIANT(program.ranks() == machine.ranks(), "a program and its machine differ in ranks");
  flags_.add(program.flag_count());
  for (const program::Queue& queue : program.queues) {
    first_operation_.push_back(static_cast<std::uint32_t>(result_.operations.size()));
    auto& shapes = first_shapes_.emplace_back();
    for (const program::Operation& operation : queue.operations) {
      OperationTimes& times = result_.operations.emplace_back();
      times.queue = queue.name;
      times.name = program::name_of(operation);
      machine::ShapeId first = 0;
      if (const auto* kernel = std::get_if<program::Kernel>(&operation)) {
        for (std::size_t s = 0; s < kernel->shapes.size(); ++s) {
          program::PhaseShape shape = kernel->shapes[s];
          shape.threads = kernel->resources.threads;
          const machine::ShapeId id = phases_.add_shape(shape, static_cast<std::uint32_t>(first_shapes_.size() - 1));
          if (s == 0) first = id;
          times.phases.push_back({kernel->shapes[s].name, 0, Time{}});
        }
        for (const char* other : {"wait", "delay", "put", "fence"}) times.phases.push_back({other, 0, Time{}});
      }
      shapes.push_back(first);
    }
  }
  queues_.resize(std::size_t{machine.ranks()} * program.queues.size());
  set_launch_order();
  enqueue_all();
  MOIRE_INVARIANT(machine.apart().queues == 1 || machine.apart().queues == program.queues.size(),
                  "a machine was taken apart for another program");
  copy_classes_.resize(std::size_t{machine.ranks()} * machine.apart().queues);
  result_.rank_end.resize(machine.ranks());
  result_.queue_end.resize(program.queues.size());
  for (std::size_t gpu = 0; gpu < copy_classes_.size(); ++gpu) {
    gpus_.push_back(
        std::make_unique<Gpu>(Gpu{cu::Dispatcher(machine.gpu().compute),
                                  dma::Engines(machine.gpu().dma, machine.loop(), machine.sharing()), Time{}, false}));
    for (std::size_t q = 0; q < program.queues.size(); ++q) {
      plans_[q].mask = gpus_.back()->dispatcher.add_mask(program.queues[q].cus);
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
      if (plans_[queue].before == UINT32_MAX) schedule_next(rank, queue);
    }
  }
  machine_.run();
  for (const QueueState& state : queues_) {
    const auto queue = static_cast<std::size_t>(&state - queues_.data()) % program_.queues.size();
    if (state.next < program_.queues[queue].operations.size()) {
      result_.deadlock = deadlock_report();
      return result_;
    }
  }
  result_.end = *std::max_element(result_.rank_end.begin(), result_.rank_end.end());
  machine_.sharing().check_conservation();
  for (const auto& network : machine_.networks()) {
    MOIRE_INVARIANT(network->injected() == network->delivered(), "the network lost bytes");
  }
  return result_;
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
    case Event::freed:
      return free_slot(static_cast<std::uint32_t>(id >> 16), static_cast<cu::CuId>(id & 0xFFFF));
    case Event::dispatch:
      return dispatch(static_cast<std::uint32_t>(id));
    case Event::raise:
    case Event::delivered:
      return arrive(static_cast<std::uint32_t>(id));
    case Event::copied: {
      const std::uint64_t of_queue = id & ((std::uint64_t{1} << copy_number_shift) - 1);
      return end_copy(static_cast<Rank>(of_queue / queues), static_cast<std::uint32_t>(of_queue % queues),
                      static_cast<std::uint32_t>(id >> copy_number_shift));
    }
  }
}

}  // namespace moire::replay
