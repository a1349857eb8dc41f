#include "app/evidence/calibrate/contradictions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace moire::calibrate {

namespace {

// A rate may exceed its limit by this factor, because the timer advances in steps.
constexpr double slack = 1.01;
// Largest parameters that are accepted: 10 TB, or 100,000 of anything. No GPU has so much today, so larger numbers are
// typing errors.
constexpr double most_bytes = 1e13, most_count = 1e5;
// Gathers are checked only if more than this share of their rows miss the L2, because gathers that mostly hit it say
// nothing about the memory's limit.
constexpr double mostly_missed = 0.5;
// Datasheets round rates. A rate of at least this share of a power of two per clock counts as this power of two.
constexpr double nearly = 0.98;

class Finder {
 public:
  Finder(const measurements::Measurements& measurements, const HardwareFile& hardware, config::Diagnostics& diagnostics)
      : measurements_(measurements), hardware_(hardware), diagnostics_(diagnostics) {
    sms_ = property("sms").value_or(0);
    l2_ = hardware.number("l2.capacity").value_or(0);
    peak_ = hardware.number("hbm.peak").value_or(0) / 1e9;
    port_ = hardware.number("port.links").value_or(0) * hardware.number("port.link_bandwidth").value_or(0) / 1e9;
  }

  void all() {
    counts();
    for (const measurements::MeasuredValue& row : measurements_.values) {
      positive(row);
      machine(row);
      memory_rate(row);
      link_rate(row);
      copy_rate(row);
      little(row);
      per_workgroup(row);
      arithmetic(row);
      placed(row);
      ordered(row);
    }
    groups();
    memory_order();
  }

 private:
  void fail(const measurements::MeasuredValue& row, std::string what, std::string remedy) {
    diagnostics_.error(measurements_.place(row), std::move(what), std::move(remedy));
  }
  std::string name(const measurements::MeasuredValue& row) const {
    return row.parameters.empty() ? row.benchmark
                                  : fmt::format("{} {}", row.benchmark, measurements::to_string(row.parameters));
  }
  // Returns the position of `row` for a message about row `beside`. If the rows are in different files, the position
  // contains the file.
  std::string line_of(const measurements::MeasuredValue& row, const measurements::MeasuredValue& beside) const {
    return row.file == beside.file ? fmt::format("line {}", row.line) : measurements_.place(row).str();
  }
  std::optional<double> property(std::string_view metric) const {
    const measurements::MeasuredValue* row = measurements_.find("property", metric, {});
    return row ? std::optional(row->value) : std::nullopt;
  }
  static double parameter(const measurements::MeasuredValue& row, const std::string& key, double otherwise = 0) {
    const auto it = row.parameters.find(key);
    return it == row.parameters.end() ? otherwise : it->second;
  }
  void above(const measurements::MeasuredValue& row, double value, double limit, const std::string& of,
             const std::string& remedy) {
    if (limit <= 0 || value <= limit * slack) return;
    fail(row, fmt::format("{}: {:.6g} {} is above {}, {:.6g} {}", name(row), value, row.unit, of, limit, row.unit),
         remedy);
  }

  // Reports a rate or a time of 0, which cannot have been measured.
  void positive(const measurements::MeasuredValue& row) {
    const bool nobody = row.metric == "background_bandwidth" && parameter(row, "background") == 0;
    if (row.unit == "1" || row.value > 0 || nobody) return;
    fail(row, fmt::format("{}: {} is 0 {}", name(row), row.metric, row.unit),
         "remove rows that were not measured; a time and a rate are above 0");
  }

  void counts() {
    for (const measurements::MeasuredValue& row : measurements_.values) {
      if (row.unit != "1" || row.value == std::floor(row.value)) continue;
      fail(row, fmt::format("{}: {} is {}", name(row), row.metric, row.value), "a count is an integer");
    }
  }

