#include "models/algorithms/mscclang/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/algorithms/mscclang/contract.hpp"

namespace moire::mscclang {

namespace {

constexpr std::int32_t most_ranks = 1 << 16;
constexpr std::int32_t most_chunks = 1 << 20;  // in one buffer
constexpr std::size_t most_operations = 4'000'000;
constexpr std::size_t most_slots = 1 << 23;  // chunks in all buffers together at the start
constexpr std::int32_t most_parts = 64;

Where where_of(const Location& location) { return {location.file_name(), location.line()}; }

}  // namespace

Program::Program(Options options) : options_(std::move(options)) {
  prepare();
  std::vector<InitialBuffers> initial;
  std::size_t total = 0;
  for (std::int32_t r = 0; r < options_.ranks; ++r) {
    const InitialBuffers& buffers = initial.emplace_back(initial_buffers(options_, r));
    total += buffers.input.size() + buffers.output.size();
    must_be_possible(total);
  }
  fill(initial);
}

Program::Program(Options options, std::vector<InitialBuffers> initial) : options_(std::move(options)) {
  options_.stated = false;
  prepare();
  fill(initial);
}

void Program::prepare() {
  const Where nowhere;
  if (options_.ranks < 1 || options_.ranks > most_ranks) {
    fail(nowhere, {fmt::format("the program has {} ranks", options_.ranks), fmt::format("use 1 to {}", most_ranks)});
  }
  if (options_.chunk_factor < 1 || options_.chunk_factor > most_chunks) {
    fail(nowhere,
         {fmt::format("the chunk factor is {}", options_.chunk_factor), fmt::format("use 1 to {}", most_chunks)});
  }
  if (options_.instances < 1 || options_.instances > most_parts) {
    fail(nowhere,
         {fmt::format("the program has {} instances", options_.instances), fmt::format("use 1 to {}", most_parts)});
  }
  if (options_.root < 0 || options_.root >= options_.ranks) {
    fail(nowhere, {fmt::format("the root is {} of {} ranks", options_.root, options_.ranks), "use one of the ranks"});
  }
  if (options_.replication == Replication::blocked && options_.stated && places_matter(options_.collective) &&
      options_.instances > 1) {
    fail(nowhere, {fmt::format("the instances are blocked, but in '{}' the index of a chunk determines its rank",
                               msccl::to_string(options_.collective)),
                   "use interleaved instances"});
  }
}

void Program::must_be_possible(std::size_t chunks) const {
  if (chunks > most_slots) fail({}, {"the buffers have too many chunks together", "use fewer ranks or chunks"});
}

void Program::fill(const std::vector<InitialBuffers>& initial) {
  const Where nowhere;
  if (static_cast<std::int32_t>(initial.size()) != options_.ranks) {
    fail(nowhere,
         {fmt::format("there are buffers of {} ranks, but the program has {} ranks", initial.size(), options_.ranks)});
  }
  memory_.resize(initial.size());
  declared_.resize(initial.size());
  trace_.results.resize(initial.size());
  std::size_t total = 0;
  for (std::int32_t r = 0; r < options_.ranks; ++r) {
    const InitialBuffers& has = initial[static_cast<std::size_t>(r)];
    if (has.input.size() > most_chunks || has.output.size() > most_chunks) {
      fail(nowhere, {fmt::format("a buffer has more than {} chunks", most_chunks)});
    }
    total += has.input.size() + has.output.size();
    must_be_possible(total);
    declared_[static_cast<std::size_t>(r)] = {static_cast<std::int32_t>(has.input.size()),
                                              static_cast<std::int32_t>(has.output.size())};
    auto& buffers = memory_[static_cast<std::size_t>(r)];
    buffers.resize(2);
    const auto room = [&](Buffer buffer, std::size_t chunks) {
      const Place first = canonical({r, buffer, 0});
      auto& slots = buffers[static_cast<std::size_t>(first.buffer.id)];
      slots.resize(std::max(slots.size(), chunks + static_cast<std::size_t>(first.index)));
    };
    room(input, has.input.size());
    room(output, has.output.size());
    const auto set = [&](Buffer buffer, const std::vector<bool>& holds) {
      for (std::size_t i = 0; i < holds.size(); ++i) {
        if (!holds[i]) continue;
        const auto index = static_cast<std::int32_t>(i);
        const Place place = canonical({r, buffer, index});
        Slot& slot = buffers[static_cast<std::size_t>(place.buffer.id)][static_cast<std::size_t>(place.index)];
        if (slot.value == no_value) slot.value = values_.contribution(r, index);
      }
    };
    set(input, has.input);
    set(output, has.output);
    trace_.results[static_cast<std::size_t>(r)] = results(options_, r, buffers[0].size(), buffers[1].size());
  }
  trace_.lengths.resize(memory_.size());
  for (std::size_t r = 0; r < memory_.size(); ++r) {
    for (const auto& slots : memory_[r]) trace_.lengths[r].push_back(static_cast<std::int32_t>(slots.size()));
  }
}

Buffer Program::scratch(std::string_view name) {
  const auto found = scratch_names_.find(name);
  if (found != scratch_names_.end()) return {found->second};
  const auto id = static_cast<std::int32_t>(2 + trace_.scratch_names.size());
  trace_.scratch_names.emplace_back(name);
  scratch_names_.emplace(name, id);
  return {id};
}

Place Program::canonical(Place place) const {
  if (place.buffer.is_scratch()) return place;
  switch (aliasing(options_)) {
    case Aliasing::none:
      break;
    case Aliasing::same:
      place.buffer = input;
      break;
    case Aliasing::input_in_output:
      if (place.buffer == input) place = {place.rank, output, place.index + place.rank * options_.chunk_factor};
      break;
    case Aliasing::output_in_input:
      if (place.buffer == output) place = {place.rank, input, place.index + place.rank * options_.chunk_factor};
      break;
  }
  return place;
}

void Program::fail(const Where& where, config::Problem problem) const {
  const std::string name = options_.name.empty() ? "program" : options_.name;
  const std::string at =
      where.line == 0 ? name : fmt::format("{}:{}", std::filesystem::path(where.file).filename().string(), where.line);
  throw ProgramError({at + ": " + problem.what, std::move(problem.remedy)});
}

std::int32_t Program::length(std::int32_t rank, Buffer buffer) const {
  if (rank < 0 || rank >= options_.ranks || buffer.id < 0) return 0;
  if (!buffer.is_scratch()) return declared_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(buffer.id)];
  const auto& buffers = memory_[static_cast<std::size_t>(rank)];
  const auto id = static_cast<std::size_t>(buffer.id);
  return id < buffers.size() ? static_cast<std::int32_t>(buffers[id].size()) : 0;
}

