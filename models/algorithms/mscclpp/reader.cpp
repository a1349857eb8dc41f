#include "models/algorithms/mscclpp/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "models/algorithms/mscclpp/schema.hpp"

namespace moire::mscclpp {

namespace {

void read_header(const Fields& fields, Plan& plan) {
  plan.name = fields.text("name");
  // The compiler of MSCCL++ 0.5 writes the key as "colletive".
  const char* const collective = !fields.has("collective") && fields.has("colletive") ? "colletive" : "collective";
  plan.collective = msccl::collective_of(fields.text(collective)).value_or(ir::Collective::custom);
  const std::string protocol = fields.text("protocol");
  plan.packets = protocol == "LL";
  if (!plan.packets && protocol != "Simple" && fields.has("protocol")) {
    fields.wrong("protocol", fmt::format("protocol is {}", config::in_quotes(protocol)), "write \"Simple\" or \"LL\"");
  }
  plan.in_place = fields.flag("inplace", false);
  plan.reuse_scratch = fields.flag("reuse_resources", false);
  plan.double_scratch = fields.flag("use_double_scratch_buffer", false);
  plan.alignment = static_cast<std::uint32_t>(fields.number("buffer_alignment", 1 << 20, 16));
  if (plan.alignment == 0) fields.wrong("buffer_alignment", "buffer_alignment is 0", "write 1 or more, such as 16");
  plan.threads = static_cast<std::uint32_t>(fields.number("num_threads_per_block", most_threads, most_threads));
  if (plan.threads == 0) {
    fields.wrong("num_threads_per_block", "num_threads_per_block is 0", fmt::format("write 1 to {}", most_threads));
  }
  constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  plan.min_bytes = fields.number("min_message_size", largest, 0);
  plan.max_bytes = fields.number("max_message_size", largest, largest);
  if (plan.min_bytes > plan.max_bytes) {
    fields.wrong("min_message_size", "min_message_size is above max_message_size",
                 "write a window that contains sizes");
  }
}

// Numbers the channels to each peer from 0.
void number(std::vector<Channel>& channels) {
  std::map<std::int32_t, std::uint32_t> so_far;
  for (Channel& channel : channels) channel.ordinal = so_far[channel.peer]++;
}

// Marks the operands of the operation that hold packets (data with flags).
void mark_packets(Operation& op) {
  const auto mark = [](std::vector<Operand>& operands, std::size_t from) {
    for (std::size_t i = from; i < operands.size(); ++i) operands[i].packets = true;
  };
  switch (op.type) {
    case OpType::put_packets:
      if (op.channel_type == ChannelType::port) mark(op.sources, 0);  // the proxy sends existing packets
      mark(op.destinations, 0);
      break;
    case OpType::read_put_packets:
      mark(op.sources, 0);
      mark(op.destinations, 0);
      break;
    case OpType::copy_to_packets:
      mark(op.destinations, 0);
      break;
    case OpType::unpack_packets:
      mark(op.sources, 0);
      break;
    case OpType::reduce_packets:
      mark(op.sources, 1);
      mark(op.destinations, 1);
      break;
    case OpType::multicast_store_packets:
      mark(op.sources, 0);
      mark(op.destinations, 0);
      break;
    default:
      break;
  }
}

void complete(Gpu& gpu) {
  number(gpu.memory);
  number(gpu.ports);
  for (Block& block : gpu.blocks) {
    for (Operation& op : block.operations) {
      mark_packets(op);
      for (Operation& inner : op.inner) mark_packets(inner);
    }
  }
}

void place_of(const JsonValue& value, Gpu& gpu) {
  gpu.line = value.line;
  gpu.col = value.col;
}

}  // namespace

bool looks_like_plan(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != std::string::npos && text[first] == '{';
}

std::optional<Plan> read_plan(const std::string& name, const std::string& text, config::Diagnostics& diagnostics) {
  const auto json = formats::read_json(name, text, diagnostics);
  if (!json) return std::nullopt;
  Complaints complaints(diagnostics);
  Plan plan;
  plan.source = json->source;
  if (json->root.kind != JsonValue::Kind::map || !json->root.find("gpus")) {
    complaints.error(json->place(json->root), "this is not an execution plan of MSCCL++: there is no \"gpus\"",
                     "write a map with name, collective, protocol, inplace and gpus");
    return std::nullopt;
  }
  const Fields fields(*json, json->root, "the plan", complaints);
  read_header(fields, plan);
  const auto& gpus = fields.list("gpus", most_gpus);
  if (gpus.empty() && complaints.ok()) fields.wrong("gpus", "there is no GPU", "write one map per GPU");
  plan.gpus.resize(gpus.size());
  for (std::size_t id = 0; id < gpus.size(); ++id) {
    const Fields gpu = fields.within(gpus[id], fmt::format("gpu {}", id));
    place_of(gpus[id], plan.gpus[id]);
    if (gpu.number("id", most_gpus) != id)
      gpu.wrong("id", "its id is not its position in the list", fmt::format("write {}", id));
    if (id == 0) plan.schema = gpu.has("inputChunks") ? 1 : 2;
    if (plan.schema == 1) {
      read_gpu_v1(gpu, id, gpus.size(), plan.gpus[id]);
    } else {
      read_gpu_v2(gpu, id, gpus.size(), plan.gpus[id]);
    }
    complete(plan.gpus[id]);
  }
  if (!complaints.ok()) return std::nullopt;
  return plan;
}

}  // namespace moire::mscclpp
