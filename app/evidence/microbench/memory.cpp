// Benchmarks of a GPU's memory and caches. A workgroup waits for each batch of its loads, but not for its stores.
#include <algorithm>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "app/evidence/microbench/bench.hpp"
#include "models/hardware/memory/cache.hpp"
#include "models/hardware/memory/table_traffic.hpp"
#include "sim/core/power.hpp"

namespace moire::microbench {

namespace {

struct Traffic {
  PhaseShape shape;
  std::int64_t wgs = 0;
  std::int64_t per_cu = 0;
  double bytes_per_wg = 0;  // bytes that a workgroup loads, or that it stores if it loads nothing
  std::int64_t threads = default_threads;
};

// Returns the stamps of the simulated traffic. Each workgroup has a single phase, because rates are steady.
Stamps stamps_of(const SystemSpec& system, const Traffic& traffic) {
  const SystemSpec gpu = one_gpu(system);
  program::Program program(1);
  program.queues = {
      queue("main", {kernel(
                        "traffic", gpu.node.gpu, traffic.per_cu, [&](Rank) { return traffic.wgs; }, {traffic.shape},
                        [&](Rank, std::int64_t, std::uint32_t step, Phase& phase) {
                          return step == 0 && work(phase, traffic.bytes_per_wg);
                        },
                        traffic.threads)})};
  Stamps stamps;
  simulate(gpu, program, &stamps);
  return stamps;
}

Rate run_traffic(const SystemSpec& system, const Traffic& traffic) {
  return rate(stamps_of(system, traffic).of("traffic"), traffic.bytes_per_wg);
}

Time run_span(const SystemSpec& system, const Traffic& traffic) {
  const Stamps stamps = stamps_of(system, traffic);
  return last_end(stamps.of("traffic")) - first_begin(stamps.of("traffic"));
}

Values as_values(const Rate& rate) { return {{"bandwidth", rate.total}, {"bandwidth_per_wg", rate.per_wg}}; }

// Bytes of a workgroup. As in the collector, moving them takes long compared with the latency and with the dispatch of
// the first wave.
constexpr double stream_bytes = 2 << 20;

Traffic stream(const Parameters& parameters) {
  Traffic traffic;
  traffic.wgs = positive_count(parameters, "wgs");
  traffic.per_cu = positive_count(parameters, "wgs_per_sm");
  traffic.bytes_per_wg = stream_bytes;
  traffic.shape.name = "stream";
  return traffic;
}

void loads_in_batches(Traffic& traffic, const Parameters& parameters) {
  traffic.shape.read = 1;
  traffic.shape.pipelined = false;
  traffic.shape.in_flight = Bytes{amount(parameters, "in_flight_bytes")};
}

double miss_ratio(const machine::GpuSpec& gpu, double footprint) {
  return 1 - memory::uniform_hit_ratio(gpu.l2, gpu.memory_side_cache, Bytes{footprint});
}

constexpr double rows_per_wg = 4096;  // rows that a workgroup of the collector gathers in a repetition

// Returns the traffic of workgroups that gather rows of a table, without the share that misses.
Traffic rows_of_table(const SystemSpec& system, const Parameters& parameters, const memory::TableReads& reads) {
  const machine::GpuSpec& gpu = system.node.gpu;
  Traffic traffic = stream(parameters);
  loads_in_batches(traffic, parameters);
  traffic.shape.random_rows = true;
  memory::loads_rows(gpu.hbm, reads.row_bytes, traffic.shape);
  const memory::TableTraffic of_table = memory::table_traffic(gpu.l2, reads);
  traffic.shape.read_merged = of_table.merged;
  traffic.shape.l2_extra = of_table.extra;
  const auto waiting = static_cast<double>(std::min(traffic.wgs, gpu.compute.total_cus()));
  traffic.shape.slice_wait = waiting * of_table.extra / gpu.l2.bandwidth.value;
  return traffic;
}

memory::TableReads reads_of(const SystemSpec& system, const Parameters& parameters) {
  constexpr double load_bytes = 16;  // of one thread
  const double row = amount(parameters, "row_bytes"), footprint = amount(parameters, "footprint_bytes");
  const auto wavefront = static_cast<double>(system.node.gpu.compute.wavefront);
  return {.rows = std::max<std::int64_t>(1, static_cast<std::int64_t>(footprint / row)),
          .row_bytes = Bytes{row},
          .rows_per_load = std::max(1.0, wavefront * load_bytes / row)};
}

Values gather(const SystemSpec& system, const Parameters& parameters) {
  const machine::GpuSpec& gpu = system.node.gpu;
  const double footprint = amount(parameters, "footprint_bytes");
  Traffic traffic = rows_of_table(system, parameters, reads_of(system, parameters));
  // The cache holds only rows that the repetitions before the median repetition have read. With few workgroups, those
  // repetitions did not read the whole footprint.
  constexpr double repetitions_before = 5;  // 2 to warm up, and 3 before the median of the 7 that count
  constexpr double all_seen = 50;           // e^-50 is less than the last bit of 1
  const double read_before =
      repetitions_before * static_cast<double>(traffic.wgs) * rows_per_wg * amount(parameters, "row_bytes");
  const double seen = 1 - 1 / core::power(std::numbers::e, std::min(all_seen, read_before / footprint));
  traffic.shape.read_miss = 1 - (1 - miss_ratio(gpu, footprint)) * seen;
  return as_values(run_traffic(system, traffic));
}

// Returns the rate of gathers by Zipf's law, or of which a share goes to a few rows. `own`: each of these rows is the
// popular one of a table, and the workgroups divide the tables among themselves.
Values gather_often(const SystemSpec& system, const Parameters& parameters, bool own) {
  const machine::GpuSpec& gpu = system.node.gpu;
  memory::TableReads reads = reads_of(system, parameters);
  reads.zipf_exponent = number(parameters, "exponent_percent") / 100;
  reads.hot_rows = static_cast<std::int64_t>(number(parameters, "hot_rows"));
  reads.hot_share = number(parameters, "hot_per_mille") / 1000;
  if (own) {
    reads.tables = std::exchange(reads.hot_rows, 1);
    reads.tables_at_once = static_cast<double>(reads.tables);
    reads.workgroups_per_cu = number(parameters, "wgs_per_sm");
  }
  reads.loads = memory::Loads::evict_first;
  Traffic traffic = rows_of_table(system, parameters, reads);
  reads.tables = 1;  // which all have the same other rows
  reads.passes = 6;  // 2 to warm up, and up to the median of the 7 that count
  reads.reads_per_pass = traffic.wgs * static_cast<std::int64_t>(rows_per_wg);
  traffic.shape.read_miss = 1 - memory::table_hit_ratio(gpu.l2, gpu.memory_side_cache, reads);
  return as_values(run_traffic(system, traffic));
}

Values gather_popular(const SystemSpec& system, const Parameters& parameters) {
  return gather_often(system, parameters, false);
}

Values gather_own(const SystemSpec& system, const Parameters& parameters) {
  return gather_often(system, parameters, true);
}

// Returns the time of a grid. Each task of its workgroups gathers several batches of rows and stores once. The table of
// rows is far larger than the cache.
Values gather_store(const SystemSpec& system, const Parameters& parameters) {
  const machine::GpuSpec& gpu = system.node.gpu;
  const double rows = amount(parameters, "gather_bytes"), stored = number(parameters, "store_bytes");
  Traffic traffic = stream(parameters);
  loads_in_batches(traffic, parameters);
  traffic.bytes_per_wg = rows * amount(parameters, "tasks");
  traffic.shape.random_rows = true;
  memory::loads_rows(gpu.hbm, Bytes{amount(parameters, "row_bytes")}, traffic.shape);
  traffic.shape.read_miss = miss_ratio(gpu, static_cast<double>(int64_t{4} << 30));
  traffic.shape.write = stored / rows;  // to new addresses, so they push earlier stores out of the cache
  return {{"time", run_span(system, traffic).us()}};
}

// Returns two times of a grid whose workgroups gather and store. `time` is from the first workgroup's start to the last
// workgroup's end. `wg_time` is the mean time of a workgroup.
Values gather_length(const SystemSpec& system, const Parameters& parameters) {
  const machine::GpuSpec& gpu = system.node.gpu;
  Traffic traffic = stream(parameters);
  loads_in_batches(traffic, parameters);
  traffic.bytes_per_wg = amount(parameters, "gather_bytes");
  traffic.shape.random_rows = true;
  memory::loads_rows(gpu.hbm, Bytes{amount(parameters, "row_bytes")}, traffic.shape);
  traffic.shape.read_miss = miss_ratio(gpu, amount(parameters, "footprint_bytes"));
  traffic.shape.write = number(parameters, "store_bytes") / traffic.bytes_per_wg;
  const auto stamps = stamps_of(system, traffic).of("traffic");
  Time all_together;
  for (const Stamps::Stamp& stamp : stamps) all_together = all_together + (stamp.end - stamp.begin);
  return {{"time", (last_end(stamps) - first_begin(stamps)).us()},
          {"wg_time", all_together.us() / static_cast<double>(stamps.size())}};
}

Values hbm_read(const SystemSpec& system, const Parameters& parameters) {
  Traffic traffic = stream(parameters);
  loads_in_batches(traffic, parameters);
  return as_values(run_traffic(system, traffic));
}

// Returns the rates of stores. Nothing waits for stores, so a CU has as many bytes in flight as it can hold.
Values hbm_write(const SystemSpec& system, const Parameters& parameters) {
  Traffic traffic = stream(parameters);
  traffic.shape.write = 1;
  traffic.shape.in_flight = system.node.gpu.compute.bytes_in_flight_per_cu / static_cast<double>(traffic.per_cu);
  return as_values(run_traffic(system, traffic));
}

Values hbm_copy(const SystemSpec& system, const Parameters& parameters) {
  Traffic traffic = stream(parameters);
  loads_in_batches(traffic, parameters);
  traffic.shape.write = 1;
  return as_values(run_traffic(system, traffic));
}

// Returns the rate of a grid in which every workgroup reads the whole footprint repeatedly. Lines that the cache cannot
// hold come from memory.
Values l2_read(const SystemSpec& system, const Parameters& parameters) {
  Traffic traffic = stream(parameters);
  loads_in_batches(traffic, parameters);
  traffic.shape.read_miss = miss_ratio(system.node.gpu, amount(parameters, "footprint_bytes"));
  return {{"bandwidth", run_traffic(system, traffic).total}};
}

// Returns the latency of dependent loads. One thread makes them, and each loads one sector of 32 B.
Values chase(const SystemSpec& system, const Parameters& parameters) {
  constexpr double sector = 32, hops = 1000;
  Traffic traffic;
  traffic.wgs = 1;
  traffic.per_cu = 1;
  traffic.threads = 1;
  traffic.bytes_per_wg = sector * hops;
  traffic.shape.name = "chase";
  traffic.shape.read = 1;
  traffic.shape.pipelined = false;
  traffic.shape.in_flight = Bytes{sector};
  traffic.shape.read_miss = miss_ratio(system.node.gpu, amount(parameters, "footprint_bytes"));
  return {{"latency", sector / run_traffic(system, traffic).per_wg}};
}

// Returns the rate at which the first `sms` CUs of a group gather rows of 512 bytes while the other CUs are idle.
Values gpc_read(const SystemSpec& system, const Parameters& parameters) {
  constexpr double row = 512;
  const SystemSpec gpu = one_gpu(system);
  const cu::CuArray array(gpu.node.gpu.compute);
  const std::uint32_t group = group_number(gpu.node.gpu, count(parameters, "gpc"));
  const auto sms = static_cast<std::size_t>(positive_count(parameters, "sms"));
  std::vector<cu::CuId> cus;
  for (cu::CuId cu = 0; cu < array.cus() && cus.size() < sms; ++cu) {
    if (array.group_of(cu) == group) cus.push_back(cu);
  }
  if (sms == 0 || cus.size() < sms) throw std::invalid_argument("sms must be 1 to the number of SMs of the group");
  Traffic traffic;
  loads_in_batches(traffic, parameters);
  traffic.shape.name = "gather";
  traffic.shape.random_rows = true;
  memory::loads_rows(gpu.node.gpu.hbm, Bytes{row}, traffic.shape);
  // Every workgroup reads the same rows repeatedly.
  const auto wgs = static_cast<double>(sms) * static_cast<double>(positive_count(parameters, "wgs_per_sm"));
  traffic.shape.read_miss = miss_ratio(gpu.node.gpu, wgs * rows_per_wg * row);
  const auto stamps = run_on(gpu, cus, positive_count(parameters, "wgs_per_sm"), traffic.shape, stream_bytes);
  return {{"bandwidth", rate(stamps, stream_bytes).total}};
}

const std::vector<Quantity> rates{{"bandwidth", "GB/s"}, {"bandwidth_per_wg", "GB/s"}};

// A benchmark of popular rows in random places.
Benchmark in_places(const char* name, const char* what, Values (*simulate)(const SystemSpec&, const Parameters&)) {
  return {name,
          what,
          {{"row_bytes", "footprint_bytes", "exponent_percent", "hot_per_mille", "hot_rows", "wgs", "wgs_per_sm",
            "in_flight_bytes", "places"}},
          {{"bandwidth", "GB/s"}},
          simulate};
}

}  // namespace

std::vector<Benchmark> memory_benchmarks() {
  return {
      {"gather",
       "Random rows, a batch at a time.",
       {{"row_bytes", "wgs", "wgs_per_sm", "in_flight_bytes", "footprint_bytes"}},
       rates,
       gather},
      {"gather_popular",
       "Gathers of rows that many workgroups read, by Zipf's law or to a share that goes to a few rows.",
       {{"row_bytes", "footprint_bytes", "exponent_percent", "hot_per_mille", "hot_rows", "wgs", "wgs_per_sm",
         "in_flight_bytes"}},
       {{"bandwidth", "GB/s"}},
       gather_popular},
      in_places("gather_places", "The same with rows in random places, each order of places being one sample.",
                gather_popular),
      in_places("gather_few", "The same by few workgroups, at most one on each SM.", gather_popular),
      in_places("gather_own", "The same if each workgroup reads only one of the rows that are read often.", gather_own),
      {"gather_store",
       "Random rows, a batch at a time, with stores between them.",
       {{"row_bytes", "wgs", "wgs_per_sm", "in_flight_bytes", "gather_bytes", "store_bytes", "side_by_side", "tasks"}},
       {{"time", "us"}},
       gather_store},
      {"gather_length",
       "Random rows, a batch at a time, and stores, by a grid of any length.",
       {{"row_bytes", "footprint_bytes", "wgs", "wgs_per_sm", "in_flight_bytes", "gather_bytes", "store_bytes"}},
       {{"time", "us"}, {"wg_time", "us"}},
       gather_length},
      {"gpc_read",
       "Random rows, read by SMs of one group alone.",
       {{"gpc", "sms", "wgs_per_sm", "in_flight_bytes"}},
       {{"bandwidth", "GB/s"}},
       gpc_read},
      {"sm_share",
       "Rate of each SM while all SMs gather. It is not simulated, because SMs have no hardware numbers in the model.",
       {{"sm", "wgs_per_sm", "in_flight_bytes"}},
       {{"bandwidth", "GB/s"}},
       {}},
      {"hbm_read", "Contiguous loads, a batch at a time.", {{"wgs", "wgs_per_sm", "in_flight_bytes"}}, rates, hbm_read},
      {"hbm_write", "Contiguous stores.", {{"wgs", "wgs_per_sm"}}, rates, hbm_write},
      {"hbm_copy",
       "Contiguous loads, a batch at a time, and stores of the same bytes.",
       {{"wgs", "wgs_per_sm", "in_flight_bytes"}},
       rates,
       hbm_copy},
      {"chase", "Dependent loads of one thread.", {{"footprint_bytes"}}, {{"latency", "ns"}}, chase},
      {"l2_read",
       "Every workgroup reads all of the footprint again and again.",
       {{"footprint_bytes", "wgs", "wgs_per_sm", "in_flight_bytes"}},
       {{"bandwidth", "GB/s"}},
       l2_read}};
}

}  // namespace moire::microbench