  // Reports parameters that are impossible on any machine or on the measured machine.
  void machine(const measurements::MeasuredValue& row) {
    static const std::set<std::string> from_one = {
        "bytes",     "chunks",  "cluster", "copies",  "footprint_bytes", "gpus", "in_flight_bytes", "peers",
        "row_bytes", "senders", "sms",     "threads", "victims",         "wgs",  "wgs_per_sm"};
    for (const auto& [key, value] : row.parameters) {
      // `us` and `clock_mhz` are measured conditions of a loop and need not be integers.
      if ((key == "us" || key == "clock_mhz") && value > 0 && value <= most_count) continue;
      const bool nothing_copied = row.benchmark == "copy_behind" && key == "bytes";  // 0 bytes: only kernels
      const double least = from_one.count(key) > 0 && !nothing_copied ? 1 : 0;
      const double most = key.ends_with("bytes") ? most_bytes : most_count;
      if (value >= least && value <= most && value == std::floor(value)) continue;
      fail(row, fmt::format("{}: {} is {}", name(row), key, value),
           fmt::format("write an integer from {} to {}", least, most));
    }
    const auto gpus = static_cast<double>(measurements_.gpus);
    for (const std::string key : {"peers", "senders", "gpus"}) {
      const double most = key == "peers" ? gpus - 1 : gpus;
      if (parameter(row, key) > most) {
        fail(row, fmt::format("{}: {}={} on {} GPUs", name(row), key, parameter(row, key), measurements_.gpus),
             fmt::format("use at most {}, or correct the header's gpus", most));
      }
    }
    if (sms_ > 0 && row.benchmark.starts_with("sm") && parameter(row, "sm") >= sms_) {
      fail(row, fmt::format("{}: there are only {} SMs", name(row), sms_), fmt::format("sm is 0 to {}", sms_ - 1));
    }
    if (sms_ > 0 && (row.benchmark == "vector_rate" || row.benchmark == "matrix_rate" || row.benchmark == "gpc_read") &&
        parameter(row, "sms") > sms_) {
      fail(row, fmt::format("{}: there are only {} SMs", name(row), sms_), fmt::format("sms is 1 to {}", sms_));
    }
    const double slots = property("wgs_per_sm").value_or(0);
    if (slots > 0 && parameter(row, "wgs_per_sm") > slots) {
      fail(row, fmt::format("{}: an SM holds {} workgroups", name(row), slots),
           fmt::format("wgs_per_sm is at most {}", slots));
    }
  }

  // Returns the share of random rows that miss the L2. A row hits it with a probability of capacity / footprint.
  double miss_ratio(const measurements::MeasuredValue& row) const {
    const double footprint = parameter(row, "footprint_bytes");
    return footprint > l2_ ? 1 - l2_ / footprint : 0;
  }

  void memory_rate(const measurements::MeasuredValue& row) {
    const std::string remedy =
        "a rate over the whole span of a kernel cannot exceed the rate of the memory's interface; see hbm.peak";
    const std::string peak = "the peak of the memory";
    if (row.metric == "bandwidth" && (row.benchmark == "hbm_read" || row.benchmark == "hbm_write")) {
      above(row, row.value, peak_, peak, remedy);
    } else if (row.metric == "bandwidth" && row.benchmark == "hbm_copy") {
      above(row, 2 * row.value, peak_, peak, remedy + "; a copy reads and writes");
    } else if (row.metric == "bandwidth" && row.benchmark == "gather" && miss_ratio(row) > mostly_missed) {
      above(row, row.value, peak_ / miss_ratio(row), peak + " plus what the cache holds", remedy);
    } else if (row.metric == "background_bandwidth") {
      above(row, row.value, peak_, peak, remedy);
    }
  }

  void link_rate(const measurements::MeasuredValue& row) {
    const bool peer = row.benchmark == "peer_store" || row.benchmark == "peer_fan_in" || row.benchmark == "peer_load" ||
                      row.benchmark == "peer_copy";
    if (!peer || !row.metric.starts_with("bandwidth")) return;
    above(row, row.value, port_, "the physical rate of the links",
          "payload cannot exceed links x link rate in one direction; see port.links and port.link_bandwidth");
  }

  void copy_rate(const measurements::MeasuredValue& row) {
    if (row.metric != "time" || row.value <= 0) return;
    const double bytes = parameter(row, "bytes");
    const double rate = bytes / row.value / 1e3;  // GB/s
    const auto check = [&](double least, double limit, const std::string& of) {
      if (limit <= 0 || least <= limit * slack) return;
      fail(row,
           fmt::format("{}: {} us for these bytes is {:.6g} GB/s, above {}, {:.6g} GB/s", name(row), row.value, least,
                       of, limit),
           fmt::format("the time must be at least {:.4g} us", row.value * least / limit));
    };
    const std::string links = "the physical rate of the links";
    if (row.benchmark == "copy_single" && parameter(row, "remote") == 1) check(rate, port_, links);
    if (row.benchmark == "copy_single" && parameter(row, "remote") == 0 && bytes > 4 * l2_) {
      check(2 * rate, peak_, "the peak of the memory");
    }
    if (row.benchmark == "copy_chunked" || row.benchmark == "copy_pairs") check(rate, port_, links);
    if (row.benchmark == "copy_streams") check(rate * parameter(row, "copies"), port_, links);
    if (row.benchmark == "copy_fan_out") check(rate * parameter(row, "peers"), port_, links);
    if (row.benchmark == "copy_fan_in") check(rate * parameter(row, "senders"), port_, links);
    if (row.benchmark == "copy_all_to_all") check(rate * (parameter(row, "gpus") - 1), port_, links);
  }

