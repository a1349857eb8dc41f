// Starts copies, and ends them: when the bytes have arrived, and when a host thread or a command has seen that.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "models/hardware/replay/replay.hpp"

namespace moire::replay {

// Returns the first of `since` + n x interval (n = 0, 1, ...) that is not before `end`.
Time Replay::first_poll(Time since, Time interval, Time end) {
  if (end <= since) return since;
  return since + interval * ((end.ps - since.ps + interval.ps - 1) / interval.ps);
}

Replay::HostThread& Replay::host_thread(Rank rank, std::uint32_t queue) {
  return host_threads_[(own_host_ ? program_.family(queue) * machine_.ranks() : 0) + rank];
}

void Replay::start_copy(Rank rank, std::uint32_t queue, const program::Copy& copy) {
  QueueState& state = queue_state(rank, queue);
  const Time ready = state.ready;
  std::vector<std::pair<std::uint32_t, program::Transfer>> transfers{{0, copy.transfer(rank)}};
  for (std::uint32_t i = 0; i < copy.beside.size(); ++i) {
    const program::Transfer transfer = copy.beside[i](rank);
    if (transfer.bytes.value > 0) transfers.emplace_back(i + 1, transfer);
  }
  state.copies = static_cast<std::uint32_t>(transfers.size());
  // The host enqueues the copies one after the other. This delays a copy only if its turn comes before it is enqueued.
  const Time enqueue = machine_.gpu().host.copy_time();
  // If the queue's last work was a kernel, the engines begin with any of the copies, otherwise with the first.
  if (state.last == Runner::cus) {
    const auto others = std::stable_partition(transfers.begin(), transfers.end(), [&](const auto& numbered) {
      return numbered.second.peer != rank && !leaves_node(rank, numbered.second);
    });
    const auto peers = static_cast<std::size_t>(others - transfers.begin());
    std::rotate(transfers.begin(), transfers.begin() + copies_.begins_with(rank, peers), others);
  }
  for (const auto& [number, transfer] : transfers)
    submit(rank, queue, transfer, number, number > 0 ? std::max(ready, state.enqueued + enqueue * number) : ready);
}

void Replay::submit(Rank rank, std::uint32_t queue, const program::Transfer& transfer, std::uint32_t number,
                    Time ready) {
  if (leaves_node(rank, transfer)) return post(rank, queue, transfer, number);
  const part::CopyUse use = use_of(rank, queue, transfer);
  Bytes& moved = use.by_host_memory() ? result_.traffic.host_bytes : result_.traffic.scale_up_bytes;
  if (!use.within_gpu()) moved = moved + transfer.bytes;
  visit(transfer.peer);
  const bool by_host = program_.queues[queue].by_host;  // a host thread records no events
  const std::uint64_t id = rank * program_.queues.size() + queue;
  const part::CopyRequest request{.copy = use,
                                  .stream = orders_[queue].stream,
                                  .ready = ready,
                                  .without_events = by_host ? machine_.gpu().host.event_pair : Time{},
                                  .sink = this,
                                  .payload = pack(Event::copied, std::uint64_t{number} << copy_number_shift | id)};
  if (transfer.ratio > 0) return decompressors_.submit(request);
  copies_.submit(request);
}

part::CopyUse Replay::use_of(Rank rank, std::uint32_t queue, const program::Transfer& transfer) const {
  return {.rank = transfer.way == program::Transfer::Way::from_host ? transfer.peer : rank,
          .peer = transfer.peer,
          .bytes = transfer.bytes,
          .queue = program_.family(queue),
          .ratio = transfer.ratio,
          .way = transfer.way,
          .host_footprint = transfer.host_footprint,
          .again = transfer.again};
}

bool Replay::leaves_node(Rank rank, const program::Transfer& transfer) const {
  return transfer.peer != rank && transfer.way == program::Transfer::Way::direct &&
         !machine_.reach().stores(rank, transfer.peer);
}

// Sends a copy to another node as a put of the host thread that serves the NIC. An empty copy is sent as one byte.
void Replay::post(Rank rank, std::uint32_t queue, const program::Transfer& transfer, std::uint32_t number) {
  const Bytes bytes{std::max(transfer.bytes.value, 1.0)};
  ++result_.traffic.puts;
  result_.traffic.put_bytes = result_.traffic.put_bytes + bytes;
  puts_.put({.source = rank,
             .destination = transfer.peer,
             .sender = rank,
             .receiver = transfer.peer,
             .queue = program_.family(queue),
             .queue_pair = queue,
             .bytes = bytes,
             .proxied = true,
             .told = this,
             .payload = pack(Event::copied,
                             std::uint64_t{number} << copy_number_shift | (rank * program_.queues.size() + queue))});
}

void Replay::end_post(Rank rank, std::uint32_t queue, const program::Transfer& transfer,
                      const std::function<program::Transfer(Rank)>& transfer_of) {
  program::FlagRef flag = transfer.flag;
  // If the flag's rank is not simulated (folding), raises the flag of the copy that this copy stands for.
  if (machine_.images() > 1 && flag != program::no_flag) {
    const Rank away = program_.place_of(flag).rank / machine_.ranks() * machine_.ranks();
    flag = transfer_of(machine_.circle().minus(rank, away)).flag;
  }
  if (observer_ != nullptr) {
    observer_->put({rank, transfer.peer, program::no_cu, Bytes{std::max(transfer.bytes.value, 1.0)}, flag,
                    fmt::format("NIC {}", puts_.endpoint_of(rank)), queue_state(rank, queue).begin,
                    machine_.loop().now(), program::no_rank});
  }
  if (flag != program::no_flag) flags_.raise(flag);
}

void Replay::end_copy(Rank rank, std::uint32_t queue, std::uint32_t number) {
  QueueState& state = queue_state(rank, queue);
  const auto& copy = std::get<program::Copy>(program_.queues[queue].operations[state.next]);
  const auto& transfer_of = number == 0 ? copy.transfer : copy.beside[number - 1];
  const program::Transfer transfer = transfer_of(rank);
  if (leaves_node(rank, transfer)) {
    end_post(rank, queue, transfer, transfer_of);
    if (--state.copies == 0) end_operation(rank, queue);
    return;
  }
  part::Copies::Finished done{};
  if (transfer.ratio > 0) {
    done = decompressors_.finished(rank);
    // In a timeline, the tracks of decompression engines follow those of the DMA engines, of which two are for the
    // host.
    done.engine += static_cast<std::uint32_t>(machine_.gpu().dma.engines + (machine_.spec().node.host_memory ? 2 : 0));
  } else {
    done = copies_.finished(use_of(rank, queue, transfer));
  }
  if (observer_ != nullptr) {
    observer_->copy({use_of(rank, queue, transfer).rank, done.engine, transfer.peer, transfer.bytes, copy.name,
                     done.begin, machine_.loop().now()});
  }
  if (!visits_.empty()) --visits_[transfer.peer];
  const Time now = machine_.loop().now();
  if (follows_at_once(rank, queue)) return see_copy(rank, queue, number);
  const bool by_command = flag_by_command(rank, queue, program_.queues[queue].operations[state.next]);
  if (!program_.queues[queue].by_host && !by_command) return see_copy(rank, queue, number);
  const Time seen = by_command ? now + machine_.gpu().dma.flag_command
                               : find(rank, queue, transfer.ratio > 0 ? now : now + machine_.gpu().host.copy_seen);
  const std::uint64_t id = rank * program_.queues.size() + queue;
  machine_.loop().calendar().schedule(seen, *this, pack(Event::seen, std::uint64_t{number} << copy_number_shift | id));
}

// True if the host has enqueued the next operation together with the current one, so that no thread polls between them.
bool Replay::follows_at_once(Rank rank, std::uint32_t queue) {
  const auto& operations = program_.queues[queue].operations;
  for (std::size_t i = queue_state(rank, queue).next + 1; i < operations.size(); ++i)
    if (program::runs_on(operations[i], rank)) return comes_with_last(operations[i]);
  return false;
}

// Returns the mean time for which a thread that polls its streams in turn asks busy ones before it comes to a stream
// that has ended.
Time Replay::turn_of(const HostThread& thread) const {
  return Time{machine_.gpu().host.busy_query.ps * static_cast<std::int64_t>(thread.under_way - thread.ended) / 2};
}

// Lets the host thread that serves the queue find an end that it can see at time `seen`. Returns when its query ends: a
// thread makes its calls and queries in the order in which they could begin, and a free thread has begun before `seen`.
Time Replay::find(Rank rank, std::uint32_t queue, Time seen) {
  HostThread& thread = host_thread(rank, queue);
  ++thread.ended;
  return thread.free = std::max(seen, thread.free + machine_.gpu().host.query) + turn_of(thread);
}

// Called when a copy has ended and, if a host thread serves its queue, the thread has seen this.
void Replay::see_copy(Rank rank, std::uint32_t queue, std::uint32_t number) {
  QueueState& state = queue_state(rank, queue);
  const auto& copy = std::get<program::Copy>(program_.queues[queue].operations[state.next]);
  const program::Transfer transfer = (number == 0 ? copy.transfer : copy.beside[number - 1])(rank);
  if (transfer.flag != program::no_flag) flags_.raise(transfer.flag);
  if (--state.copies == 0) end_operation(rank, queue);
}

}  // namespace moire::replay
