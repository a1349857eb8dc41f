#include "models/algorithms/mscclpp/schema.hpp"

#include <algorithm>

#include "sim/config/suggest.hpp"

namespace moire::mscclpp {

std::vector<std::uint32_t> peers_of(const Fields& channel, std::string_view key, std::size_t id, std::size_t gpus) {
  const auto peers = channel.counts(key, static_cast<std::uint32_t>(gpus - 1), most_listed);
  for (const std::uint32_t peer : peers) {
    if (peer == id) channel.wrong(key, "the channel leads to its own GPU", "name another GPU");
  }
  return peers;
}

void add_channels(const std::vector<std::uint32_t>& peers, std::vector<Channel>& channels) {
  for (const std::uint32_t peer : peers) channels.push_back({static_cast<std::int32_t>(peer), 0});
}

void add_groups(const Fields& channel, std::string_view key, Buffer buffer, std::size_t gpus, Gpu& gpu) {
  const auto last = static_cast<std::uint32_t>(gpus - 1);
  for (const JsonValue& group : channel.list(key, most_listed)) {
    const Fields members = channel.within(group, fmt::format("{} {}", channel.where(), key));
    Group& added = gpu.groups.emplace_back();
    added.buffer = buffer;
    for (const std::uint32_t member : members.counts("ranks", last, most_gpus))
      added.gpus.push_back(static_cast<std::int32_t>(member));
  }
}

bool is_known(const Fields& fields, const JsonValue& value, std::span<const NamedOperation> names, Operation& op) {
  op.line = value.line;
  op.col = value.col;
  op.name = fields.text("name");
  const auto known =
      std::find_if(names.begin(), names.end(), [&op](const NamedOperation& one) { return one.name == op.name; });
  if (known != names.end()) {
    op.type = known->type;
    return true;
  }
  if (fields.has("name")) {
    fields.wrong("name", fmt::format("unknown operation {}", config::in_quotes(op.name)),
                 "write one of put, get, copy, signal, wait, ... (models/algorithms/mscclpp/README.md)");
  }
  return false;
}

}  // namespace moire::mscclpp
