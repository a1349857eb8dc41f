// Schema 2, which the plan language of microsoft/mscclpp writes since 0.7.
#include <fmt/format.h>

#include <array>

#include "models/algorithms/mscclpp/schema.hpp"

namespace moire::mscclpp {

namespace {

constexpr std::array names = {
    NamedOperation{"nop", OpType::nop},
    NamedOperation{"barrier", OpType::barrier},
    NamedOperation{"signal", OpType::signal},
    NamedOperation{"wait", OpType::wait},
    NamedOperation{"rlxsignal", OpType::relaxed_signal},
    NamedOperation{"rlxwait", OpType::relaxed_wait},
    NamedOperation{"put", OpType::put},
    NamedOperation{"pws", OpType::put_signal},
    NamedOperation{"pwsf", OpType::put_signal_flush},
    NamedOperation{"get", OpType::get},
    NamedOperation{"flush", OpType::flush},
    NamedOperation{"copy", OpType::copy},
    NamedOperation{"re", OpType::reduce},
    NamedOperation{"res", OpType::reduce},
    NamedOperation{"rre", OpType::reduce},
    NamedOperation{"rres", OpType::reduce},
    NamedOperation{"ppkt", OpType::put_packets},
    NamedOperation{"rppkt", OpType::read_put_packets},
    NamedOperation{"cpkt", OpType::copy_to_packets},
    NamedOperation{"upkt", OpType::unpack_packets},
    NamedOperation{"repkt", OpType::reduce_packets},
    NamedOperation{"respkt", OpType::reduce_packets},
    NamedOperation{"recpkt", OpType::reduce_packets},
    NamedOperation{"recspkt", OpType::reduce_packets},
    NamedOperation{"glres", OpType::multicast_reduce},
    NamedOperation{"gstore", OpType::multicast_store},
    NamedOperation{"gstorepkt", OpType::multicast_store_packets},
    NamedOperation{"pipeline", OpType::pipeline},
    NamedOperation{"sem_acquire", OpType::acquire},
    NamedOperation{"sem_release", OpType::release},
};

struct RemoteBuffer {
  std::int32_t gpu = 0;
  Buffer buffer = Buffer::input;
};

// The operations of a thread block name channels, groups and buffers by their index in a table of the block. These
// tables translate such an index to a channel or group of the GPU, or to a remote buffer.
struct BlockTables {
  std::array<std::vector<std::uint32_t>, 2> channels;  // indexed by index_of()
  std::vector<std::uint32_t> groups;                   // of switch channels
  std::array<std::vector<RemoteBuffer>, 2> remote;     // indexed by index_of()
};

std::size_t index_of(ChannelType type) { return type == ChannelType::port ? 1 : 0; }

class OperationReader {
 public:
  OperationReader(std::size_t gpu_id, const Gpu& gpu, BlockTables tables)
      : gpu_id_(static_cast<std::int32_t>(gpu_id)), gpu_(gpu), tables_(std::move(tables)) {}

  Operation read(const Fields& fields, const JsonValue& value, bool inside = false) const {
    Operation op;
    if (!is_known(fields, value, names, op)) return op;
    if (fields.has("channel_type")) op.channel_type = fields.channel_type("channel_type");
    if (fields.has("channel_ids") && op.channel_type != ChannelType::multicast) read_channels(fields, op);
    if (fields.has("tbg_info")) read_part(fields, op);
    read_operands(fields, "src_buff", op, op.sources);
    read_operands(fields, "dst_buff", op, op.destinations);
    if (op.type == OpType::barrier) {
      op.barrier = fields.count("barrier_id", most_listed);
      op.barrier_blocks = fields.count("num_threadblocks", most_listed);
    }
    if (op.type == OpType::acquire || op.type == OpType::release) {
      op.semaphores = fields.counts("semaphore_ids", most_listed, most_listed);
    }
    if (op.type == OpType::pipeline) read_pipeline(fields, inside, op);
    return op;
  }

