// Over 400 lines: one function per operator, which draws its keys.
#include "tests/laws/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "models/algorithms/mscclang/programs/registry.hpp"
#include "sim/core/queue_network.hpp"
#include "tests/laws/own_kernel.hpp"
#include "tests/support/example_codec.hpp"

namespace moire::laws {

namespace {

constexpr std::int64_t primes[] = {1,       2,        3,        5,         7,         13,        31,
                                   127,     1021,     8191,     65521,     131071,    524287,    1048573,
                                   4194301, 16777213, 67108859, 134217689, 268435399, 536870909, 1073741789};

double bytes_between(double low, double high, Random& random) {
  const double share = static_cast<double>(random.below(1001)) / 1000;
  double bytes = std::floor(low * std::exp2(share * std::log2(high / low)));
  switch (random.below(4)) {
    case 0:
      bytes = std::exp2(std::floor(std::log2(bytes)));
      break;
    case 1:
      bytes = bytes + 1 - std::fmod(bytes, 2);  // odd
      break;
    case 2:
      for (const std::int64_t prime : primes)
        if (static_cast<double>(prime) >= low && static_cast<double>(prime) <= high) bytes = static_cast<double>(prime);
      break;
    default:
      break;
  }
  return std::clamp(bytes, low, high);
}

bool one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* other) { return word == other; });
}

// Returns the algorithm of an all-reduce that sums in switches, if the machine and its library have one; else "tree".
const char* by_switches(const Case& one) {
  if (!wired(one.system) || meshed(one.system) || one.gpus < 2 ||
      number_of(one.system, "system.node.gpu.port.multicast_efficiency", 0) == 0 ||
      number_of(one.system, "system.library.channels.nvls.channels", 0) == 0)
    return "tree";
  if (one.nodes == 1) return "nvls";
  const bool sums = number_of(one.system, "system.fabric.rail_fat_tree.reduction.rate", 0) > 0;
  return sums && one.number % 2 == 1 ? "nvls_sharp" : "nvls_tree";
}

void draw_collective(Case& one, Random& random, Draw how) {
  Workload& work = one.work;
  const bool message = one_of(one.op, {"all_to_all", "send_recv"});
  const bool reduces = one_of(one.op, {"all_reduce", "reduce_scatter"});
  const auto add = [&work](const char* key, std::string text) { work.keys.push_back({key, std::move(text)}); };
  std::string engine = random.of<const char*>({"cu", "cu", "dma", "nic"});
  if (how == Draw::strict) {
    if (reduces || (engine == "dma" && (one.nodes > 1 || !wired(one.system)))) engine = "cu";
    if (engine == "nic" && number_of(one.system, "system.node.nics", 0) == 0) engine = "cu";
  }
  add("engine", engine);
  if (engine == "cu" && !message) {
    if (how == Draw::loose) {
      add("algorithm", random.of<const char*>(
                           {"auto", "ring", "tree", "direct", "recursive", "pat", "nvls", "nvls_tree", "nvls_sharp"}));
      add("protocol", random.of<const char*>({"auto", "simple", "ll", "ll128"}));
      if (random.one_in(3)) add("channels", random.of<const char*>({"1", "3", "8", "32", "1024"}));
    } else {
      const bool two = ((one.nodes * one.gpus) & (one.nodes * one.gpus - 1)) == 0;
      std::string algorithm = random.of<const char*>({"ring", "ring", "tree", "direct", "recursive", "pat"});
      if (algorithm == "tree" && one.op != "all_reduce") algorithm = "ring";
      if (algorithm == "pat" && one.op == "all_reduce") algorithm = by_switches(one);
      if (one.op == "broadcast" || (algorithm == "recursive" && !two)) algorithm = "ring";
      add("algorithm", algorithm);
      add("protocol", random.of<const char*>({"simple", "simple", "ll", "ll128"}));
      if (work.by_switch()) work.keys.back().text = "simple";
      const bool many = one.nodes * one.gpus > few_ranks;
      add("channels", random.of<const char*>({"1", "2", many ? "1" : "4", many ? "2" : "8", many ? "3" : "16"}));
    }
  } else if (how == Draw::loose && random.one_in(3)) {
    add("channels", random.of<const char*>({"1", "2", "7", "64"}));
  }
  if (engine != "cu" && random.one_in(2)) add("order", how == Draw::strict ? "rotated" : "ascending");
  if (engine == "dma" && random.one_in(2)) add("streams", random.of<const char*>({"1", "per_peer"}));
  if (random.one_in(4)) add("own_share", random.of<const char*>({"copied", "left"}));
  if (reduces && random.one_in(2)) add("dtype", random.of<const char*>({"fp32", "fp16", "bf16"}));
  if (one.op == "broadcast" && random.one_in(2))
    add("root", how == Draw::loose ? random.of<const char*>({"1", "3", "77"}) : "1");
  if (one.op == "send_recv" && random.one_in(2)) {
    const bool many = one.nodes * one.gpus > 2;
    add("peer_offset", how == Draw::loose ? random.of<const char*>({"1", "2", "7", "8"}) : many ? "2" : "1");
    if (how == Draw::loose) add("wrap_around", random.of<const char*>({"true", "false"}));
  }
  if (how == Draw::loose && random.one_in(4))
    add("library", random.of<const char*>({"../libraries/nccl.yaml", "../libraries/rccl.yaml"}));
}

