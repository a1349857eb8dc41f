#include "sim/program/program.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/failure.hpp"
#include "sim/core/memory_limit.hpp"

namespace moire::program {

const std::string& name_of(const Operation& operation) {
  return std::visit([](const auto& op) -> const std::string& { return op.name; }, operation);
}

bool runs_on(const Operation& operation, Rank rank) {
  return std::visit([rank](const auto& op) { return !op.ranks || (*op.ranks)[rank]; }, operation);
}

Program Program::only(std::uint32_t queue) const {
  Program alone = *this;
  alone.queues.clear();
  for (std::uint32_t q = 0; q < queues.size(); ++q) {
    if (family(q) != queue) continue;
    alone.queues.push_back(queues[q]);
    if (q != queue) alone.queues.back().stream_of = 0;
  }
  alone.order = Order::concurrent;
  alone.launch.clear();
  return alone;
}

std::uint32_t Program::families() const {
  return static_cast<std::uint32_t>(
      std::count_if(queues.begin(), queues.end(), [](const Queue& queue) { return queue.stream_of == no_queue; }));
}

std::uint32_t Program::number_of(const Queue& queue) const {
  const auto at = std::find_if(queues.begin(), queues.end(), [&](const Queue& own) { return &own == &queue; });
  return static_cast<std::uint32_t>(at - queues.begin());
}

bool Program::several_queues_have(const std::function<bool(const Operation&)>& kind) const {
  std::vector<bool> has(queues.size());
  for (std::uint32_t q = 0; q < queues.size(); ++q)
    if (std::any_of(queues[q].operations.begin(), queues[q].operations.end(), kind)) has[family(q)] = true;
  return std::count(has.begin(), has.end(), true) > 1;
}

FlagBlock Program::add_flags(FlagArray array) {
  const FlagBlock block{flag_count_, array.per_rank};
  const std::uint64_t total = flag_count_ + std::uint64_t{array.per_rank} * ranks_;
  if (total >= no_flag)
    throw core::TooLarge(fmt::format("the program has {:.1e} flags, but at most {:.1e} can be simulated",
                                     static_cast<double>(total), static_cast<double>(no_flag)),
                         "simulate fewer ranks, or make them send larger parts");
  first_.push_back(flag_count_);
  flag_count_ = static_cast<FlagRef>(total);
  arrays_.push_back(std::move(array));
  return block;
}

FlagPlace Program::place_of(FlagRef flag) const {
  const auto after = std::upper_bound(first_.begin(), first_.end(), flag);
  auto array = static_cast<std::uint32_t>(after - first_.begin() - 1);
  while (arrays_[array].per_rank == 0) --array;  // empty arrays share their first flag with the array after them
  const std::uint32_t offset = flag - first_[array];
  return {array, offset / arrays_[array].per_rank, offset % arrays_[array].per_rank};
}

std::string Program::name_of_flag(FlagRef flag) const {
  const FlagPlace place = place_of(flag);
  return fmt::format("{}[{}] of rank {}", arrays_[place.array].name, place.index, place.rank);
}

}  // namespace moire::program
