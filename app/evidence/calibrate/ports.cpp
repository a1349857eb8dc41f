#include "app/evidence/calibrate/ports.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace moire::calibrate {

namespace {

// On NVIDIA GPUs, each CPC has one port. A CPC has one to three TPCs of two SMs each, so a port has 2, 4 or 6 SMs.
constexpr std::int64_t most_behind = 6, step = 2;
constexpr double ahead = 1.15;  // an SM with this many times the median rate has a port with fewer SMs

double parameter(const measurements::MeasuredValue& row, const std::string& name) {
  const auto it = row.parameters.find(name);
  return it == row.parameters.end() ? 0 : it->second;
}

double asked(const measurements::MeasuredValue& row) {
  return parameter(row, "wgs_per_sm") * parameter(row, "in_flight_bytes");
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double highest_share(const std::vector<const measurements::MeasuredValue*>& rows) {
  std::vector<double> rates;
  for (const measurements::MeasuredValue* row : rows) rates.push_back(row->value);
  return *std::max_element(rates.begin(), rates.end()) / median(rates);
}

// For one group: size of a port, in SMs -> number of the group's SMs that use ports of this size.
using Sizes = std::map<std::int64_t, std::int64_t, std::greater<>>;

class Builder {
 public:
  explicit Builder(const std::vector<Sizes>& groups) : groups_(groups), left_(groups.size(), true) {}

  bool build(Ports& out) {
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      if (!left_[group]) continue;
      take(group, out);
      std::int64_t begun = 0;  // size of a port that is shared with other groups
      for (const auto& [size, sms] : groups_[group]) {
        for (std::int64_t port = 0; port < sms / size; ++port) out.ports.push_back(size);
        if (sms % size == 0) continue;
        if (begun > 0) return false;  // a group can share only one port with other groups
        begun = size;
      }
      if (begun == 0) continue;
      out.ports.push_back(begun);
      for (std::int64_t room = begun - groups_[group].at(begun) % begun; room > 0;) {
        const std::optional<std::size_t> other = fitting(begun, room);
        if (!other) return false;
        room -= groups_[*other].at(begun);
        take(*other, out);
      }
    }
    return true;
  }

 private:
  void take(std::size_t group, Ports& out) {
    left_[group] = false;
    out.group_order.push_back(group);
  }
  // Returns a group whose SMs all use a port of this size and fit into the `room` left on such a port.
  std::optional<std::size_t> fitting(std::int64_t size, std::int64_t room) const {
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      const Sizes& sizes = groups_[group];
      if (left_[group] && sizes.size() == 1 && sizes.begin()->first == size && sizes.begin()->second <= room) {
        return group;
      }
    }
    return std::nullopt;
  }

  const std::vector<Sizes>& groups_;
  std::vector<bool> left_;
};

}  // namespace

std::optional<Ports> find_ports(const measurements::Measurements& measurements, const std::vector<std::int64_t>& sms) {
  std::map<double, std::vector<const measurements::MeasuredValue*>> shares;  // by bytes that an SM requests at once
  for (const measurements::MeasuredValue* row : measurements.all("sm_share", "bandwidth")) {
    if (row->value > 0) shares[asked(*row)].push_back(row);
  }
  if (shares.empty()) return std::nullopt;
  Ports out;
  out.rows = shares.rbegin()->second;
  if (highest_share(out.rows) < ahead) return std::nullopt;
  std::vector<double> rates;
  for (const measurements::MeasuredValue* row : out.rows) rates.push_back(row->value);
  const double most_shared = median(rates);  // the rate behind a full port, as most SMs are

  std::vector<Sizes> groups(sms.size());
  for (const measurements::MeasuredValue* row : out.rows) {
    const measurements::MeasuredValue* gpc = measurements.find("sm", "gpc", {{"sm", parameter(*row, "sm")}});
    if (!gpc || gpc->value < 0 || gpc->value >= static_cast<double>(groups.size())) return std::nullopt;
    const auto group = static_cast<std::size_t>(gpc->value);
    const double behind = static_cast<double>(most_behind) * most_shared / row->value;
    const auto steps = std::llround(behind / static_cast<double>(step));
    ++groups[group][std::clamp<std::int64_t>(steps * step, step, most_behind)];
  }
  for (std::size_t group = 0; group < groups.size(); ++group) {
    std::int64_t known = 0;
    for (const auto& [size, count] : groups[group]) known += count;
    if (known != sms[group]) return std::nullopt;
  }
  if (!Builder(groups).build(out)) return std::nullopt;
  for (const auto& [bytes, rows] : shares) {
    if (highest_share(rows) < ahead) out.queue = bytes * static_cast<double>(most_behind);
  }
  if (out.queue <= 0) return std::nullopt;
  return out;
}

}  // namespace moire::calibrate
