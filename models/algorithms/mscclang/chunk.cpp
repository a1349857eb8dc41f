// Implements references to chunks. Each method records a statement of the program together with its source line.
#include <fmt/format.h>

#include <algorithm>

#include "models/algorithms/mscclang/program.hpp"

namespace moire::mscclang {

namespace {

Where where_of(const Location& location) { return {location.file_name(), location.line()}; }

}  // namespace

Chunk Chunk::copy(std::int32_t rank, Placement placement, Location where) const {
  return program_->copy(*this, {rank, place_.buffer, place_.index}, placement, where_of(where));
}
Chunk Chunk::copy(std::int32_t rank, Buffer buffer, std::int32_t index, Placement placement, Location where) const {
  return program_->copy(*this, {rank, buffer, index}, placement, where_of(where));
}
Chunk Chunk::copy(std::int32_t rank, Buffer scratch, Placement placement, Location where) const {
  const std::int32_t index = scratch.is_scratch() ? program_->length(rank, scratch) : place_.index;
  return program_->copy(*this, {rank, scratch, index}, placement, where_of(where));
}
Chunk Chunk::reduce(const Chunk& other, Placement placement, Location where) const {
  return program_->reduce(*this, other, placement, where_of(where));
}

Chunk Chunk::encode(Buffer buffer, std::int32_t index, Placement placement, Location where) const {
  return program_->copy(*this, {rank(), buffer, index}, placement, where_of(where), Operation::Kind::encode);
}
Chunk Chunk::encode(Buffer scratch, Placement placement, Location where) const {
  return encode(scratch, program_->length(rank(), scratch), placement, where);
}
Chunk Chunk::decode(Buffer buffer, std::int32_t index, Placement placement, Location where) const {
  return program_->copy(*this, {rank(), buffer, index}, placement, where_of(where), Operation::Kind::decode);
}

std::vector<Chunk> Chunk::split(std::int32_t parts, Location where) const {
  if (parts < 1 || count_ % parts != 0) {
    program_->fail(where_of(where), {fmt::format("{} chunks cannot be split into {} equal parts", count_, parts)});
  }
  std::vector<Chunk> made;
  for (std::int32_t i = 0; i < parts; ++i) {
    Chunk& part = made.emplace_back(*this);
    part.count_ = count_ / parts;
    part.place_.index += i * part.count_;
  }
  return made;
}

Chunk Chunk::group(const Chunk& other, Location where) const {
  if (place_.rank != other.place_.rank || place_.buffer != other.place_.buffer) {
    program_->fail(where_of(where), {"the group has chunks of different buffers"});
  }
  Chunk both = *this;
  both.place_.index = std::min(place_.index, other.place_.index);
  both.count_ = std::max(place_.index + count_, other.place_.index + other.count_) - both.place_.index;
  both.moment_ = std::max(moment_, other.moment_);
  return both;
}

}  // namespace moire::mscclang