void Program::must_lie_inside(const Place& place, std::int32_t count, const Where& where) const {
  if (place.rank < 0 || place.rank >= options_.ranks) {
    fail(where, {fmt::format("rank {} is used, but the program has {} ranks", place.rank, options_.ranks)});
  }
  if (place.buffer.id < 0 || place.buffer.id >= static_cast<std::int32_t>(2 + trace_.scratch_names.size())) {
    fail(where, {fmt::format("the buffer with the internal number {} does not belong to this program", place.buffer.id),
                 "use input, output, or a buffer that scratch() of this program returned"});
  }
  if (count < 1 || count > most_chunks || place.index < 0 || place.index > most_chunks) {
    fail(where, {fmt::format("{} chunks are taken from index {}", count, place.index),
                 fmt::format("take 1 to {0} chunks from an index of 0 to {0}", most_chunks)});
  }
  const std::int32_t length_of = length(place.rank, place.buffer);
  if (!place.buffer.is_scratch() && place.index + count > length_of) {
    fail(where, {fmt::format("{} lies outside the buffer, which has {} chunks", trace_.text(place, count), length_of)});
  }
}

const std::vector<Program::Slot>* Program::slots_of(const Place& place) const {
  const auto& buffers = memory_[static_cast<std::size_t>(place.rank)];
  const auto id = static_cast<std::size_t>(place.buffer.id);
  return id < buffers.size() ? &buffers[id] : nullptr;
}

std::vector<Program::Slot>& Program::slots(const Place& place) {
  auto& buffers = memory_[static_cast<std::size_t>(place.rank)];
  const auto id = static_cast<std::size_t>(place.buffer.id);
  if (buffers.size() <= id) buffers.resize(id + 1);
  return buffers[id];
}

