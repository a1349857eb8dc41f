// Over 400 lines: the table of stages, in the order in which their parameters are fitted.
#include "app/evidence/calibrate/stages.hpp"

#include <algorithm>

namespace moire::calibrate {

namespace {

constexpr double ns = 1e3;  // in ps, the base unit of times
constexpr double us = 1e6;
constexpr double giga = 1e9;
constexpr double mega = 1e6;
constexpr double pico = 1e-12;

double parameter(const microbench::Parameters& parameters, const std::string& name) {
  const auto it = parameters.find(name);
  return it == parameters.end() ? 0 : it->second;
}

// Returns the reading of a device property; `unit` converts the property to base units.
Reading property(std::string path, std::string metric, double unit) {
  Reading reading;
  reading.path = std::move(path);
  reading.stage = "device";
  reading.about = "device property " + metric;
  reading.read = [metric = std::move(metric), unit](const Context& context) -> std::optional<Reading::Found> {
    const measurements::MeasuredValue* row = context.measurements.find("property", metric, {});
    if (!row) return std::nullopt;
    return Reading::Found{row->value * unit, {row}};
  };
  return reading;
}

std::optional<Reading::Found> largest_cluster(const Context& context) {
  const measurements::MeasuredValue* largest = nullptr;
  for (const measurements::MeasuredValue* row : context.measurements.all("cluster_limit", "clusters")) {
    if (row->value < 1) continue;
    if (!largest || parameter(row->parameters, "cluster") > parameter(largest->parameters, "cluster")) largest = row;
  }
  if (!largest) return std::nullopt;
  return Reading::Found{parameter(largest->parameters, "cluster"), {largest}};
}

// Returns the most bytes that an SM requested at once in any row. An SM can have at least that many bytes in flight.
std::optional<Reading::Found> most_asked_for(const Context& context) {
  const measurements::MeasuredValue* most = nullptr;
  double bytes = 0;
  const auto consider = [&](const measurements::MeasuredValue* row, double own) {
    if (own <= bytes) return;
    bytes = own;
    most = row;
  };
  for (const measurements::MeasuredValue* row : context.measurements.all("gather", "bandwidth")) {
    consider(row, parameter(row->parameters, "wgs_per_sm") * parameter(row->parameters, "in_flight_bytes"));
  }
  for (const measurements::MeasuredValue* row : context.measurements.all("loaded_latency", "background_bandwidth")) {
    if (row->value > 0) consider(row, parameter(row->parameters, "background_in_flight_bytes"));
  }
  if (!most) return std::nullopt;
  return Reading::Found{bytes, {most}};
}

// Returns a function that returns the median over all rows of a metric, times `factor`. `unit` converts the metric to
// base units.
std::function<std::optional<double>(const Context&)> median_of(std::string benchmark, std::string metric, double unit,
                                                               double factor = 1) {
  return [=, b = std::move(benchmark), m = std::move(metric)](const Context& context) -> std::optional<double> {
    std::vector<double> values;
    for (const measurements::MeasuredValue* row : context.measurements.all(b, m)) values.push_back(row->value);
    if (values.empty()) return std::nullopt;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2] * unit * factor;
  };
}

enum class Extreme { least, most };

std::function<std::optional<double>(const Context&)> extreme_of(Extreme which, std::string benchmark,
                                                                std::string metric, double unit) {
  return [=, b = std::move(benchmark), m = std::move(metric)](const Context& context) -> std::optional<double> {
    const auto rows = context.measurements.all(b, m);
    if (rows.empty()) return std::nullopt;
    double value = rows.front()->value;
    for (const measurements::MeasuredValue* row : rows) {
      value = which == Extreme::most ? std::max(value, row->value) : std::min(value, row->value);
    }
    return value * unit;
  };
}
std::function<std::optional<double>(const Context&)> largest_of(std::string benchmark, std::string metric,
                                                                double unit) {
  return extreme_of(Extreme::most, std::move(benchmark), std::move(metric), unit);
}
std::function<std::optional<double>(const Context&)> least_of(std::string benchmark, std::string metric, double unit) {
  return extreme_of(Extreme::least, std::move(benchmark), std::move(metric), unit);
}

bool lone(const microbench::Parameters& p, const Context&) { return parameter(p, "wgs") == 1; }
bool several(const microbench::Parameters& p, const Context&) { return parameter(p, "wgs") > 1; }

// Footprints of more than 50 times the L2's capacity count as read from memory, because at most 2 % of them are cached.
// Smaller footprints that exceed the capacity are partly cached.
constexpr double capacities_beyond_cache = 50;
bool from_memory(const microbench::Parameters& p, const Context& context) {
  return parameter(p, "footprint_bytes") > capacities_beyond_cache * context.hardware.number("l2.capacity").value_or(0);
}
bool lone_from_memory(const microbench::Parameters& p, const Context& c) { return lone(p, c) && from_memory(p, c); }
bool several_from_memory(const microbench::Parameters& p, const Context& c) {
  return several(p, c) && from_memory(p, c);
}
// Returns the start of compute.load_per_wavefront: a quarter of the highest rate of a lone workgroup. This is a rough
// guess. A workgroup has several wavefronts that load at the same time, and part of the time of a batch is latency.
std::optional<double> part_of_lone_gather(const Context& context) {
  double most = 0;
  for (const measurements::MeasuredValue* row : context.measurements.all("gather", "bandwidth_per_wg")) {
    if (lone_from_memory(row->parameters, context)) most = std::max(most, row->value * giga);
  }
  return most > 0 ? std::optional(most / 4) : std::nullopt;
}
bool idle_copy(const microbench::Parameters& p, const Context&) {
  return parameter(p, "background") == 0 && parameter(p, "remote") == 0;
}
bool loaded_copy(const microbench::Parameters& p, const Context&) {
  return parameter(p, "background") > 0 && parameter(p, "remote") == 0;
}
bool loaded_peer_copy(const microbench::Parameters& p, const Context&) {
  return parameter(p, "background") > 0 && parameter(p, "remote") == 1;
}
// True for grids of at least 15 waves that move so many bytes that the start and the end of the grid are negligible, as
// in typical kernels. (In the last wave, SMs that are faster than others idle.) Grids of more than 8192 workgroups are
// not needed: they give the same result and take longer to simulate.
bool long_gather(const microbench::Parameters& p, const Context& context) {
  constexpr double moved_long = 512 * 1024 * 1024, waves = 15, most_workgroups = 8192;
  return parameter(p, "wgs") >= waves * context.sms() * parameter(p, "wgs_per_sm") &&
         parameter(p, "wgs") <= most_workgroups && parameter(p, "wgs") * parameter(p, "gather_bytes") > moved_long &&
         from_memory(p, context);
}
bool long_gather_alone(const microbench::Parameters& p, const Context& context) {
  return parameter(p, "store_bytes") == 0 && long_gather(p, context);
}
bool long_gather_with_stores(const microbench::Parameters& p, const Context& context) {
  return parameter(p, "store_bytes") > 0 && long_gather(p, context);
}
bool in_cache(const microbench::Parameters& p, const Context& context) {
  return parameter(p, "footprint_bytes") <= context.hardware.number("l2.capacity").value_or(0) / 2;
}
bool read_in_cache(const microbench::Parameters& p, const Context& context) {
  return parameter(p, "bytes") <= context.hardware.number("l2.capacity").value_or(0) / 2;
}
bool read_from_memory(const microbench::Parameters& p, const Context& context) { return !read_in_cache(p, context); }
// In a loop of products of 25 us, the driver shows a clock that is 8 % higher than the one that follows from their
// time. It is right for products of 150 us and more.
constexpr double least_us_of_product = 100;
bool long_product(const microbench::Parameters& p, const Context&) { return parameter(p, "us") > least_us_of_product; }
// The GPU is idle for a while after each product.
bool between_pauses(const microbench::Parameters& p, const Context&) { return p.contains("pause_us"); }
// True if enough workgroups store to saturate the port, but at most one per SM of H100 and H200. More workgroups take
// longer to simulate and give no new information.
constexpr double fills_port = 32, one_an_sm = 132;
bool many_stores(const microbench::Parameters& p, const Context&) {
  return parameter(p, "wgs") >= fills_port && parameter(p, "wgs") <= one_an_sm;
}

// Returns the start of port.store_window_per_cu, in bytes: the rate of one workgroup's stores times the latency until
// the stores are visible.
std::optional<double> store_window(const Context& context) {
  double most = 0;
  for (const measurements::MeasuredValue* row : context.measurements.all("peer_store", "bandwidth")) {
    if (lone(row->parameters, context)) most = std::max(most, row->value * giga);
  }
  const auto latency = context.hardware.number("port.store_latency");
  if (most == 0 || !latency) return std::nullopt;
  constexpr double seconds = 1e-12;  // of a picosecond, the base unit of times
  return most * *latency * seconds;
}

bool nothing_stored(const microbench::Parameters& p, const Context&) { return parameter(p, "store_bytes") == 0; }
bool first_alone(const microbench::Parameters& p, const Context& context) {
  return nothing_stored(p, context) && parameter(p, "wgs") == 1;
}
bool stored_to_a_peer(const microbench::Parameters& p, const Context&) {
  return parameter(p, "store_bytes") > 0 && parameter(p, "remote") == 1;
}
std::optional<double> half_the_flight(const Context& context) {
  const auto latency = context.hardware.number("port.store_latency");
  return latency ? std::optional(*latency / 2) : std::nullopt;
}

bool with_room(const microbench::Parameters& p, const Context&) { return parameter(p, "wgs_per_sm") > 1; }
bool idle_copy_to_a_peer(const microbench::Parameters& p, const Context&) {
  return parameter(p, "background") == 0 && parameter(p, "remote") == 1;
}

using Start = std::function<std::optional<double>(const Context&)>;

// Returns a function that returns a typical start. It is used if the measurements give no estimate, so that the search
// does not depend on the value in the hardware file.
Start usually(double value) {
  return [value](const Context&) { return std::optional(value); };
}

// Returns a function that returns the shortest time of a batch of loads of one workgroup. This time is almost only
// latency.
Start shortest_batch(std::string benchmark, std::string metric) {
  return [b = std::move(benchmark), m = std::move(metric)](const Context& context) -> std::optional<double> {
    std::optional<double> shortest;
    for (const measurements::MeasuredValue* row : context.measurements.all(b, m)) {
      if (!lone(row->parameters, context) || row->value <= 0) continue;
      const double time = parameter(row->parameters, "in_flight_bytes") / row->value * ns;
      shortest = shortest ? std::min(*shortest, time) : time;
    }
    return shortest;
  };
}

Start scaled(Start start, double factor) {
  return [s = std::move(start), factor](const Context& context) -> std::optional<double> {
    const auto value = s(context);
    return value ? std::optional(*value * factor) : std::nullopt;
  };
}

// Returns the start of compute.load_store_per_cu: the highest rate per SM when several SMs of a group read.
std::optional<double> rate_of_an_sm(const Context& context) {
  double most = 0;
  for (const measurements::MeasuredValue* row : context.measurements.all("gpc_read", "bandwidth")) {
    most = std::max(most, row->value / parameter(row->parameters, "sms") * giga);
  }
  return most > 0 ? std::optional(most) : std::nullopt;
}

// Returns the start of compute.vector_fp32: the highest rate of one SM times the number of SMs.
std::optional<double> vector_rate(const Context& context) {
  const auto one = largest_of("vector_rate", "flops_per_sm", giga)(context);
  return one && context.sms() > 0 ? std::optional(*one * context.sms()) : std::nullopt;
}

// Returns the start of dma.bandwidth: the highest rate of a copy to a peer by a copy engine.
std::optional<double> engine_rate(const Context& context) {
  double most = 0;
  for (const measurements::MeasuredValue* row : context.measurements.all("copy_single", "time")) {
    if (parameter(row->parameters, "remote") == 1 && row->value > 0) {
      most = std::max(most, parameter(row->parameters, "bytes") / row->value * mega);
    }
  }
  return most > 0 ? std::optional(most) : std::nullopt;
}

// Returns the median distance of the two clusters of times of a kernel behind a copy, which it finds in one of two
// looks.
std::optional<Reading::Found> between_looks(const Context& context) {
  auto rows = context.measurements.all("copy_looks", "apart");
  if (rows.empty()) return std::nullopt;
  std::ranges::sort(rows, {}, [](const measurements::MeasuredValue* row) { return row->value; });
  return Reading::Found{rows[rows.size() / 2]->value * us, rows};
}

// True for a copy of one GPU before an empty kernel (1), or before a copy kernel of the driver (3).
bool before_a_kernel(const microbench::Parameters& p, const Context&) {
  return parameter(p, "gpus") == 1 && parameter(p, "second") == 1;
}
bool before_a_local_copy(const microbench::Parameters& p, const Context&) {
  return parameter(p, "gpus") == 1 && parameter(p, "second") == 3;
}
bool within_a_gpu(const microbench::Parameters& p, const Context&) { return parameter(p, "remote") == 0; }
bool to_a_peer(const microbench::Parameters& p, const Context&) { return parameter(p, "remote") == 1; }

}  // namespace