void draw_gemm(Case& one, Random& random, Draw how) {
  constexpr std::int64_t most[] = {64, 512, 1024, 2048, 4096};
  const auto side = [&] {
    const auto edge = static_cast<std::int64_t>(most[static_cast<std::size_t>(one.size)]);
    const std::int64_t length = 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(edge)));
    return std::to_string(random.one_in(2) ? length : std::max<std::int64_t>(1, length / 64) * 64);
  };
  one.work.keys = {{"m", side()}, {"n", side()}, {"dtype", random.of<const char*>({"bf16", "fp16", "fp32"})}};
  if (how == Draw::strict) {
    one.work.keys.push_back(
        {"tile", random.of<const char*>({"{m: 128, n: 128, k: 32, stages: 3}", "{m: 64, n: 64, k: 32, stages: 2}"})});
    one.work.keys.push_back({"split_k", "1"});
    one.work.keys.push_back({"cluster", "{m: 1, n: 1}"});
    const bool alone = one.op == "gemm";
    one.work.keys.push_back(
        {"schedule", alone ? "one_tile" : random.of<const char*>({"one_tile", "persistent", "persistent_stride"})});
  } else if (random.one_in(2)) {
    if (random.one_in(2)) one.work.keys.push_back({"split_k", random.of<const char*>({"1", "2", "7"})});
    if (random.one_in(2))
      one.work.keys.push_back(
          {"schedule", random.of<const char*>({"one_tile", "persistent", "persistent_stride", "stream_k"})});
    if (random.one_in(3)) one.work.keys.push_back({"cus", random.of<const char*>({"1", "7", "64", "400"})});
  }
  if (random.one_in(3)) one.work.keys.push_back({"digits", random.of<const char*>({"0", "0.5"})});
}

bool of_codec(const std::string& op) {
  return op == "compress" || op == "decompress" || op == "decompress_reduce_compress";
}

bool of_tensor_parallelism(const std::string& op) { return op == "gemm_reduce_scatter" || op == "all_gather_gemm"; }

