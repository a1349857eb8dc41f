// Writes small MSCCL++ plans for tests. Two GPUs are connected by two memory channels, a port channel and a switch
// group.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace moire::mscclpp {

inline std::string listed(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ",\n") + item;
  return "[" + out + "]";
}

inline std::string nop() { return R"({"name": "nop"})"; }
inline std::string on_channel(const std::string& name, int channel, const std::string& type = "memory") {
  return fmt::format(R"({{"name": "{}", "channel_ids": [{}], "channel_type": "{}"}})", name, channel, type);
}
inline std::string signal(int channel = 0, const std::string& type = "memory") {
  return on_channel("signal", channel, type);
}
inline std::string wait(int channel = 0, const std::string& type = "memory") {
  return on_channel("wait", channel, type);
}
inline std::string at(const std::string& buffer, int index, int size = 1) {
  return fmt::format(R"({{"type": "{}", "index": {}, "size": {}}})", buffer, index, size);
}
// Returns an operand of a plan: `size` chunks of a buffer of the peer. `buffer`: 0 input, 1 output, 2 scratch.
inline std::string peers(int buffer, int index, int size = 1) {
  return fmt::format(R"({{"buffer_id": {}, "index": {}, "size": {}}})", buffer, index, size);
}
inline std::string group(int index, int size = 1) {
  return fmt::format(R"({{"switch_channel_id": 0, "index": {}, "size": {}}})", index, size);
}
inline std::string move(const std::string& name, const std::vector<std::string>& from,
                        const std::vector<std::string>& to, const std::string& more = R"("channel_type": "memory")") {
  return fmt::format(R"({{"name": "{}", "src_buff": {}, "dst_buff": {}, {}}})", name, listed(from), listed(to), more);
}
inline const char* const over_port = R"("channel_type": "port", "channel_ids": [0])";
inline const char* const over_switch = R"("channel_type": "switch")";
inline std::string part(int number, int of) {
  return fmt::format(R"("channel_type": "memory", "tbg_info": {{"tb_id": {}, "tbg_size": {}}})", number, of);
}
inline std::string barrier(int blocks, int id = 0) {
  return fmt::format(R"({{"name": "barrier", "barrier_id": {}, "num_threadblocks": {}}})", id, blocks);
}
inline std::string semaphore(const std::string& name, int id) {
  return fmt::format(R"({{"name": "sem_{}", "semaphore_ids": [{}]}})", name, id);
}
inline std::string pipeline(std::uint64_t unit, const std::vector<std::string>& ops, int chunks = 1) {
  return fmt::format(R"({{"name": "pipeline", "iter_context": {{"unit_size": {}, "num_chunks": {}}}, "ops": {}}})",
                     unit, chunks, listed(ops));
}

struct Example {
  std::string collective = "allgather";
  std::string protocol = "Simple";
  bool in_place = true;
  int input_chunks = 1;
  int output_chunks = 2;
  int scratch_chunks = 2;
  std::string more;  // further keys of the plan, such as ", \"reuse_resources\": true"
  std::vector<int> semaphores;
  // Lists of operations, by GPU and by thread block.
  std::vector<std::vector<std::vector<std::string>>> gpus;

  // Returns an example of two GPUs. blocks(gpu, peer) returns the thread blocks of a GPU.
  template <class Blocks>
  static Example of_two(Blocks blocks) {
    Example example;
    example.gpus = {blocks(0, 1), blocks(1, 0)};
    return example;
  }

  std::string text() const {
    std::vector<std::string> all;
    for (std::size_t g = 0; g < gpus.size(); ++g) all.push_back(gpu(g));
    return fmt::format(
        "{{\"name\": \"example\", \"collective\": \"{}\", \"protocol\": \"{}\", \"inplace\": {}{},\n\"gpus\": {}}}\n",
        collective, protocol, in_place, more, listed(all));
  }

 private:
  std::string gpu(std::size_t g) const {
    std::vector<std::string> channels;
    std::string buffers;
    if (gpus.size() == 2) {
      const std::size_t peer = 1 - g;
      channels.push_back(fmt::format(R"({{"channel_type": "memory", "connected_to": [{0}, {0}]}})", peer));
      channels.push_back(fmt::format(R"({{"channel_type": "port", "connected_to": [{}]}})", peer));
      channels.push_back(
          R"({"channel_type": "switch", "buffer_type": "i", "rank_groups": [{"size": 1, "ranks": [0, 1]}]})");
      for (const char* type : {"i", "o", "s"}) {
        buffers += fmt::format(R"({}{{"rank": {}, "type": "{}", "access_channel_types": ["memory", "port"]}})",
                               buffers.empty() ? "" : ", ", peer, type);
      }
    }
    std::string values;
    for (const int value : semaphores)
      values += fmt::format("{}{{\"init_value\": {}}}", values.empty() ? "" : ", ", value);
    std::vector<std::string> blocks;
    for (std::size_t b = 0; b < gpus[g].size(); ++b) {
      const char* tables = gpus.size() == 2 ? R"("channels": [{"channel_type": "memory", "channel_ids": [0, 1]},
 {"channel_type": "port", "channel_ids": [0]}, {"channel_type": "switch", "channel_ids": [0]}],
"remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0, 1, 2]},
 {"access_channel_type": "port", "remote_buffer_ids": [0, 1, 2]}])"
                                            : R"("channels": [])";
      blocks.push_back(fmt::format("{{\"id\": {}, {}, \"ops\": {}}}", b, tables, listed(gpus[g][b])));
    }
    return fmt::format(R"({{"id": {}, "input_chunks": {}, "output_chunks": {}, "scratch_chunks": {},
"channels": {}, "remote_buffers": [{}], "semaphores": [{}],
"threadblocks": {}}})",
                       g, input_chunks, output_chunks, scratch_chunks, listed(channels), buffers, values,
                       listed(blocks));
  }
};

}  // namespace moire::mscclpp