  // Reports a workgroup's rate above its bytes in flight over the shortest measured latency (Little's law).
  void little(const measurements::MeasuredValue& row) {
    const bool batch = row.benchmark == "gather" || row.benchmark == "hbm_read" || row.benchmark == "hbm_copy";
    if (!batch || row.metric != "bandwidth_per_wg") return;
    double shortest = std::numeric_limits<double>::infinity();
    for (const measurements::MeasuredValue* chase : measurements_.all("chase", "latency")) {
      shortest = std::min(shortest, chase->value);
    }
    if (!std::isfinite(shortest) || shortest <= 0) return;
    above(row, row.value, parameter(row, "in_flight_bytes") / shortest,
          "in_flight_bytes over the shortest chase latency",
          fmt::format("by Little's law, {} B take at least {:.4g} ns", parameter(row, "in_flight_bytes"), shortest));
  }

  void per_workgroup(const measurements::MeasuredValue& row) {
    if (row.metric != "bandwidth_per_wg") return;
    const measurements::MeasuredValue* total = measurements_.find(row.benchmark, "bandwidth", row.parameters);
    if (!total) return;
    // Medians of two metrics may come from different repetitions, so only a difference beyond both spreads is a
    // contradiction.
    above(row, std::min(row.value, row.low), std::max(total->value, total->high),
          fmt::format("the total of {}", line_of(*total, row)), "one workgroup cannot be faster than all of them");
  }

  // Reports a rate that the arithmetic units of an SM cannot reach. The units compute a power of two of operations per
  // clock. The rate in the datasheet shows which power of two.
  void arithmetic(const measurements::MeasuredValue& row) {
    const bool vector = row.benchmark == "vector_rate";
    if (row.metric != "flops_per_sm" || (!vector && row.benchmark != "matrix_rate")) return;
    const double rate = hardware_.number(vector ? "compute.vector_fp32" : "compute.matrix_16bit").value_or(0);
    const double clock = hardware_.number("compute.clock").value_or(0);
    config::Diagnostics ignored;
    const auto gpu = hardware_.spec(ignored);
    if (!gpu || rate <= 0 || clock <= 0) return;
    const double per_clock = rate / clock / (sms_ > 0 ? sms_ : static_cast<double>(gpu->compute.total_cus()));
    double units = 1;
    while (units < per_clock * nearly) units *= 2;
    above(row, row.value, units * clock / 1e9, fmt::format("{} operations a clock", units),
          fmt::format("see compute.clock and compute.{}", vector ? "vector_fp32" : "matrix_16bit"));
  }

  // Reports counts of workgroups or clusters that do not fit on the GPU at the same time.
  void placed(const measurements::MeasuredValue& row) {
    if (sms_ <= 0) return;
    const auto at_most = [&](double limit, const std::string& why) {
      if (row.value <= limit) return;
      fail(row, fmt::format("{}: {} of {} do not fit", name(row), row.metric, row.value),
           fmt::format("at most {} fit, {}", limit, why));
    };
    const double cluster = std::max(1.0, parameter(row, "cluster", 1));
    if (row.benchmark == "dispatch" && row.metric == "first_wave_wgs") {
      at_most(sms_ * parameter(row, "wgs_per_sm"), "wgs_per_sm on every SM");
    } else if (row.benchmark == "dispatch_cluster") {
      at_most(sms_ - parameter(row, "blockers"), "one per SM, without the blockers");
      if (std::fmod(row.value, cluster) != 0) {
        fail(row, fmt::format("{}: {} workgroups in clusters of {}", name(row), row.value, cluster),
             "only whole clusters are placed");
      }
    } else if (row.benchmark == "cluster_limit") {
      at_most(std::floor(sms_ / cluster), "because every workgroup of a cluster has its own SM");
    }
  }

