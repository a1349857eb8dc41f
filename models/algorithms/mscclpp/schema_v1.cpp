// Schema 1: what Azure/msccl-tools writes. Channels are told by the buffers at both ends and their type; operations
// name a place in the thread block's list of such.
#include <fmt/format.h>

#include <array>
#include <map>
#include <tuple>

#include "models/algorithms/mscclpp/schema.hpp"

namespace moire::mscclpp {

namespace {

struct Name {
  std::string_view name;
  OpType type;
};
constexpr std::array names = {
    Name{"nop", OpType::nop},
    Name{"barrier", OpType::barrier},
    Name{"signal", OpType::signal},
    Name{"wait", OpType::wait},
    Name{"put", OpType::put},
    Name{"pws", OpType::put_signal},
    Name{"pwsf", OpType::put_signal_flush},
    Name{"get", OpType::get},
    Name{"flush", OpType::flush},
    Name{"copy", OpType::copy},
    Name{"re", OpType::reduce},
    Name{"rs", OpType::reduce},
    Name{"rrc", OpType::reduce},
    Name{"rrcs", OpType::reduce},
    Name{"ppkt", OpType::put_packets},
    Name{"cpkt", OpType::unpack_packets},  // later called upkt
    Name{"tpkt", OpType::copy_to_packets},
    Name{"rpkt", OpType::reduce_packets},
    Name{"rspkt", OpType::reduce_packets},
    Name{"glres", OpType::multicast_reduce},
};

using Key = std::tuple<Buffer, Buffer, ChannelType>;

struct Tables {
  std::map<Key, std::vector<std::uint32_t>> channels;
  std::map<Buffer, std::vector<std::uint32_t>> groups;
};

class OperationReader {
 public:
  OperationReader(std::size_t gpu_id, const Gpu& gpu, const Tables& tables, std::size_t block)
      : gpu_id_(static_cast<std::int32_t>(gpu_id)), gpu_(gpu), tables_(tables), block_(block) {}

  Operation read(const Fields& fields, const JsonValue& value) const {
    Operation op;
    op.line = value.line;
    op.col = value.col;
    op.name = fields.text("name");
    const Name* known = nullptr;
    for (const Name& name : names) {
      if (name.name == op.name) known = &name;
    }
    if (!known) {
      if (fields.has("name")) {
        fields.wrong("name", fmt::format("unknown operation {}", config::in_quotes(op.name)),
                     "one of put, get, copy, signal, wait, ... (models/algorithms/mscclpp/README.md)");
      }
      return op;
    }
    op.type = known->type;
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
                         "a nop that depends on another thread block waits for nothing: it only joins the threads "
                         "of its own",
                         "a barrier");
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
        one.wrong("id", fmt::format("channel {} of {} such channels of the thread block", id, have),
                  "a place in its list of channels with these buffers and this type, from 0");
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
    if (found.size() != listed.size()) return;  // told
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
          one.wrong("id", fmt::format("group {} of {} such groups of the thread block", id, have),
                    "a place in its list of nvls channels on this buffer, from 0");
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
  const Tables& tables_;
  std::size_t block_;
};

// Channels of the GPU, by what thread blocks call them.
Tables read_channels(const Fields& fields, std::size_t id, std::size_t gpus, Gpu& gpu) {
  Tables tables;
  for (const JsonValue& value : fields.list("channels", most_listed)) {
    const Fields channel = fields.within(value, fields.where() + " channel");
    const ChannelType type = channel.channel_type("type");
    const auto last = static_cast<std::uint32_t>(gpus - 1);
    if (type == ChannelType::multicast) {
      const Buffer buffer = channel.buffer("buff");
      for (const JsonValue& group : channel.list("rankGroups", most_listed)) {
        tables.groups[buffer].push_back(static_cast<std::uint32_t>(gpu.groups.size()));
        Group& added = gpu.groups.emplace_back();
        added.buffer = buffer;
        for (const std::uint32_t member :
             channel.within(group, channel.where() + " rankGroups").counts("ranks", last, most_gpus)) {
          added.gpus.push_back(static_cast<std::int32_t>(member));
        }
      }
      continue;
    }
    const auto peers = channel.counts("connectedTo", last, most_listed);
    auto& into = type == ChannelType::port ? gpu.ports : gpu.memory;
    auto& named = tables.channels[{channel.buffer("srcbuff"), channel.buffer("dstbuff"), type}];
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (peers[i] == id) channel.wrong("connectedTo", "a channel to itself", "another GPU");
      named.push_back(static_cast<std::uint32_t>(into.size() + i));
    }
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
        channel.wrong("cids", fmt::format("channel {} of {} such channels of the gpu", id, have ? have->size() : 0),
                      "a place in the gpu's channels with these buffers and this type, from 0");
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
  const auto& blocks = fields.list("threadblocks", most_blocks);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Fields block = fields.within(blocks[b], fmt::format("{} tb {}", fields.where(), b));
    if (block.number("id", most_listed) != b) {
      block.wrong("id", "its id is not its place in the list", fmt::format("{}", b));
    }
    Block& added = gpu.blocks.emplace_back();
    added.line = blocks[b].line;
    added.col = blocks[b].col;
    const Tables tables = read_tables(block, channels, added);
    const OperationReader reader(id, gpu, tables, b);
    const auto& ops = block.list("ops", most_listed);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      added.operations.push_back(reader.read(block.within(ops[i], fmt::format("{} op {}", block.where(), i)), ops[i]));
    }
  }
}

}  // namespace moire::mscclpp