double Context::sms() const {
  config::Diagnostics ignored;
  const auto gpu = hardware.spec(ignored);
  return gpu ? static_cast<double>(gpu->compute.total_cus()) : 0;
}

const std::vector<Reading>& readings() {
  static const std::vector<Reading> table = {
      property("compute.threads_per_cu", "threads_per_sm", 1),
      property("compute.workgroups_per_cu", "wgs_per_sm", 1),
      property("compute.registers_per_cu", "registers_per_sm", 1),
      property("compute.lds_per_cu", "shared_bytes_per_sm", 1),
      property("compute.clock", "clock", mega),
      property("l2.capacity", "l2_bytes", 1),
      property("hbm.capacity", "memory_bytes", 1),
      property("dma.engines", "copy_engines", 1),
      property("port.links", "link_count", 1),
      property("port.link_bandwidth", "link_rate", giga),
      {"compute.bytes_in_flight_per_cu", "in_flight",
       "the most bytes that an SM requested at once; no lower limit was met", 0, most_asked_for},
      {"compute.cluster_max", "clusters", "largest size of which a cluster is resident", 0, largest_cluster},
      {"host.poll_interval", "copy_looks", "two looks of a kernel behind a copy lie this far apart", 4, between_looks},
  };
  return table;
}

const std::vector<Stage>& stages() {
  static const std::vector<Stage> table = {
      {"launch_interval",
       "the first wave of empty workgroups starts in turns of all groups, launch_interval apart",
       {{"compute.launch_interval", 1, 1 * us, {}, usually(1 * ns)}},
       {{"dispatch", "first_wave_span"}}},
      {"slot_refill",
       "from the end of a workgroup to the start of a pending one in its place, and between two on one SM",
       {{"compute.slot_refill", 1 * ns, 100 * us, {}, least_of("dispatch", "slot_refill", ns)},
        {"compute.refill_interval", 0, 100 * us, {}, usually(20 * ns)}},
       {{"dispatch", "slot_refill"}}},
      {"latency",
       "dependent loads of one thread out of the memory",
       {{"hbm.unloaded_latency", 50 * ns, 10 * us, {}, largest_of("chase", "latency", ns)}},
       {{"chase", "latency", from_memory}}},
      {"cache_latency",
       "the same out of the cache",
       {{"l2.hit_latency", 10 * ns, 10 * us, {}, least_of("chase", "latency", ns)}},
       {{"chase", "latency", in_cache}}},
      {"lone_workgroup",
       "one workgroup against its bytes in flight: a wavefront's batch takes the latency of the slowest of its loads "
       "and its own time",
       {{"hbm.latency_spread", 0, 10 * us, {}, scaled(shortest_batch("gather", "bandwidth_per_wg"), 0.1)},
        {"compute.load_per_wavefront", 0.1 * giga, 10e3 * giga, {}, part_of_lone_gather}},
       {{"gather", "bandwidth_per_wg", lone_from_memory}, {"hbm_read", "bandwidth_per_wg", lone}}},
      {"group_loads",
       "SMs of one group alone, a few and all of them",
       {{"compute.load_store_per_cu", 1 * giga, 10e3 * giga, {}, rate_of_an_sm},
        {"compute.load_per_group", 1 * giga, 1e6 * giga, {}, largest_of("gpc_read", "bandwidth", giga)}},
       {{"gpc_read", "bandwidth", with_room, 24}}},
      {"lone_copy",
       "one workgroup that copies or stores against one that loads",
       {{"compute.store_cost", 0.1, 10, {}, usually(2)}},
       {{"hbm_copy", "bandwidth_per_wg", lone},
        {"hbm_write", "bandwidth_per_wg", lone},
        {"loaded_latency", "victim_bandwidth", idle_copy}}},
      {"memory_reads",
       "all SMs together reach what the memory gives to contiguous reads, and wait longer the fuller it is",
       {{"hbm.bandwidth", 1 * giga, 1e6 * giga, "hbm.peak", largest_of("hbm_read", "bandwidth", giga)},
        {"hbm.latency_growth", 0, 10, {}, usually(1)},
        {"hbm.latency_exponent", 0.5, 12, {}, usually(5)}},
       {{"hbm_read", "bandwidth", several}, {"gather", "bandwidth", several_from_memory}},
       true},
      {"memory_rows",
       "random rows out of the memory, against contiguous reads",
       {{"hbm.random_access_cost", 0, 256, {}, usually(16)}},
       {{"gather_length", "time", long_gather_alone}}},
      {"memory_writes",
       "stores of all SMs against loads",
       {{"hbm.write_cost", 0.1, 10, {}, usually(1)}},
       {{"hbm_write", "bandwidth", several}}},
      {"memory_copies",
       "reads and writes that alternate, half of each and few writes among many reads, against both alone",
       {{"hbm.turnaround", 0, 4, {}, usually(0.2)}, {"hbm.turnaround_exponent", 0.01, 1, {}, usually(0.5)}},
       {{"hbm_copy", "bandwidth", several},
        {"loaded_latency", "background_bandwidth", loaded_copy},
        {"loaded_latency", "background_bandwidth", loaded_peer_copy, 6}}},
      {"memory_gathers",
       "workgroups that gather random rows and then store, against gathers alone",
       {{"hbm.turnaround_gathers", 0, 1, {}, usually(0.5)}},
       {{"gather_length", "time", long_gather_with_stores}}},
      {"cache",
       "a footprint that fits the cache, read by all SMs",
       {{"l2.bandwidth", 1 * giga, 1e6 * giga, {}, largest_of("l2_read", "bandwidth", giga)}},
       {{"l2_read", "bandwidth", in_cache}}},
      {"vector",
       "fp32 FMA on every SM",
       {{"compute.vector_fp32", 1e9, 1e18, {}, vector_rate}},
       {{"vector_rate", "flops_per_sm"}}},
      {"matrix",
       "bf16 matrix instructions of an SM over the datasheet's rate",
       {{"compute.matrix_efficiency", 0.01, 1, {}, usually(0.8)}},
       {{"matrix_rate", "flops_per_sm"}}},
      {"peer_flag",
       "a flag to a peer and back",
       {{"port.store_latency", 10 * ns, 1e3 * us, {}, median_of("flag", "round_trip", ns, 0.5)}},
       {{"flag", "round_trip"}}},
      {"peer_stores",
       "stores of all workgroups fill the links",
       {{"port.payload_efficiency", 0.01, 1, {}, usually(0.8)}},
       {{"peer_store", "bandwidth", many_stores, 8}, {"peer_fan_in", "bandwidth"}}},
      {"peer_copies",
       "one workgroup that loads its own memory and stores to a peer: a stored byte over a loaded one in the SM",
       {{"compute.peer_store_cost", 0.1, 100, {}, usually(4)}},
       {{"peer_copy", "bandwidth", lone}, {"loaded_latency", "victim_bandwidth", idle_copy_to_a_peer}}},
      {"peer_store_window",
       "stores of one workgroup are limited by what its SM may have under way",
       {{"port.store_window_per_cu", 100, 1e8, {}, store_window}},
       {{"peer_store", "bandwidth", lone}}},
      {"peer_loads",
       "one workgroup that loads from a peer, a batch at a time",
       {{"port.load_latency", 10 * ns, 1e3 * us, {}, shortest_batch("peer_load", "bandwidth")}},
       {{"peer_load", "bandwidth", lone}}},
      {"fence",
       "a system fence of one workgroup with nothing to wait for",
       {{"port.fence", 1 * ns, 100 * us, {}, least_of("fence", "time", ns)}},
       {{"fence", "time", nothing_stored}}},
      {"fence_of_stores",
       "a system fence behind stores to a peer, less their way there",
       {{"port.store_return", 1 * ns, 100 * us, {}, half_the_flight}},
       {{"fence", "time", stored_to_a_peer}}},
      {"first_fence",
       "the first system fence of a kernel with nothing to wait for",
       {{"port.first_fence", 1 * ns, 100 * us, {}, median_of("first_fence", "first", ns, 1)}},
       {{"first_fence", "first", first_alone}}},
      {"enqueue",
       "host time of one enqueue",
       {{"host.enqueue", 1 * ns, 1e3 * us, {}, median_of("launch", "host_call", us)}},
       {{"launch", "host_call"}}},
      {"kernel_start",
       "from the host's call to the kernel's first store, less the call and the store's way",
       {{"host.kernel_start", 1 * ns, 1e3 * us, {}, scaled(least_of("launch", "host_to_store", us), 0.5)}},
       {{"launch", "host_to_store"}}},
      {"queue_gap",
       "between kernels of a queue",
       {{"host.queue_gap", 1 * ns, 1e3 * us, {}, median_of("launch", "queue_gap", ns)}},
       {{"launch", "queue_gap"}}},
      {"event_pair",
       "between two events around a kernel that is empty or stores to the memory of its GPU, less the kernel",
       {{"host.event_pair", 1 * ns, 1e3 * us, {}, least_of("launch", "event_pair", us)}},
       {{"launch", "event_pair"}, {"store_end", "time", within_a_gpu}}},
      {"copy_engine",
       "a copy takes its command and its bytes at the engine's rate",
       {{"dma.bandwidth", 1 * giga, 1e5 * giga, {}, engine_rate},
        {"dma.first_command", 10 * ns, 1e3 * us, {}, least_of("copy_single", "time", us)}},
       {{"copy_single", "time", to_a_peer}}},
      {"copy_port",
       "copies of several GPUs into one share its port",
       {{"port.copy_efficiency", 0.01, 1, {}, usually(1)}},
       {{"copy_fan_in", "time"}}},
      {"copy_chunks",
       "copies behind others of their stream",
       {{"dma.next_command", 10 * ns, 1e3 * us, {}, usually(2 * us)}},
       {{"copy_chunked", "time"}}},
      {"copy_switch",
       "copies of a GPU on several streams follow each other: the first ends, then the next",
       {{"dma.switch_command", 10 * ns, 1e3 * us, {}, least_of("copy_single", "time", us)}},
       {{"copy_streams", "time"}, {"copy_fan_out", "time"}}},
      {"copy_local",
       "copies within a GPU, from the command to the end",
       {{"dma.local_command", 10 * ns, 1e3 * us, {}, least_of("copy_single", "time", us)}},
       {{"copy_single", "time", within_a_gpu}}},
      {"hand_over",
       "kernels behind copies by an engine, in the mean of the moments of looks",
       {{"dma.completion", 0, 100 * us, {}, usually(2 * us)}},
       {{"copy_found", "mean", before_a_kernel, 100}}},
      {"local_hand_over",
       "copies within the GPU, by a kernel of the driver, behind copies by an engine",
       {{"dma.local_completion", 0, 100 * us, {}, usually(2 * us)}},
       {{"copy_found", "mean", before_a_local_copy, 100}}},
      {"copy_concurrency",
       "copies of a GPU on several streams: how many make progress together",
       {{"dma.peer_concurrency", 1, 16, "dma.engines", usually(1)}},
       {{"copy_streams", "time"},
        {"copy_streams", "first_end"},
        {"copy_fan_out", "time"},
        {"copy_fan_out", "first_end"}}},
      {"idle_power",
       "a GPU that does nothing",
       {{"power.idle", 1, 1e4, {}, median_of("power_idle", "power", 1)}},
       {{"power_idle", "power"}}},
      {"held_power",
       "mean power over the limit, of loops that meet it",
       {{"power.held", 0.5, 1, {}, usually(0.98)}},
       {{"power_held", "power"}}},
      {"busy_power",
       "a workgroup on every SM that only looks at the clock, against none",
       {{"power.busy_cu", 1e-3, 100, {}, usually(0.3)}},
       {{"power_hold", "energy"}}},
      {"vector_energy",
       "fp32 FMA on every SM, less idle power and busy SMs",
       {{"power.vector_flop", pico, 1e3 * pico, {}, usually(3 * pico)}},
       {{"power_fma", "energy"}}},
      {"cache_energy",
       "the same of loads that the cache serves",
       {{"power.l2_byte", pico, 1e4 * pico, {}, usually(40 * pico)}},
       {{"power_read", "energy", read_in_cache}}},
      {"read_energy",
       "loads from memory, less their way through the cache",
       {{"power.hbm_read_byte", pico, 1e4 * pico, {}, usually(70 * pico)}},
       {{"power_read", "energy", read_from_memory}}},
      {"write_energy",
       "a stream, less its reads",
       {{"power.hbm_write_byte", pico, 1e4 * pico, {}, usually(70 * pico)}},
       {{"power_stream", "energy"}}},
      {"link_energy",
       "stores and copies to a peer, less caches and memories at both ends",
       {{"power.link_byte", pico, 1e4 * pico, {}, usually(70 * pico)}},
       {{"power_peer_store", "energy"}, {"power_peer_copy", "energy"}}},
      {"matrix_energy",
       "matrix products of random digits and of one number, at the clocks that they ran at",
       {{"power.matrix_flop", 0.01 * pico, 100 * pico, {}, usually(pico)},
        {"power.matrix_quiet", 0.01, 1, {}, usually(0.5)}},
       {{"power_gemm", "energy", long_product}}},
      {"voltage",
       "the same between pauses, which leave the products different clocks",
       {{"power.voltage_slope", 0.01, 1, {}, usually(0.4)}},
       {{"power_gemm", "energy", between_pauses}}},
      {"matrix_load",
       "the clock of matrix products that stay below the power limit",
       {{"power.matrix_load", 0.01, 1, {}, usually(0.7)}},
       {{"power_gemm", "clock_left"}}},
  };
  return table;
}

const std::vector<std::vector<std::string>>& joint_stages() {
  static const std::vector<std::vector<std::string>> table = {
      {"lone_workgroup", "memory_reads", "memory_rows", "memory_writes", "memory_copies"},
      {"copy_engine", "copy_port", "copy_chunks", "copy_switch"},
      {"matrix_energy", "voltage"},
  };
  return table;
}

}  // namespace moire::calibrate
