#include "models/algorithms/mscclpp/plan_semaphores.hpp"

#include <optional>

#include "models/algorithms/mscclpp/memory.hpp"

namespace moire::mscclpp {

using ir::Rank;

PlanSemaphores::PlanSemaphores(const Plan& plan) : plan_(plan), ends_(plan), raisers_(plan.gpus.size()) {
  for (std::size_t g = 0; g < plan.gpus.size(); ++g) {
    for (const ChannelType type : {ChannelType::memory, ChannelType::port}) {
      for (const Channel& channel : plan.gpus[g].of(type)) add(g, static_cast<Rank>(channel.peer));
    }
    for (std::size_t s = 0; s < plan.gpus[g].semaphores.size(); ++s) add(g, static_cast<Rank>(g));
  }
  number_packets();
}

std::uint32_t PlanSemaphores::add(std::size_t gpu, Rank raiser) {
  raisers_[gpu].push_back(raiser);
  return static_cast<std::uint32_t>(raisers_[gpu].size() - 1);
}

void PlanSemaphores::number_packets() {
  const Layout layout(plan_, cuts_of(plan_).front());
  const auto for_each_operation = [this](auto visit) {
    for (std::size_t g = 0; g < plan_.gpus.size(); ++g) {
      for (std::size_t b = 0; b < plan_.gpus[g].blocks.size(); ++b) {
        const auto& operations = plan_.gpus[g].blocks[b].operations;
        for (std::size_t o = 0; o < operations.size(); ++o) visit(OperationId{g, b, o}, operations[o]);
      }
    }
  };
  const auto cells = [&layout](const Operation& op, const Operand& operand) {
    return layout.cells(operand, static_cast<std::size_t>(operand.gpu), op.part, op.parts, std::nullopt);
  };
  std::map<std::size_t, Writer> writers;  // by cell
  for_each_operation([&](const OperationId& id, const Operation& op) {
    for (std::size_t d = 0; d < op.destinations.size(); ++d) {
      const Operand& to = op.destinations[d];
      if (!to.packets || to.place == Operand::Place::group) continue;
      if (op.channel_type == ChannelType::port)
        by_port_[{id, d}] = add(static_cast<std::size_t>(to.gpu), static_cast<Rank>(id.gpu));
      for (const std::size_t cell : cells(op, to)) writers[cell] = {id, d};
    }
  });
  for_each_operation([&](const OperationId& id, const Operation& op) {
    if (op.channel_type == ChannelType::port && op.type == OpType::put_packets) return;  // proxies do not read flags
    std::set<Writer> from;
    for (const Operand& source : op.sources) {
      if (!source.packets || source.place == Operand::Place::group) continue;
      for (const std::size_t cell : cells(op, source)) {
        if (const auto writer = writers.find(cell); writer != writers.end()) from.insert(writer->second);
      }
    }
    for (const Writer& writer : from) {
      PacketReader& reader = readers_[id];
      if (const auto port = by_port_.find(writer); port != by_port_.end()) {
        reader.ports.insert(port->second);
        continue;
      }
      if (reader.writers++ == 0) {
        reader.begun = add(id.gpu, static_cast<Rank>(writer.first.gpu));
        reader.done = add(id.gpu, static_cast<Rank>(writer.first.gpu));
      }
      read_by_[writer].push_back(id);
    }
  });
}

std::uint32_t PlanSemaphores::end_of(std::size_t gpu, ChannelType type, std::uint32_t channel) const {
  return channel + (type == ChannelType::port ? static_cast<std::uint32_t>(plan_.gpus[gpu].memory.size()) : 0);
}

std::uint32_t PlanSemaphores::far_end(std::size_t gpu, ChannelType type, std::uint32_t channel) const {
  const auto far = ends_.far({gpu, type, channel});
  return far ? end_of(far->gpu, far->type, far->channel) : ir::no_semaphore;
}

std::uint32_t PlanSemaphores::between_blocks(std::size_t gpu, std::uint32_t id) const {
  return static_cast<std::uint32_t>(plan_.gpus[gpu].memory.size() + plan_.gpus[gpu].ports.size()) + id;
}

std::int64_t PlanSemaphores::initial_value(std::size_t gpu, std::uint32_t semaphore) const {
  const std::uint32_t first = between_blocks(gpu, 0);
  const auto& values = plan_.gpus[gpu].semaphores;
  return semaphore >= first && semaphore - first < values.size() ? std::int64_t{values[semaphore - first]} : 0;
}

std::uint32_t PlanSemaphores::of_barrier(std::size_t gpu, std::uint32_t barrier) {
  const auto [known, fresh] = barriers_.try_emplace({gpu, barrier}, 0);
  if (fresh) known->second = add(gpu, static_cast<Rank>(gpu));
  return known->second;
}

std::uint32_t PlanSemaphores::of_arrivals(std::size_t gpu, std::size_t block, std::uint32_t port) {
  const auto [known, fresh] = arrivals_.try_emplace({gpu, block, port}, 0);
  if (fresh) known->second = add(gpu, static_cast<Rank>(plan_.gpus[gpu].ports[port].peer));
  return known->second;
}

std::size_t PlanSemaphores::first_waiter(std::size_t gpu, std::uint32_t semaphore, std::size_t block) {
  return waiters_.try_emplace({gpu, semaphore}, block).first->second;
}

const PacketReader& PlanSemaphores::reader(const OperationId& id) const {
  static const PacketReader none;
  const auto found = readers_.find(id);
  return found == readers_.end() ? none : found->second;
}

const std::vector<OperationId>& PlanSemaphores::readers_of(const OperationId& writer, std::size_t destination) const {
  static const std::vector<OperationId> none;
  const auto found = read_by_.find({writer, destination});
  return found == read_by_.end() ? none : found->second;
}

std::uint32_t PlanSemaphores::of_packets(const OperationId& writer, std::size_t destination) const {
  return by_port_.at({writer, destination});
}

}  // namespace moire::mscclpp