  // Reports a metric that exceeds its upper bound: another metric of the same benchmark and the same parameters.
  void ordered(const measurements::MeasuredValue& row) {
    const auto not_above = [&](const std::string& metric, const std::string& other) {
      if (row.metric != metric) return;
      const measurements::MeasuredValue* limit = measurements_.find(row.benchmark, other, row.parameters);
      if (!limit || row.value <= limit->value) return;
      fail(row,
           fmt::format("{}: {} {} is above {} {} of {}", name(row), metric, row.value, other, limit->value,
                       line_of(*limit, row)),
           fmt::format("{} is at most {}", metric, other));
    };
    if (row.benchmark == "flag") not_above("round_trip_fastest", "round_trip");
    if (row.benchmark == "launch") not_above("event_pair", "event_pair_2");
    if (row.benchmark.starts_with("copy_")) not_above("first_end", "time");
  }

  void groups() {
    const auto gpcs = measurements_.all("gpc", "sms");
    double sum = 0;
    for (const measurements::MeasuredValue* row : gpcs) {
      sum += row->value;
      double seen = 0;
      for (const measurements::MeasuredValue* sm : measurements_.all("sm", "gpc")) {
        if (sm->value == row->parameters.at("gpc")) ++seen;
      }
      if (seen > 0 && seen != row->value) {
        fail(*row, fmt::format("{}: {} SMs, but {} of the sm rows name it", name(*row), row->value, seen),
             "'sms' of a gpc row is the number of sm rows that name its gpc");
      }
    }
    if (!gpcs.empty() && sms_ > 0 && sum != sms_) {
      fail(*gpcs.front(), fmt::format("the gpc rows have {} SMs in all, but the device has {}", sum, sms_),
           "every SM is in one GPC, so the sum of the gpc rows is property sms");
    }
    for (const measurements::MeasuredValue* sm : measurements_.all("sm", "gpc")) {
      const bool known = std::any_of(gpcs.begin(), gpcs.end(), [sm](const measurements::MeasuredValue* row) {
        return row->parameters.at("gpc") == sm->value;
      });
      if (!gpcs.empty() && !known) {
        fail(*sm, fmt::format("{}: there is no gpc {}", name(*sm), sm->value), "name one that has a gpc row");
      }
    }
  }

  // Reports an L2 that has a higher latency or a lower bandwidth than the memory.
  void memory_order() {
    const measurements::MeasuredValue* hit = nullptr;
    const measurements::MeasuredValue* miss = nullptr;
    for (const measurements::MeasuredValue* row : measurements_.all("chase", "latency")) {
      const double footprint = parameter(*row, "footprint_bytes");
      if (footprint <= l2_ / 2 && (!hit || row->value < hit->value)) hit = row;
      if (footprint > 4 * l2_ && (!miss || row->value < miss->value)) miss = row;
    }
    if (hit && miss && miss->value < hit->value) {
      fail(*miss,
           fmt::format("{}: a load from the memory takes {} ns, less than the {} ns of a load from the L2 ({})",
                       name(*miss), miss->value, hit->value, line_of(*hit, *miss)),
           "correct one of the two rows or its footprint_bytes, because the memory is behind the L2");
    }
    const measurements::MeasuredValue* cache = nullptr;
    for (const measurements::MeasuredValue* row : measurements_.all("l2_read", "bandwidth")) {
      if (parameter(*row, "footprint_bytes") <= l2_ / 2 && (!cache || row->value > cache->value)) cache = row;
    }
    const measurements::MeasuredValue* memory = nullptr;
    for (const measurements::MeasuredValue* row : measurements_.all("hbm_read", "bandwidth")) {
      if (!memory || row->value > memory->value) memory = row;
    }
    if (cache && memory && memory->value > cache->value * slack) {
      fail(*cache,
           fmt::format("{}: the L2 gave at most {} GB/s, which is less than the memory's {} GB/s of {}", name(*cache),
                       cache->value, memory->value, line_of(*memory, *cache)),
           "data that are read from memory come through the L2");
    }
  }

  const measurements::Measurements& measurements_;
  const HardwareFile& hardware_;
  config::Diagnostics& diagnostics_;
  double sms_ = 0;
  double l2_ = 0;    // in bytes
  double peak_ = 0;  // in GB/s
  double port_ = 0;  // in GB/s, one direction
};

}  // namespace

void find_contradictions(const measurements::Measurements& measurements, const HardwareFile& hardware,
                         config::Diagnostics& diagnostics) {
  Finder(measurements, hardware, diagnostics).all();
}

}  // namespace moire::calibrate