ValueId Program::value(const Place& place) const {
  const Place at = canonical(place);
  const std::vector<Slot>* slots = slots_of(at);
  if (slots == nullptr || at.index < 0 || at.index >= static_cast<std::int32_t>(slots->size())) return no_value;
  return (*slots)[static_cast<std::size_t>(at.index)].value;
}

bool Program::is_encoded(const Place& place) const {
  const Place at = canonical(place);
  return value(place) != no_value && (*slots_of(at))[static_cast<std::size_t>(at.index)].encoded;
}

bool Program::is_set(std::int32_t rank, Buffer buffer, std::int32_t index) const {
  return rank >= 0 && rank < options_.ranks && value({rank, buffer, index}) != no_value;
}

void Program::must_be_current(const Chunk& chunk, const Where& where) const {
  const std::vector<Slot>* slots = slots_of(chunk.place_);
  for (std::int32_t i = 0; i < chunk.count_; ++i) {
    const std::int32_t index = chunk.place_.index + i;
    const Place place{chunk.place_.rank, chunk.place_.buffer, index};
    if (slots == nullptr || index >= static_cast<std::int32_t>(slots->size()) ||
        (*slots)[static_cast<std::size_t>(index)].value == no_value) {
      fail(where, {fmt::format("{} is read, but nothing was written there", trace_.text(place, 1))});
    }
    const std::int32_t writer = (*slots)[static_cast<std::size_t>(index)].writer;
    if (writer >= 0 && static_cast<std::uint64_t>(writer) >= chunk.moment_) {
      fail(where, {fmt::format("{} is used through a reference from before it was overwritten by the {}",
                               trace_.text(place, 1), trace_.text(trace_.operations[static_cast<std::size_t>(writer)])),
                   "take a new reference with chunk()"});
    }
  }
}

void Program::must_be_encoded(const Chunk& chunk, bool encoded, const char* used, const char* remedy,
                              const Where& where) const {
  for (std::int32_t i = 0; i < chunk.count_; ++i) {
    const Place place{chunk.place_.rank, chunk.place_.buffer, chunk.place_.index + i};
    if (is_encoded(place) == encoded) continue;
    fail(where,
         {fmt::format("{}, which is {}encoded, is {}", trace_.text(place, 1), encoded ? "not " : "", used), remedy});
  }
}

void Program::must_be_placed(const Placement& placement, const Where& where) const {
  constexpr std::int32_t most_blocks = 4096;
  if (placement.channel < -1 || placement.channel >= 32) {
    fail(where, {fmt::format("channel {} does not exist in MSCCL's runtime", placement.channel), "use 0 to 31"});
  }
  for (const std::int32_t block : {placement.send_block, placement.recv_block}) {
    if (block < -1 || block >= most_blocks) {
      fail(where, {fmt::format("thread block {} is not possible", block), fmt::format("use 0 to {}", most_blocks - 1)});
    }
  }
}

Chunk Program::made(const Place& place, std::int32_t count) {
  Chunk chunk;
  chunk.program_ = this;
  chunk.place_ = place;
  chunk.count_ = count;
  chunk.moment_ = trace_.operations.size();
  return chunk;
}

Chunk Program::take(const Place& place, std::int32_t count, const Where& where) {
  must_lie_inside(place, count, where);
  Chunk chunk = made(canonical(place), count);
  must_be_current(chunk, where);
  return chunk;
}

Operation& Program::record(Operation::Kind kind, const Chunk& from, const Place& to, const Placement& placement,
                           const Where& where) {
  must_be_placed(placement, where);
  if (trace_.operations.size() >= most_operations)
    fail(where, {"there are too many operations", "use fewer ranks or chunks"});
  if (trace_.files.empty() || trace_.files[static_cast<std::size_t>(file_)] != where.file) {
    const auto known = std::find(trace_.files.begin(), trace_.files.end(), where.file);
    file_ = static_cast<std::int32_t>(known - trace_.files.begin());
    if (known == trace_.files.end()) trace_.files.push_back(where.file);
  }
  return trace_.operations.emplace_back(Operation{.kind = kind,
                                                  .src = from.place_,
                                                  .dst = to,
                                                  .count = from.count_,
                                                  .send_block = placement.send_block,
                                                  .recv_block = placement.recv_block,
                                                  .channel = placement.channel,
                                                  .parts = parts_,
                                                  .file = file_,
                                                  .line = where.line});
}