// Draws the keys of a product with communication, gemm_reduce_scatter or all_gather_gemm. Its key `gemm` contains the
// keys of the operator gemm.
void draw_tensor_parallel(Case& one, Random& random, Draw how) {
  draw_gemm(one, random, how);
  for (Key& key : one.work.keys) key.name = "gemm." + key.name;
  const bool scatters = one.op == "gemm_reduce_scatter";
  const auto add = [&one](const char* key, const std::string& text) { one.work.keys.push_back({key, text}); };
  // In strict cases the library may not choose algorithm and protocol.
  const bool any = how == Draw::loose, engines = !scatters && one.nodes == 1 && wired(one.system);
  const char* const parts = any || engines ? random.of<const char*>({"bulk_synchronous", "communication"}) : "gemm";
  const std::string schedule =
      random.of<const char*>({"fused", "fused", "fused", "fused", "split", "pipelined", "gemm", parts});
  add("schedule", schedule);
  if (schedule == "bulk_synchronous" || schedule == "communication")
    add("engine", any ? random.of<const char*>({"cu", "dma"}) : "dma");
  if (any && random.one_in(4)) add("channels", random.of<const char*>({"1", "8", "1024"}));
  if (any && random.one_in(4)) add("library", "../libraries/nccl.yaml");
  const std::string mover = scatters ? random.of<const char*>({"store", "store", "add", "pull"})
                                     : random.of<const char*>({"copy_engine", "copy_engine", "push", "pull"});
  add("mover", mover);
  add("order", random.of<const char*>({"own_first", "own_last", "in_order"}));
  const std::string beside = random.of<const char*>({"", "true", "true", "false"});
  if (!beside.empty()) add("store_beside", beside);
  if (scatters) {
    if (any || (schedule == "fused" && beside == "true"))
      if (random.one_in(2)) add("store_buffer", random.of<const char*>({"1 KiB", "8 KiB", "32 KiB"}));
    if (random.one_in(3)) add("sum_workgroups", random.of<const char*>({"1", "16", "1000"}));
    if (random.one_in(2)) add("fetch", random.of<const char*>({"by_source", "by_tile"}));
    if (random.one_in(2)) add("relay_cus", random.of<const char*>({"1", "8"}));
    return;
  }
  add("chunks", random.of<const char*>({"1", "2", "3", "4", "8"}));
  add("communication_cus", random.of<const char*>({"1", "4", "16"}));
  if (random.one_in(3)) add("copy_streams", random.of<const char*>({"2", "8"}));
  if (how == Draw::loose || !random.one_in(2)) return;
  // Gives the block of rows of each rank many rows of tiles. The workgroups of these tiles wait for different chunks of
  // the block and need the same columns of B.
  for (Key& key : one.work.keys)
    if (key.name == "gemm.m") key.text = std::to_string(one.nodes * one.gpus * random.of({256, 512, 768, 1024}));
}

// Draws the keys of a transformer, whose size is the length of its sequences. The library chooses the kernels of the
// matrix products, so another size may have other kernels.
void draw_transformer(Case& one, Random& random) {
  const auto add = [&one](const char* key, const std::string& text) { one.work.keys.push_back({key, text}); };
  add("model", random.of<const char*>({"../models/llama2_70b.yaml", "../models/gpt3_175b.yaml"}));
  add("pass", random.of<const char*>({"prefill", "decode", "training"}));
  add("sequences", random.of<const char*>({"1", "3", "8"}));
  add("schedule", random.of<const char*>({"bulk_synchronous", "split", "pipelined", "fused", "fused", "gemm"}));
  add("rows", random.of<const char*>({"copy_engine", "copy_engine", "push", "pull"}));
  add("tiles", random.of<const char*>({"store", "add", "pull"}));
  if (random.one_in(2)) add("chunks", random.of<const char*>({"2", "3"}));
  if (random.one_in(3)) add("layers", "2");
  if (random.one_in(3)) add("store_beside", random.of<const char*>({"true", "false"}));
  if (random.one_in(3)) add("attention_efficiency", "0.5");
  if (random.one_in(3)) add("library", "../libraries/nccl.yaml");
}

// Draws the keys of a data-parallel step, whose size is the length of its sequences, as for a transformer.
void draw_data_parallel(Case& one, Random& random) {
  const auto add = [&one](const char* key, const std::string& text) { one.work.keys.push_back({key, text}); };
  const bool sharded = random.one_in(2);
  const std::string by = random.of<const char*>({"by: library", "by: host", "by: host, streams: 2"});
  const std::string codec = codec::flow(codec::example_codec(4, 20, 6));
  const bool coded = by != "by: library" && random.one_in(2);
  const std::string how = coded ? fmt::format(", compression: every_hop, codec: {}", codec) : "";
  // The model is small (720,896 parameters per layer), because runs with the gradients of a published model would have
  // too many steps.
  add("model",
      "{layers: {value: 3, source: s}, hidden: {value: 256, source: s}, heads: {value: 8, source: s}, kv_heads: "
      "{value: "
      "4, source: s}, head_dim: {value: 32, source: s}, ffn: {value: 1024, source: s}}");
  add("layers", random.of<const char*>({"1", "2", "3"}));
  add("sequences", random.of<const char*>({"1", "2"}));
  add("optimiser", sharded ? "sharded" : "plain");
  add("bucket", random.of<const char*>({"200 KiB", "1 MiB", "25 MiB"}));
  add("overlap", random.of<const char*>({"true", "true", "false"}));
  add("priority", random.of<const char*>({"normal", "high"}));
  if (random.one_in(3)) add("attention_efficiency", "0.5");
  add("gradients", fmt::format("{{{}{}}}", by, how));
  if (sharded)
    add("parameters", fmt::format("{{{}{}, collective: {}}}", by, how,
                                  random.of<const char*>({"all_gather", "all_gather", "broadcast"})));
}