 private:
  void read_channels(const Fields& fields, Operation& op) const {
    const auto& local = tables_.channels[index_of(op.channel_type)];
    for (const std::uint32_t id : fields.counts("channel_ids", most_listed, most_listed)) {
      if (id < local.size()) {
        op.channels.push_back(local[id]);
      } else {
        fields.wrong("channel_ids",
                     fmt::format("channel {} is named, but the thread block has {} {} channels", id, local.size(),
                                 to_string(op.channel_type)),
                     "name a position, from 0, in its list of channels");
      }
    }
  }

  void read_part(const Fields& fields, Operation& op) const {
    const Fields info = fields.within(fields.map("tbg_info"), fields.where() + " tbg_info");
    op.part = info.count("tb_id", most_listed);
    op.parts = info.count("tbg_size", most_listed);
    if (op.part >= op.parts) {
      fields.wrong("tbg_info", fmt::format("tb_id is {}, but {} blocks share the operation", op.part, op.parts),
                   "write a number below tbg_size");
      op.part = 0;
      op.parts = 1;
    }
  }

  void read_operands(const Fields& fields, std::string_view key, const Operation& op, std::vector<Operand>& out) const {
    for (const JsonValue& value : fields.list_or_none(key, most_listed)) {
      const Fields operand = fields.within(value, fields.where() + " " + std::string(key));
      Operand& added = out.emplace_back();
      added.gpu = gpu_id_;
      if (operand.has("type")) {
        added.buffer = operand.buffer("type");
      } else if (operand.has("buffer_id")) {
        remote(operand, op, added);
      } else if (operand.has("switch_channel_id")) {
        group(operand, added);
      } else {
        operand.wrong("type", "it names no buffer", "write type, buffer_id or switch_channel_id");
      }
      added.index = operand.count("index", most_chunks);
      added.count = operand.count("size", most_chunks);
    }
  }

  void remote(const Fields& operand, const Operation& op, Operand& out) const {
    const auto& local = tables_.remote[index_of(op.channel_type)];
    const std::uint32_t id = operand.count("buffer_id", most_listed);
    out.place = Operand::Place::remote;
    if (id >= local.size()) {
      operand.wrong("buffer_id",
                    fmt::format("buffer {} is named, but the thread block has {} remote buffers over {} channels", id,
                                local.size(), to_string(op.channel_type)),
                    "name a position, from 0, in its remote_buffer_refs");
      return;
    }
    out.gpu = local[id].gpu;
    out.buffer = local[id].buffer;
  }

  void group(const Fields& operand, Operand& out) const {
    const std::uint32_t id = operand.count("switch_channel_id", most_listed);
    out.place = Operand::Place::group;
    out.gpu = -1;
    if (id >= tables_.groups.size()) {
      operand.wrong("switch_channel_id",
                    fmt::format("switch channel {} is named, but the thread block has {}", id, tables_.groups.size()),
                    "name a position, from 0, in its list of channels");
      return;
    }
    out.group = tables_.groups[id];
    out.buffer = gpu_.groups[out.group].buffer;
  }

  void read_pipeline(const Fields& fields, bool inside, Operation& op) const {
    if (inside) {
      fields.wrong("name", "a pipeline is inside of a pipeline", "write one level of pipelines");
      return;
    }
    const Fields context = fields.within(fields.map("iter_context"), fields.where() + " iter_context");
    op.unit_bytes = context.number("unit_size", std::uint64_t{1} << 40);
    op.pipeline_chunks = context.count("num_chunks", most_chunks);
    if (op.unit_bytes == 0) context.wrong("unit_size", "unit_size is 0", "write the bytes of a round");
    if (op.pipeline_chunks == 0)
      context.wrong("num_chunks", "num_chunks is 0", "write the number of chunks that the rounds walk through");
    const auto& inner = fields.list("ops", most_listed);
    for (std::size_t i = 0; i < inner.size(); ++i) {
      op.inner.push_back(read(fields.within(inner[i], fmt::format("{}.{}", fields.where(), i)), inner[i], true));
    }
  }

