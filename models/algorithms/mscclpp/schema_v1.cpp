// Schema 1, which Azure/msccl-tools writes. A thread block has a list of channels for each combination of a type and
// the buffers at both ends. Its operations name a combination and a position in this list.
#include <fmt/format.h>

#include <array>
#include <map>
#include <tuple>

#include "models/algorithms/mscclpp/schema.hpp"

namespace moire::mscclpp {

namespace {

constexpr std::array names = {
    NamedOperation{"nop", OpType::nop},
    NamedOperation{"barrier", OpType::barrier},
    NamedOperation{"signal", OpType::signal},
    NamedOperation{"wait", OpType::wait},
    NamedOperation{"put", OpType::put},
    NamedOperation{"pws", OpType::put_signal},
    NamedOperation{"pwsf", OpType::put_signal_flush},
    NamedOperation{"get", OpType::get},
    NamedOperation{"flush", OpType::flush},
    NamedOperation{"copy", OpType::copy},
    NamedOperation{"re", OpType::reduce},
    NamedOperation{"rs", OpType::reduce},
    NamedOperation{"rrc", OpType::reduce},
    NamedOperation{"rrcs", OpType::reduce},
    NamedOperation{"ppkt", OpType::put_packets},
    NamedOperation{"cpkt", OpType::unpack_packets},  // schema 2 calls it upkt
    NamedOperation{"tpkt", OpType::copy_to_packets},
    NamedOperation{"rpkt", OpType::reduce_packets},
    NamedOperation{"rspkt", OpType::reduce_packets},
    NamedOperation{"glres", OpType::multicast_reduce},
};

using Key = std::tuple<Buffer, Buffer, ChannelType>;

struct Tables {
  std::map<Key, std::vector<std::uint32_t>> channels;
  std::map<Buffer, std::vector<std::uint32_t>> groups;
};

class OperationReader {
 public:
  OperationReader(std::size_t gpu_id, const Gpu& gpu, Tables tables, std::size_t block)
      : gpu_id_(static_cast<std::int32_t>(gpu_id)), gpu_(gpu), tables_(std::move(tables)), block_(block) {}

  Operation read(const Fields& fields, const JsonValue& value) const {
    Operation op;
    if (!is_known(fields, value, names, op)) return op;
    if (fields.has("ctype")) op.channel_type = fields.channel_type("ctype");
    switch (op.type) {
      case OpType::nop:
        check_dependencies(fields);
        return op;
      case OpType::barrier:
        op.barrier = fields.count("barrier_id", most_listed);
        op.barrier_blocks =
            fields.count(fields.has("nthread_blocks") ? "nthread_blocks" : "num_threadblocks", most_listed);
        return op;
      case OpType::signal:
      case OpType::flush:
        op.channels = channels(fields, "o_buff", "o_cids", op.channel_type);
        return op;
      case OpType::wait:
        op.channels = channels(fields, "i_buff", "i_cids", op.channel_type);
        return op;
      case OpType::multicast_reduce:
        multicast(fields, op);
        return op;
      default:
        break;
    }
    const std::uint32_t count = fields.count("cnt", most_chunks);
    if (fields.has("srcbuff"))
      op.sources.push_back(local(fields.buffer("srcbuff"), fields.count("srcoff", most_chunks), count));
    if (fields.has("i_cids")) remotes(fields, "i_buff", "i_cids", op, count, op.sources);
    if (fields.has("srcs")) locals(fields, "srcs", count, op.sources);
    if (fields.has("dstbuff")) {
      op.destinations.push_back(local(fields.buffer("dstbuff"), fields.count("dstoff", most_chunks), count));
    }
    if (fields.has("o_cids")) {
      remotes(fields, "o_buff", "o_cids", op, count, op.destinations);
      op.channels = channels(fields, "o_buff", "o_cids", op.channel_type);
    }
    if (fields.has("dsts")) locals(fields, "dsts", count, op.destinations);
    return op;
  }

 private:
  void check_dependencies(const Fields& fields) const {
    for (const JsonValue& value : fields.list_or_none("deps", most_listed)) {
      const Fields dependency = fields.within(value, fields.where() + " deps");
      if (dependency.number("tb", most_listed) != block_) {
        dependency.wrong("tb",
                         "a nop that depends on another thread block does not wait for it: it only synchronises the "
                         "threads of its own block",
                         "use a barrier");
      }
    }
  }

  std::vector<std::uint32_t> channels(const Fields& fields, std::string_view buffers, std::string_view ids,
                                      ChannelType type) const {
    std::vector<std::uint32_t> found;
    const Fields ends = fields.within(fields.map(buffers), fields.where() + " " + std::string(buffers));
    const auto listed = tables_.channels.find({ends.buffer("src"), ends.buffer("dst"), type});
    const std::size_t have = listed == tables_.channels.end() ? 0 : listed->second.size();
    for (const JsonValue& value : fields.list(ids, most_listed)) {
      const Fields one = fields.within(value, fields.where() + " " + std::string(ids));
      const std::uint32_t id = one.count("id", most_listed);
      if (id < have) {
        found.push_back(listed->second[id]);
      } else {
        one.wrong(
            "id",
            fmt::format("id is {}, but the thread block has {} channels with these buffers and this type", id, have),
            "write the position of one of them in the thread block's list, from 0, or add the channel to the list");
      }
    }
    return found;
  }

  Operand local(Buffer buffer, std::uint32_t index, std::uint32_t count) const {
    Operand operand;
    operand.buffer = buffer;
    operand.gpu = gpu_id_;
    operand.index = index;
    operand.count = count;
    return operand;
  }