// Draws a codec as the text "ratio operations cycles": the ratio, operations per value, and clock cycles between two
// operations of a thread. The text ends in "engine" if the GPU's engine decompresses. The time of the key is used for
// two times of the codec: of a call, and until the host knows that a kernel has ended.
void draw_codec(Case& one, Random& random) {
  std::string codec = random.of<const char*>({"1 100 6", "4 300 6", "8 20 0", "1.5 0 0", "2 2000 4"});
  if (one.system == "8xb200" && one.op == "decompress" && random.one_in(2)) {
    codec += " engine";
    one.work.size = std::min(one.work.size, 4e6);  // bytes; the largest buffer that the engine accepts
  }
  one.work.keys.push_back({"codec", codec, random.of({0., 1'000'000., 20'000'000.})});
  constexpr double most_chunks = 5;
  if (of_codec(one.op) && one.work.size >= most_chunks && random.one_in(3))
    one.work.keys.push_back({"chunks", random.of<const char*>({"2", "5"})});
}

void draw_path(Case& one, Random& random) {
  if (number_of(one.system, "system.node.host_memory.slot", 0) > 0 && random.one_in(2))
    one.work.keys.push_back({"path", "host"});
}

void draw_chunked_broadcast(Case& one, Random& random, Draw how) {
  const auto add = [&one](const char* key, std::string text) { one.work.keys.push_back({key, std::move(text)}); };
  const std::string algorithm = random.of<const char*>({"chain", "chain", "binomial", "scatter_all_gather"});
  const std::string compression = random.of<const char*>({"off", "every_hop", "root", "root"});
  add("algorithm", algorithm);
  add("compression", compression);
  if (compression != "off") draw_codec(one, random);
  // Without the key `chunks` the number of chunks depends on the machine, so strict cases always have the key.
  if (how == Draw::strict) one.work.size = std::max(one.work.size, 16.);
  if (how == Draw::strict || random.one_in(2)) add("chunks", random.of<const char*>({"1", "3", "8", "16"}));
  if (random.one_in(3)) add("streams", random.of<const char*>({"2", "4"}));
  draw_path(one, random);
  if (algorithm == "chain" && compression == "root" && random.one_in(2)) add("between_nodes", "true");
  if (random.one_in(3)) add("root", how == Draw::loose ? random.of<const char*>({"1", "5", "77"}) : "1");
}

bool of_chunked_ring(const std::string& op) {
  return one_of(op, {"chunked_all_gather", "chunked_reduce_scatter", "chunked_all_reduce"});
}

void draw_chunked_ring(Case& one, Random& random, Draw how) {
  const auto add = [&one](const char* key, std::string text) { one.work.keys.push_back({key, std::move(text)}); };
  const bool sums_only = one.op == "chunked_reduce_scatter" && how == Draw::strict;
  const std::string compression = random.of<const char*>({"off", "every_hop", sums_only ? "every_hop" : "root"});
  add("compression", compression);
  if (compression != "off") draw_codec(one, random);
  // Without the key `chunks` the number of chunks depends on the machine, so strict cases always have the key. The size
  // is large enough that the share of a rank has at least one byte per chunk.
  const double shares = one.op == "chunked_all_gather" ? 1 : static_cast<double>(one.nodes * one.gpus);
  if (how == Draw::strict) one.work.size = std::max(one.work.size, 16 * shares);
  if (how == Draw::strict || random.one_in(2)) add("chunks", random.of<const char*>({"1", "2", "3", "16"}));
  if (random.one_in(3)) add("streams", random.of<const char*>({"2", "4"}));
  draw_path(one, random);
  if (compression == "every_hop" && random.one_in(2)) add("between_nodes", "true");
}

