#include "models/algorithms/msccl/algorithm.hpp"

#include <algorithm>
#include <utility>

namespace moire::msccl {

namespace {

constexpr std::array<std::pair<Collective, std::string_view>, 14> collectives = {{
    {Collective::all_reduce, "allreduce"},
    {Collective::all_gather, "allgather"},
    {Collective::all_to_all, "alltoall"},
    {Collective::reduce_scatter, "reducescatter"},
    {Collective::reduce_scatter, "reduce_scatter"},
    {Collective::broadcast, "broadcast"},
    {Collective::reduce, "reduce"},
    {Collective::send, "send"},
    {Collective::recv, "recv"},
    {Collective::gather, "gather"},
    {Collective::scatter, "scatter"},
    {Collective::all_to_all_v, "alltoallv"},
    {Collective::send_recv, "sendrecv"},
    {Collective::custom, "custom"},
}};
constexpr std::array<std::string_view, 3> protocols = {"Simple", "LL", "LL128"};
// The names of step types in MSCCL XML, indexed by ir::Op. MSCCL XML has no name for copy_send and recv_send. MSCCL's
// runtime treats steps that encode or decode as copies.
constexpr std::array<std::string_view, ir::ops> types = {"nop", "cpy", "re",  "s",    {},    "r",  {},
                                                         "rcs", "rrs", "rrc", "rrcs", "cpy", "cpy"};
constexpr std::array<std::string_view, buffers> buffer_names = {"i", "o", "s"};

template <class Value, std::size_t N>
std::optional<Value> find(const std::array<std::string_view, N>& names, std::string_view text) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (text.empty() || found == names.end()) return std::nullopt;
  return static_cast<Value>(found - names.begin());
}

}  // namespace

Cut cut(const Algorithm& algorithm, std::uint64_t bytes, const Fifo& fifo) {
  const auto chunks = static_cast<std::uint64_t>(algorithm.chunks);
  const std::uint64_t chunk = std::max<std::uint64_t>(1, (bytes + chunks - 1) / chunks);
  Cut made;
  made.chunk_bytes = static_cast<double>(bytes) / static_cast<double>(chunks);
  made.iterations = (chunk + fifo.call_bytes - 1) / fifo.call_bytes;
  made.chunks_per_call = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fifo.call_bytes / chunk, 1, most_chunks));
  return made;
}

std::string_view to_string(Collective collective) {
  return std::find_if(collectives.begin(), collectives.end(), [&](const auto& c) { return c.first == collective; })
      ->second;
}
std::string_view to_string(Protocol protocol) { return protocols[static_cast<std::size_t>(protocol)]; }
std::string_view to_string(Op type) { return types[static_cast<std::size_t>(type)]; }
std::string_view to_string(Buffer buffer) { return buffer_names[static_cast<std::size_t>(buffer)]; }

std::optional<Collective> collective_of(std::string_view text) {
  const auto found =
      std::find_if(collectives.begin(), collectives.end(), [&](const auto& c) { return c.second == text; });
  if (found == collectives.end()) return std::nullopt;
  return found->first;
}
std::optional<Protocol> protocol_of(std::string_view text) { return find<Protocol>(protocols, text); }
std::optional<Op> step_type_of(std::string_view text) { return find<Op>(types, text); }
std::string_view coding_to_string(Op type) {
  return type == Op::encode ? "encode" : type == Op::decode ? "decode" : "";
}
std::optional<Op> coding_of(std::string_view text) {
  for (const Op op : {Op::encode, Op::decode}) {
    if (text == coding_to_string(op)) return op;
  }
  return std::nullopt;
}
std::optional<Buffer> buffer_of(std::string_view text) { return find<Buffer>(buffer_names, text); }

}  // namespace moire::msccl
