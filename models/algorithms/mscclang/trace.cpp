#include "models/algorithms/mscclang/trace.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace moire::mscclang {

namespace {

constexpr std::size_t most_shown = 8;  // contributions that a message lists

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::string number_range(std::int32_t index, std::int32_t count) {
  return count == 1 ? fmt::format("[{}]", index) : fmt::format("[{}..{}]", index, index + count - 1);
}

}  // namespace

std::string Trace::text(const Place& place, std::int32_t count) const {
  const std::int32_t scratch = place.buffer.id - 2;
  const std::string buffer = place.buffer == input    ? "input"
                             : place.buffer == output ? "output"
                             : static_cast<std::size_t>(scratch) < scratch_names.size()
                                 ? fmt::format("'{}'", scratch_names[static_cast<std::size_t>(scratch)])
                                 : "an unknown buffer";
  return fmt::format("rank {} {}{}", place.rank, buffer, number_range(place.index, count));
}

std::string Trace::text(const Operation& operation) const {
  const std::string name = std::filesystem::path(files[static_cast<std::size_t>(operation.file)]).filename().string();
  constexpr const char* kinds[] = {"copy", "reduction", "encoding", "decoding"};
  return fmt::format("{}:{}: {} of {} {} {}", name, operation.line, kinds[static_cast<std::size_t>(operation.kind)],
                     text(operation.src, operation.count), operation.kind == Operation::Kind::reduce ? "into" : "to",
                     text(operation.dst, operation.count));
}

std::uint64_t Values::fingerprint_of(std::int32_t rank, std::int32_t index) {
  return mixed((static_cast<std::uint64_t>(static_cast<std::uint32_t>(rank)) << 32) |
               static_cast<std::uint32_t>(index));
}

ValueId Values::contribution(std::int32_t rank, std::int32_t index) {
  all_.push_back({fingerprint_of(rank, index), rank, -1, index});
  return static_cast<ValueId>(all_.size() - 1);
}

ValueId Values::sum(ValueId a, ValueId b) {
  all_.push_back({fingerprint(a) + fingerprint(b), a, b, 0});
  return static_cast<ValueId>(all_.size() - 1);
}

std::vector<ValueId> Values::contributions(ValueId value) const {
  std::vector<ValueId> found;
  std::vector<ValueId> open = {value};
  while (!open.empty()) {
    const ValueId next = open.back();
    open.pop_back();
    const Value& is = all_[static_cast<std::size_t>(next)];
    if (is.right < 0) {
      found.push_back(next);
    } else {
      open.push_back(is.right);
      open.push_back(is.left);
    }
  }
  return found;
}

std::string Values::text(ValueId value) const {
  if (value == no_value) return "nothing";
  std::string out;
  std::size_t shown = 0;
  const std::vector<ValueId> all = contributions(value);
  for (const ValueId one : all) {
    if (shown == most_shown) return out + fmt::format(" + {} more", all.size() - shown);
    const Value& is = all_[static_cast<std::size_t>(one)];
    out += fmt::format("{}rank {} [{}]", shown == 0 ? "" : " + ", is.left, is.index);
    ++shown;
  }
  return out;
}

}  // namespace moire::mscclang