  void locals(const Fields& fields, std::string_view key, std::uint32_t count, std::vector<Operand>& out) const {
    for (const JsonValue& value : fields.list(key, most_listed)) {
      const Fields one = fields.within(value, fields.where() + " " + std::string(key));
      out.push_back(local(one.buffer("buff"), one.count("off", most_chunks), count));
    }
  }

  void remotes(const Fields& fields, std::string_view buffers, std::string_view ids, const Operation& op,
               std::uint32_t count, std::vector<Operand>& out) const {
    const auto found = channels(fields, buffers, ids, op.channel_type);
    const auto& listed = fields.list(ids, most_listed);
    if (found.size() != listed.size()) return;  // channels() has reported the ids that name no channel
    const Buffer buffer = fields.within(fields.map(buffers), fields.where()).buffer("dst");
    for (std::size_t i = 0; i < listed.size(); ++i) {
      const Fields one = fields.within(listed[i], fields.where() + " " + std::string(ids));
      Operand operand = local(buffer, one.count("off", most_chunks), count);
      operand.place = Operand::Place::remote;
      operand.gpu = gpu_.of(op.channel_type)[found[i]].peer;
      out.push_back(operand);
    }
  }

  void multicast(const Fields& fields, Operation& op) const {
    const std::uint32_t count = fields.count("cnt", most_chunks);
    const auto group = [&](std::string_view ids, Buffer buffer, std::uint32_t index, std::vector<Operand>& out) {
      const auto listed = tables_.groups.find(buffer);
      const std::size_t have = listed == tables_.groups.end() ? 0 : listed->second.size();
      for (const JsonValue& value : fields.list(ids, most_listed)) {
        const Fields one = fields.within(value, fields.where() + " " + std::string(ids));
        const std::uint32_t id = one.count("id", most_listed);
        if (id >= have) {
          one.wrong("id", fmt::format("group {} is named, but the thread block has {} such groups", id, have),
                    "name a position, from 0, in its list of nvls channels on this buffer");
          continue;
        }
        Operand operand = local(buffer, index, count);
        operand.place = Operand::Place::group;
        operand.gpu = -1;
        operand.group = listed->second[id];
        out.push_back(operand);
      }
    };
    group("i_cids", fields.buffer("srcbuff"), fields.count("srcoff", most_chunks), op.sources);
    group("o_cids", fields.buffer("dstbuff"), fields.count("dstoff", most_chunks), op.destinations);
  }

  std::int32_t gpu_id_;
  const Gpu& gpu_;
  Tables tables_;
  std::size_t block_;
};

// Reads the channels of a GPU into `gpu`. Returns their indices by type and buffers, which is how thread blocks name
// them.
Tables read_channels(const Fields& fields, std::size_t id, std::size_t gpus, Gpu& gpu) {
  Tables tables;
  for (const JsonValue& value : fields.list("channels", most_listed)) {
    const Fields channel = fields.within(value, fields.where() + " channel");
    const ChannelType type = channel.channel_type("type");
    if (type == ChannelType::multicast) {
      const Buffer buffer = channel.buffer("buff");
      auto& named = tables.groups[buffer];
      const std::size_t before = gpu.groups.size();
      add_groups(channel, "rankGroups", buffer, gpus, gpu);
      for (std::size_t g = before; g < gpu.groups.size(); ++g) named.push_back(static_cast<std::uint32_t>(g));
      continue;
    }
    const auto peers = peers_of(channel, "connectedTo", id, gpus);
    auto& into = type == ChannelType::port ? gpu.ports : gpu.memory;
    auto& named = tables.channels[{channel.buffer("srcbuff"), channel.buffer("dstbuff"), type}];
    for (std::size_t i = 0; i < peers.size(); ++i) named.push_back(static_cast<std::uint32_t>(into.size() + i));
    add_channels(peers, into);
  }
  return tables;
}

Tables read_tables(const Fields& block, const Tables& gpu, Block& out) {
  Tables tables;
  for (const JsonValue& value : block.list("channels", most_listed)) {
    const Fields channel = block.within(value, block.where() + " channel");
    const ChannelType type = channel.channel_type("ctype");
    const Buffer src = channel.buffer("src");
    const Key key{src, channel.buffer("dst"), type};
    const std::vector<std::uint32_t>* have = nullptr;
    if (type == ChannelType::multicast) {
      const auto found = gpu.groups.find(src);
      if (found != gpu.groups.end()) have = &found->second;
    } else {
      const auto found = gpu.channels.find(key);
      if (found != gpu.channels.end()) have = &found->second;
    }
    auto& into = type == ChannelType::multicast ? tables.groups[src] : tables.channels[key];
    for (const std::uint32_t id : channel.counts("cids", most_listed, most_listed)) {
      if (!have || id >= have->size()) {
        channel.wrong("cids",
                      fmt::format("channel {} is named, but the gpu has {} such channels", id, have ? have->size() : 0),
                      "name a position, from 0, in the gpu's channels with these buffers and this type");
        continue;
      }
      into.push_back((*have)[id]);
      if (type == ChannelType::memory) ++out.memory_channels;
      if (type == ChannelType::port) ++out.port_channels;
    }
  }
  return tables;
}

}  // namespace

void read_gpu_v1(const Fields& fields, std::size_t id, std::size_t gpus, Gpu& gpu) {
  gpu.input_chunks = fields.count("inputChunks", most_chunks);
  gpu.output_chunks = fields.count("outputChunks", most_chunks);
  gpu.scratch_chunks = fields.count("scratchChunks", most_chunks);
  const Tables channels = read_channels(fields, id, gpus, gpu);
  read_blocks(fields, gpu, [&](const Fields& block, std::size_t b, Block& added) {
    return OperationReader(id, gpu, read_tables(block, channels, added), b);
  });
}

}  // namespace moire::mscclpp