Chunk Program::copy(const Chunk& from, const Place& given, Placement placement, const Where& where,
                    Operation::Kind kind) {
  const bool copies = kind == Operation::Kind::copy;
  must_lie_inside(given, from.count_, where);
  must_be_current(from, where);
  if (copies) {
    must_be_encoded(from, is_encoded(from.place_), "copied together with others",
                    "copy encoded and plain chunks separately", where);
  }
  if (kind == Operation::Kind::encode) must_be_encoded(from, false, "encoded again", "copy it as it is", where);
  if (kind == Operation::Kind::decode) must_be_encoded(from, true, "decoded", "copy it", where);
  const Place to = canonical(given);
  if (to == from.place_ && copies) return from;
  if (to.rank == from.place_.rank && to.buffer == from.place_.buffer && to.index < from.place_.index + from.count_ &&
      from.place_.index < to.index + from.count_) {
    fail(where, {fmt::format("{} is {} over itself, to {}", trace_.text(from.place_, from.count_),
                             copies ? "copied" : "encoded or decoded", trace_.text(to, from.count_))});
  }
  record(kind, from, to, placement, where);
  auto& target = slots(to);
  const auto end = static_cast<std::size_t>(to.index + from.count_);
  if (target.size() < end) {
    target.resize(end);
    auto& lengths = trace_.lengths[static_cast<std::size_t>(to.rank)];
    const auto id = static_cast<std::size_t>(to.buffer.id);
    if (lengths.size() <= id) lengths.resize(id + 1);
    lengths[id] = static_cast<std::int32_t>(end);
  }
  const auto& source = slots(from.place_);
  const auto writer = static_cast<std::int32_t>(trace_.operations.size() - 1);
  for (std::int32_t i = 0; i < from.count_; ++i) {
    const Slot& held = source[static_cast<std::size_t>(from.place_.index + i)];
    target[static_cast<std::size_t>(to.index + i)] = {held.value, writer,
                                                      copies ? held.encoded : kind == Operation::Kind::encode};
  }
  return made(to, from.count_);
}

Chunk Program::reduce(const Chunk& into, const Chunk& from, Placement placement, const Where& where) {
  must_be_current(into, where);
  must_be_current(from, where);
  for (const Chunk& chunk : {into, from}) must_be_encoded(chunk, false, "added", "decode it first", where);
  if (into.count_ != from.count_) {
    fail(where, {fmt::format("{} is reduced into {}, but they differ in length", trace_.text(from.place_, from.count_),
                             trace_.text(into.place_, into.count_))});
  }
  if (into.place_.rank == from.place_.rank && into.place_.buffer == from.place_.buffer &&
      into.place_.index < from.place_.index + from.count_ && from.place_.index < into.place_.index + into.count_) {
    fail(where, {fmt::format("{} is reduced into itself", trace_.text(from.place_, from.count_))});
  }
  record(Operation::Kind::reduce, from, into.place_, placement, where);
  auto& target = slots(into.place_);
  const auto& source = slots(from.place_);
  const auto writer = static_cast<std::int32_t>(trace_.operations.size() - 1);
  for (std::int32_t i = 0; i < into.count_; ++i) {
    Slot& slot = target[static_cast<std::size_t>(into.place_.index + i)];
    slot = {values_.sum(slot.value, source[static_cast<std::size_t>(from.place_.index + i)].value), writer, false};
  }
  return made(into.place_, into.count_);
}

void Program::parallel(std::int32_t parts, const Where& where) {
  if (parts < 1 || parts > most_parts) {
    fail(where, {fmt::format("parallelize() has {} parts", parts), fmt::format("use 1 to {}", most_parts)});
  }
  if (parts_ != 1 && parts != 1)
    fail(where, {"parallelize() is inside of another parallelize()", "use one with the product of both numbers"});
  parts_ = parts;
}

Program::Parallel Program::parallelize(std::int32_t parts, Location where) {
  parallel(parts, where_of(where));
  return Parallel(*this);
}

Chunk Program::chunk(std::int32_t rank, Buffer buffer, std::int32_t index, std::int32_t count, Location where) {
  return take({rank, buffer, index}, count, where_of(where));
}

std::optional<std::string> Program::check() const { return unmet(*this); }

}  // namespace moire::mscclang
