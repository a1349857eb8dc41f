#include "models/workload/builder/builder.hpp"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "models/hardware/cu/occupancy.hpp"

namespace moire::builder {

std::string Builder::unique(const std::string& name) const {
  std::set<std::string_view> same;
  for (const program::Queue& other : program.queues) {
    for (const program::Operation& operation : other.operations) {
      const std::string& taken = program::name_of(operation);
      if (taken == name || (taken.rfind(name + "#", 0) == 0)) same.insert(taken);
    }
  }
  return same.empty() ? name : fmt::format("{}#{}", name, same.size() + 1);
}

program::Queue& Builder::stream(const std::string& name) const {
  program::Queue made;
  made.name = fmt::format("{}.{}", queue.name, name);
  made.priority = queue.priority;
  made.cus = queue.cus;
  made.stream_of = program.family(program.number_of(queue));
  return program.queues.emplace_back(std::move(made));
}

namespace {
// Adds one flag per rank, which one queue raises and another queue waits for, like a CUDA or HIP event. Returns a
// function from the rank to its flag.
std::function<program::FlagRef(program::Rank)> event_of(const Builder& build, const std::string& name) {
  const auto raised_by = [name](program::Rank rank, std::uint32_t) { return std::pair{rank, name}; };
  const program::FlagBlock flags = build.program.add_flags({name, 1, raised_by});
  return [flags](program::Rank rank) { return flags.at(rank, 0); };
}
}  // namespace

program::Queue& Builder::fork(const std::string& name) const {
  program::Queue& made = stream(name);
  if (!queue.operations.empty()) follow(made, name);
  return made;
}

void Builder::follow(program::Queue& made, const std::string& name) const {
  const std::string event = unique(name + "_may_begin");
  const auto begin = event_of(*this, event);
  queue.operations.emplace_back(program::Signal{event, begin});
  made.operations.emplace_back(program::Wait{unique(name + "_begins"), begin});
}

void Builder::join(program::Queue& made, const std::string& name) const {
  const std::string event = unique(made.name + "_ends");
  const auto end = event_of(*this, event);
  made.operations.emplace_back(program::Signal{event, end});
  queue.operations.emplace_back(program::Wait{name, end});
}

double bytes_of(DataType type) { return type == DataType::fp32 ? 4 : 2; }

std::int64_t resident_workgroups(const Builder& build, const program::WorkgroupResources& resources) {
  return cu::occupancy(build.gpu().compute, resources) * build.cus();
}

std::int64_t resident_workgroups(const machine::GpuSpec& gpu, const program::WorkgroupResources& resources) {
  return cu::occupancy(gpu.compute, resources) * gpu.compute.total_cus();
}

}  // namespace moire::builder