  std::int32_t gpu_id_;
  const Gpu& gpu_;
  BlockTables tables_;
};

void read_channels(const Fields& fields, std::size_t id, std::size_t gpus, Gpu& gpu) {
  for (const JsonValue& value : fields.list("channels", most_listed)) {
    const Fields channel = fields.within(value, fields.where() + " channel");
    const ChannelType type = channel.channel_type("channel_type");
    if (type != ChannelType::multicast) {
      add_channels(peers_of(channel, "connected_to", id, gpus), type == ChannelType::port ? gpu.ports : gpu.memory);
      continue;
    }
    add_groups(channel, "rank_groups", channel.buffer(channel.has("buff") ? "buff" : "buffer_type"), gpus, gpu);
  }
}

std::vector<RemoteBuffer> read_remote_buffers(const Fields& fields, std::size_t gpus) {
  std::vector<RemoteBuffer> buffers;
  for (const JsonValue& value : fields.list("remote_buffers", most_listed)) {
    const Fields buffer = fields.within(value, fields.where() + " remote buffer");
    buffers.push_back(
        {static_cast<std::int32_t>(buffer.count("rank", static_cast<std::uint32_t>(gpus - 1))), buffer.buffer("type")});
  }
  return buffers;
}

BlockTables read_tables(const Fields& block, const Gpu& gpu, const std::vector<RemoteBuffer>& buffers) {
  BlockTables tables;
  for (const JsonValue& value : block.list("channels", most_listed)) {
    const Fields channel = block.within(value, block.where() + " channel");
    const ChannelType type = channel.channel_type("channel_type");
    const std::size_t have = type == ChannelType::multicast ? gpu.groups.size() : gpu.of(type).size();
    auto& into = type == ChannelType::multicast ? tables.groups : tables.channels[index_of(type)];
    for (const std::uint32_t id : channel.counts("channel_ids", most_listed, most_listed)) {
      if (id < have) {
        into.push_back(id);
      } else {
        channel.wrong("channel_ids",
                      fmt::format("channel {} is named, but the gpu has {} {} channels", id, have, to_string(type)),
                      "name a position, from 0, in the gpu's channels of that type");
      }
    }
  }
  for (const JsonValue& value : block.list_or_none("remote_buffer_refs", most_listed)) {
    const Fields refs = block.within(value, block.where() + " remote_buffer_refs");
    auto& into = tables.remote[index_of(refs.channel_type("access_channel_type"))];
    for (const std::uint32_t id : refs.counts("remote_buffer_ids", most_listed, most_listed)) {
      if (id < buffers.size()) {
        into.push_back(buffers[id]);
      } else {
        refs.wrong("remote_buffer_ids",
                   fmt::format("buffer {} is named, but the gpu has {} remote buffers", id, buffers.size()),
                   "name a position, from 0, in the gpu's remote_buffers");
      }
    }
  }
  return tables;
}

}  // namespace

void read_gpu_v2(const Fields& fields, std::size_t id, std::size_t gpus, Gpu& gpu) {
  gpu.input_chunks = fields.count("input_chunks", most_chunks);
  gpu.output_chunks = fields.count("output_chunks", most_chunks);
  gpu.scratch_chunks = fields.count("scratch_chunks", most_chunks);
  read_channels(fields, id, gpus, gpu);
  const auto buffers = fields.has("remote_buffers") ? read_remote_buffers(fields, gpus) : std::vector<RemoteBuffer>();
  for (const JsonValue& value : fields.list_or_none("semaphores", most_listed)) {
    gpu.semaphores.push_back(fields.within(value, fields.where() + " semaphore").count("init_value", 1 << 20));
  }
  read_blocks(fields, gpu, [&](const Fields& block, std::size_t, Block& added) {
    BlockTables tables = read_tables(block, gpu, buffers);
    added.memory_channels = tables.channels[0].size();
    added.port_channels = tables.channels[1].size();
    return OperationReader(id, gpu, std::move(tables));
  });
}

}  // namespace moire::mscclpp
