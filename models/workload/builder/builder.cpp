#include "models/workload/builder/builder.hpp"

#include <fmt/format.h>

#include "models/hardware/cu/occupancy.hpp"

namespace moire::builder {

std::string Builder::unique(const std::string& name) const {
  int same = 1;
  for (const program::Queue& other : program.queues) {
    for (const program::Operation& operation : other.operations) {
      const std::string& taken = program::name_of(operation);
      if (taken == name || taken.rfind(name + "#", 0) == 0) ++same;
    }
  }
  return same == 1 ? name : fmt::format("{}#{}", name, same);
}

program::Queue& Builder::stream(const std::string& name) const {
  program::Queue made;
  made.name = fmt::format("{}.{}", queue.name, name);
  made.priority = queue.priority;
  made.cus = queue.cus;
  made.stream_of = program.number_of(queue);
  return program.queues.emplace_back(std::move(made));
}

double bytes_of(DataType type) { return type == DataType::fp32 ? 4 : 2; }

std::int64_t resident_workgroups(const Builder& build, const program::WorkgroupResources& resources) {
  return cu::occupancy(build.gpu().compute, resources) * build.cus();
}

}  // namespace moire::builder