void draw_stream(Case& one, Random& random) {
  one.work.keys.clear();
  switch (random.below(4)) {
    case 0:
      one.work.keys.push_back({"inputs", random.of<const char*>({"1", "2", "3"})});
      break;
    case 1:
      one.work.keys.push_back({"half", "read"});
      break;
    case 2:
      one.work.keys.push_back({"half", "write"});
      break;
    default:
      one.work.keys.push_back({"half", "both"});
      break;
  }
  if (random.one_in(2)) one.work.keys.push_back({"schedule", "grid_stride"});
  if (random.one_in(3)) one.work.keys.push_back({"block", random.of<const char*>({"4 KiB", "16 KiB", "100 kB"})});
  if (random.one_in(3)) one.work.keys.push_back({"in_flight", random.of<const char*>({"4 KiB", "32 KiB"})});
}

void draw_embedding(Case& one, Random& random, Draw how) {
  const std::int64_t ranks = one.nodes * one.gpus;
  constexpr std::int64_t batches[] = {1, 4, 16, 64, 256};
  const std::int64_t batch = ranks * batches[static_cast<std::size_t>(one.size)];
  auto& keys = one.work.keys;
  keys.push_back(
      {"schedule", random.of<const char*>({"bulk_synchronous", "fused", "fused", "unfused_kernel", "all_to_all"})});
  if (one.op == "dlrm_iteration") keys.back().text = random.of<const char*>({"bulk_synchronous", "fused"});
  const std::string bags = random.of<const char*>({"1", "4", "16", "32"});
  keys.push_back({"global_batch", std::to_string(how == Draw::loose && random.one_in(4) ? batch + 1 : batch)});
  keys.push_back({"pooling", random.of<const char*>({"1", "8", "70"})});
  keys.push_back({"dim", random.of<const char*>({"16", "92", "256"})});
  keys.push_back({"rows_per_table", random.of<const char*>({"1000", "100000"})});
  keys.push_back({"bags_per_workgroup", bags});
  keys.push_back({"slice_vectors", how == Draw::loose && random.one_in(4) ? "33" : random.one_in(2) ? bags : "64"});
  keys.push_back({"in_flight", random.of<const char*>({"4 KiB", "16 KiB", "32 KiB"})});
  keys.push_back({"order", random.of<const char*>({"slices_in_turn", "peer_by_peer", "by_destination", "by_table"})});
  keys.push_back({"library", "../libraries/nccl.yaml"});
  keys.push_back({"fence", "", random.of({0., 700'000., 1'000'000.})});
  if (random.one_in(3)) keys.push_back({"dtype", random.of<const char*>({"fp16", "bf16"})});
  if (random.one_in(3)) keys.push_back({"index_bytes", "4 B"});
  if (random.one_in(3)) keys.push_back({"zipf_exponent", random.of<const char*>({"0.6", "1.2"})});
  if (random.one_in(3)) keys.push_back({"threads", random.of<const char*>({"64", "512"})});
  if (random.one_in(3)) keys.push_back({"registers_per_thread", random.of<const char*>({"16", "64"})});
  if (random.one_in(3)) keys.push_back({"fused_registers_per_thread", random.of<const char*>({"32", "96"})});
  if (random.one_in(2)) keys.push_back({"start_up", "", 2'000'000});
  if (random.one_in(2)) keys.push_back({"task_overhead", "", 300'000});
  if (random.one_in(2)) keys.push_back({"task_instructions", "300"});
  if (random.one_in(2)) keys.push_back({"load_instructions", "7"});
  if (how == Draw::strict && number_of(one.system, "system.node.gpus", 1) > 1 && one.nodes == 1 && random.one_in(4))
    keys.push_back({"engine", "dma"});
  if (one.op == "dlrm_iteration") one.work.group = "embedding";
}

void draw_msccl(Case& one, Random& random) {
  std::vector<std::string> names;
  for (const mscclang::ProgramEntry& entry : mscclang::programs()) names.push_back(entry.name);
  std::string keys = random.one_in(2) ? "protocol: ll" : "";
  if (random.one_in(2)) keys += fmt::format("{}instances: {}", keys.empty() ? "" : ", ", random.of({2, 3, 4}));
  const std::string name = random.of(names);
  one.work.keys = {{"program", fmt::format("{{{}: {{{}}}}}", name, keys)}};
  if (name.ends_with("_encoded")) draw_codec(one, random);
  if (random.one_in(3)) one.work.keys.push_back({"dtype", random.of<const char*>({"fp16", "bf16"})});
  if (random.one_in(4)) one.work.keys.push_back({"in_place", random.of<const char*>({"true", "false"})});
}

void draw_plan(Case& one, Random& random) {
  const bool two = one.gpus == 2;
  one.work.keys = {{"plan", two ? random.of<const char*>({"../algorithms/2gpu_all_gather_get.plan.json",
                                                          "../algorithms/2gpu_all_gather_packets.plan.json",
                                                          "../algorithms/2gpu_all_gather_port.plan.json",
                                                          "../algorithms/2gpu_all_gather_put.plan.json"})
                                : "../algorithms/8gpu_all_reduce_packets.plan.json"},
                   {"library", "../libraries/mscclpp.yaml"}};
  if (random.one_in(3)) one.work.keys.push_back({"dtype", random.of<const char*>({"fp16", "bf16"})});
}

void draw_trace(Case& one, Random& random, Draw how) {
  auto& keys = one.work.keys;
  keys = {{"file", "../../tests/data/tiny_trace.csv"}, {"row", "512 B"}};
  // Recorded times belong to one machine, so strict cases do not use them.
  if (how == Draw::loose && random.one_in(3)) keys.push_back({"timing", "recorded"});
  if (random.one_in(3)) keys.push_back({"unit", random.of<const char*>({"vector", "matrix"})});
  if (random.one_in(3)) keys.push_back({"math_efficiency", "0.5"});
  if (random.one_in(3)) keys.push_back({"cache_miss", random.of<const char*>({"0.001", "0.5"})});
  if (random.one_in(3)) keys.push_back({"fence", "", random.of({0., 1'000'000.})});
}

// Largest size in bytes of a strict case with more than few_ranks ranks. Larger cases would have too many steps.
constexpr double most_of_many = 4194304;

// Sizes of MSCCL++ plans are multiples of this number of bytes, which is a multiple of every plan's unit.
constexpr double plan_unit = 49152;

void draw_ranks(Case& one, Random& random, Draw how, std::int64_t most_ranks) {
  const bool network = number_of(one.system, "system.node.nics", 0) > 0;
  const auto own_gpus = static_cast<std::int64_t>(number_of(one.system, "system.node.gpus", 1));
  one.nodes = network || how == Draw::loose ? random.of<std::int64_t>({1, 1, 2, 2, 3, 4, 8, 16, 64}) : 1;
  if (how == Draw::loose && random.one_in(4)) one.nodes = 1 + static_cast<std::int64_t>(random.below(64));
  one.gpus = how == Draw::loose ? random.of<std::int64_t>({1, 2, 3, 4, 5, 6, 7, 8})
                                : std::min(own_gpus, random.of<std::int64_t>({1, 2, 3, 4, 6, 8, 8}));
  if (how == Draw::strict) {
    if (network && one_of(one.system, {"128x1xmi210_torus"})) one.nodes = random.of<std::int64_t>({4, 8, 16});
    if (one_of(one.op, {"wg_trace", "mscclpp"})) one.nodes = 1;
    if (one.op == "wg_trace") one.gpus = 2;
    if (one.op == "mscclpp") one.gpus = own_gpus >= 8 && random.one_in(2) ? 8 : 2;
    if (!one_of(one.op, {"gemm", "stream", "delay"}) && !of_codec(one.op) && one.nodes * one.gpus < 2) {
      if (own_gpus >= 2)
        one.gpus = 2;
      else
        one.nodes = 2;
    }
  }
  while (one.nodes > 1 && one.nodes * one.gpus > most_ranks) one.nodes /= 2;
}

}  // namespace

const std::string* Workload::find(const std::string& key) const {
  const auto at = std::find_if(keys.begin(), keys.end(), [&](const Key& own) { return own.name == key; });
  return at == keys.end() ? nullptr : &at->text;
}

bool Workload::is(const std::string& key, const std::string& text) const {
  const std::string* own = find(key);
  return own != nullptr && *own == text;
}

bool Workload::collective() const {
  return one_of(op, {"all_gather", "all_reduce", "reduce_scatter", "all_to_all", "broadcast", "send_recv"});
}

bool Workload::by_switch() const {
  const std::string* algorithm = find("algorithm");
  return algorithm != nullptr && algorithm->starts_with("nvls");
}

bool Workload::chunked_ring() const { return of_chunked_ring(op); }
bool Workload::hosted() const {
  return (chunked_ring() || op == "chunked_broadcast") &&
         (is("compression", "root") || is("path", "host") || find("streams") != nullptr);
}

std::string Workload::text(double times) const {
  std::string inner;
  const auto add = [&inner](const std::string& key, const std::string& value) {
    inner += fmt::format("{}{}: {}", inner.empty() ? "" : ", ", key, value);
  };
  const std::string bytes = fmt::format("{} B", size);
  if (collective() || chunked_ring()) add("bytes_per_rank", bytes);
  if (op == "msccl" || op == "mscclpp" || op == "chunked_broadcast" || of_codec(op)) add("bytes", bytes);
  if (op == "gemm") add("k", fmt::format("{}", size));
  if (op == "transformer" || op == "data_parallel_step") add("length", fmt::format("{}", size));
  if (op == "kernel") add("let", fmt::format("{{size: {}, slower: {}}}", size, times));
  if (op == "delay") add("time", fmt::format("{} ns", size * times));
  if (op == "embedding_all_to_all" || op == "dlrm_iteration") add("tables_per_gpu", fmt::format("{}", size));
  if (op == "stream") {
    const std::string* half = find("half");
    if (half == nullptr) add("bytes", bytes);
    if (half != nullptr && *half != "write") add("read", bytes);
    if (half != nullptr && *half != "read") add("write", bytes);
  }
  if (of_tensor_parallelism(op)) {
    std::string product = fmt::format("{{k: {}", size);
    for (const Key& key : keys)
      if (key.name.starts_with("gemm.")) product += fmt::format(", {}: {}", key.name.substr(5), key.text);
    add("gemm", product + "}");
  }
  for (const Key& key : keys) {
    if ((op == "stream" && key.name == "half") || key.name.starts_with("gemm.")) continue;
    if (key.name == "codec") {
      double ratio = 1, operations = 0, cycles = 0;
      std::string by;
      std::istringstream(key.text) >> ratio >> operations >> cycles >> by;
      const double us = key.ps * times / 1e6;
      std::string codec = codec::example_codec(ratio, operations, cycles, us, us);
      if (by == "engine") codec += "format: lz4\ndecompress_on: engine\n";
      add(key.name, codec::flow(codec));
      continue;
    }
    add(key.name, key.ps < 0 ? key.text : fmt::format("{} ps", key.ps * times));
  }
  if (op == "dlrm_iteration")
    return fmt::format("{{{}: {{{}: {{{}}}, bottom_layers: 2, top_layers: 1, width: 96}}}}", op, group, inner);
  return fmt::format("{{{}: {{{}}}}}", op, inner);
}

std::vector<Change> Case::machine() const {
  std::vector<Change> changes;
  const auto set = [&changes](const char* path, std::int64_t value) {
    changes.push_back({path, std::to_string(value)});
  };
  set("system.nodes", nodes);
  set("system.node.gpus", gpus);
  const auto nics = static_cast<std::int64_t>(number_of(system, "system.node.nics", 0));
  if (nics > 0) set("system.node.nics", std::min(nics, gpus));  // otherwise nics would scale with gpus
  // Programs with much traffic between nodes get larger network chunks, because the run would otherwise take minutes.
  constexpr double most_pieces = 2e5;
  const auto ranks = static_cast<double>(nodes * gpus);
  constexpr double gradients = 4e6;  // approximate bytes of the gradients of data_parallel_step
  const double traffic =
      (work.op == "data_parallel_step" ? gradients : work.size) * ranks *
      (one_of(op, {"all_gather", "broadcast", "chunked_broadcast", "chunked_all_gather"}) ? ranks : 2);
  double chunk = number_of(system, "system.network.chunk", core::QueueNetworkSpec{}.chunk.value);
  const bool exchanges = work.collective() || work.chunked_ring() ||
                         one_of(op, {"msccl", "kernel", "chunked_broadcast", "data_parallel_step"});
  const bool coarser = nodes > 1 && exchanges && traffic / chunk > most_pieces;
  while (coarser && traffic / chunk > most_pieces) chunk *= 2;
  if (coarser) changes.push_back({"system.network.chunk", fmt::format("{} B", chunk)});
  if (number_of(system, "system.fabric.torus.dimensions.0", 0) > 0) {
    std::int64_t down = 1;
    for (std::int64_t d = 2; d * d <= nodes; ++d)
      if (nodes % d == 0) down = d;
    if (down > 1)
      changes.push_back({"system.fabric.torus.dimensions", fmt::format("[{}, {}]", nodes / down, down)});
    else
      changes.push_back({"system.fabric.torus.dimensions", fmt::format("[{}]", nodes)});
  }
  if (number_of(system, "system.fabric.dragonfly.groups", 0) > 0) {
    const std::int64_t routers = nodes % 2 == 0 ? 2 : 1;
    const std::int64_t on_each = nodes % (2 * routers) == 0 ? 2 : 1;
    const std::int64_t groups = nodes / (routers * on_each);
    set("system.fabric.dragonfly.groups", groups);
    set("system.fabric.dragonfly.routers_per_group", routers);
    set("system.fabric.dragonfly.nodes_per_router", on_each);
    set("system.fabric.dragonfly.global_links", groups);
  }
  return changes;
}

Scenario Case::scenario(const Workload& workload, double times) const {
  return {system, fmt::format("{{queues: {{main: [{}]}}}}", workload.text(times)), machine()};
}

double draw_size(const std::string& op, Size size, Random& random) {
  const auto s = static_cast<std::size_t>(size);
  if (op == "gemm" || of_tensor_parallelism(op)) {
    constexpr std::uint64_t most[] = {16, 128, 512, 2048, 8192};
    return static_cast<double>(1 + random.below(most[s]));
  }
  if (op == "transformer" || op == "data_parallel_step") {
    constexpr std::uint64_t most[] = {2, 16, 64, 256, 1024};
    return static_cast<double>(1 + random.below(most[s]));
  }
  if (op == "embedding_all_to_all" || op == "dlrm_iteration") return static_cast<double>(random.of({1, 2, 3, 8}));
  if (op == "mscclpp") return plan_unit * static_cast<double>(1 + random.below(std::uint64_t{1} << 2 * s));
  constexpr double limits[] = {1, 65, 65536, 4194304, 67108864, 1073741824};
  return bytes_between(limits[s], limits[s + 1] - (s < 4 ? 1 : 0), random);
}

void draw(Case& one, Random& random, Draw how, std::int64_t most_ranks) {
  one.work = {};
  one.work.op = one.op;
  draw_ranks(one, random, how, most_ranks);
  one.work.size = draw_size(one.op, one.size, random);
  const bool many = how == Draw::strict && one.nodes * one.gpus > few_ranks;
  if (many && one.op != "mscclpp") one.work.size = std::min(one.work.size, most_of_many);
  if (one.work.collective()) draw_collective(one, random, how);
  if (one.op == "gemm") draw_gemm(one, random, how);
  if (of_tensor_parallelism(one.op)) draw_tensor_parallel(one, random, how);
  if (one.op == "stream") draw_stream(one, random);
  if (one.op == "chunked_broadcast") draw_chunked_broadcast(one, random, how);
  if (of_chunked_ring(one.op)) draw_chunked_ring(one, random, how);
  if (of_codec(one.op)) draw_codec(one, random);
  if (one.op == "transformer") draw_transformer(one, random);
  if (one.op == "data_parallel_step") draw_data_parallel(one, random);
  if (one.op == "embedding_all_to_all" || one.op == "dlrm_iteration") draw_embedding(one, random, how);
  if (one.op == "msccl") draw_msccl(one, random);
  if (one.op == "mscclpp") draw_plan(one, random);
  if (one.op == "kernel") draw_own_kernel(one, random, how);
  if (one.op == "wg_trace") draw_trace(one, random, how);
}

double number_of(const std::string& system, const std::string& path, double absent) {
  for (const Parameter& one : all_numbers_of(system))
    if (one.path == path) return one.value;
  return absent;
}

namespace {
std::string wiring_of(const std::string& system) {
  const config::Node* node = system_tree(system).find("node");
  const config::Node* wiring = node ? node->find("wiring") : nullptr;
  return wiring != nullptr ? wiring->text : "none";
}
}  // namespace

bool wired(const std::string& system) { return wiring_of(system) != "none"; }
bool meshed(const std::string& system) { return wiring_of(system) == "full_mesh"; }

}  // namespace moire::laws
