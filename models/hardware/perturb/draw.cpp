#include "models/hardware/perturb/draw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <numeric>

#include "sim/config/suggest.hpp"

namespace moire::perturb {

namespace {

using Units = std::vector<std::size_t>;

// The argument `kind` of uniform_of(): one number per list. kind + who is used to select ranks, NICs or links, so that
// the selection does not depend on the drawn values.
enum Kind : std::uint64_t { start, gpus, ports, nics, links, who = 100 };

std::string shown(Time time) { return config::format_quantity(Time{(time.ps + 500) / 1000 * 1000}); }
std::string shown(double share) { return fmt::format("{:.4g} %", 100 * share); }
double number(Time time) { return static_cast<double>(time.ps); }
double number(double share) { return share; }
Time like(Time, double mean) { return Time{std::llround(mean)}; }
double like(double, double mean) { return mean; }

// One list of `perturb`, such as `gpus`, and the words of its notes.
struct List {
  Kind kind;
  const char* key;
  const char* unit;  // "rank"
  std::size_t all;
  std::size_t of_node;  // units per node; 0: units do not belong to nodes
  const char* verb;     // verb of a note on several units: "have", "begin"
  const char* behind;   // words behind the value in a note: "of the clock"
};

class Drawer {
 public:
  Drawer(const PerturbSpec& spec, const config::Node& node, const machine::SystemSpec& system,
         const core::Topology* topology, config::Diagnostics& diagnostics)
      : spec_(spec), node_(node), system_(system), topology_(topology), diagnostics_(diagnostics) {}

  Drawn draw() {
    part::Uneven uneven;
    const auto ranks = static_cast<std::size_t>(system_.ranks());
    const auto gpus_of_node = static_cast<std::size_t>(system_.node.gpus);
    const auto nics_of_node = topology_ == nullptr ? 0 : static_cast<std::size_t>(system_.node.nics);
    const auto product = [](double a, double b) { return a * b; };
    apply(
        {start, "start", "rank", ranks, gpus_of_node, "begin", "later"}, spec_.start, &StartSpec::delay, Time{},
        [](Time a, Time b) { return a + b; }, uneven.start);
    apply({gpus, "gpus", "rank", ranks, gpus_of_node, "have", "of the clock"}, spec_.gpus, &SlowGpuSpec::clock, 1.0,
          product, uneven.clock);
    const bool wired = system_.node.wiring != link::Wiring::none && system_.node.gpus > 1;
    if (!spec_.ports.empty() && !wired) {
      reject(*node_.find("ports"), "the GPUs have no scale-up links",
             "remove perturb.ports, or set system.node.wiring");
    } else {
      apply({ports, "ports", "rank", ranks, gpus_of_node, "have", "of the bandwidth of their scale-up links"},
            spec_.ports, &SlowPortSpec::bandwidth, 1.0, product, uneven.port);
    }
    if (!spec_.nics.empty() && topology_ == nullptr) {
      reject(*node_.find("nics"), "the system has no NICs on a fabric", "remove perturb.nics, or set system.node.nics");
    } else {
      const auto all = static_cast<std::size_t>(system_.nodes) * nics_of_node;
      apply({nics, "nics", "NIC", all, nics_of_node, "have", "of the bandwidth"}, spec_.nics, &SlowNicSpec::bandwidth,
            1.0, product, uneven.nic);
    }
    const std::size_t own = topology_ == nullptr ? 0 : topology_->links().size() - ports_of_nics();
    if (!spec_.links.empty() && own == 0) {
      reject(*node_.find("links"), "the fabric has no links except those of the NICs", "write perturb.nics instead");
    } else {
      apply({links, "links", "link", own, 0, "have", "of the bandwidth"}, spec_.links, &SlowLinkSpec::bandwidth, 1.0,
            product, uneven.link);
      if (!uneven.link.empty()) uneven.link.insert(uneven.link.begin(), ports_of_nics(), 1.0);
    }
    if (!uneven.none()) drawn_.uneven = std::make_shared<const part::Uneven>(std::move(uneven));
    return std::move(drawn_);
  }

 private:
  // Every NIC has a link out and a link in. The links of NICs come before all other links of the topology.
  std::size_t ports_of_nics() const { return std::size_t{2} * topology_->endpoints(); }

  void reject(const config::Node& at, std::string what, std::string remedy) {
    diagnostics_.error(at.place, std::move(what), std::move(remedy));
  }

  std::string name(const List& list, std::size_t unit) const {
    if (list.kind == links) return topology_->links()[ports_of_nics() + unit].name;
    return fmt::format("{} {}", list.unit, unit);
  }

  // Returns the numbers of a list. Reports numbers that are not below `all` or appear twice.
  Units listed(const std::vector<std::int64_t>& numbers, const config::Node& node, const char* what, std::size_t all) {
    Units units;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto one = static_cast<std::size_t>(numbers[i]);
      if (one >= all)
        reject(node.items[i], fmt::format("there is no {} {}", what, one),
               fmt::format("name numbers from 0 to {}", all - 1));
      else if (std::find(units.begin(), units.end(), one) != units.end())
        reject(node.items[i], fmt::format("{} {} appears twice", what, one), "keep one of them");
      else
        units.push_back(one);
    }
    return units;
  }

  template <class Entry>
  Units named(const List& list, const Entry& entry, const config::Node& node) {
    if constexpr (requires { entry.names; }) {
      if (entry.names) return links_named(*entry.names, *node.find("names"));
    } else {
      if constexpr (requires { entry.ranks; }) {
        if (entry.ranks) return listed(*entry.ranks, *node.find("ranks"), list.unit, list.all);
      } else {
        if (entry.nics) return listed(*entry.nics, *node.find("nics"), list.unit, list.all);
      }
      if (entry.nodes) {
        Units units;
        for (const std::size_t one :
             listed(*entry.nodes, *node.find("nodes"), "node", static_cast<std::size_t>(system_.nodes)))
          for (std::size_t i = 0; i < list.of_node; ++i) units.push_back(one * list.of_node + i);
        return units;
      }
    }
    Units all(list.all);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  Units links_named(const std::vector<std::string>& names, const config::Node& node) {
    std::vector<std::string> known;
    for (std::size_t link = ports_of_nics(); link < topology_->links().size(); ++link)
      known.push_back(topology_->links()[link].name);
    Units units;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto at = std::find(known.begin(), known.end(), names[i]);
      if (at == known.end())
        reject(node.items[i], "the fabric has no link " + config::in_quotes(names[i]),
               config::suggestion(names[i], known, "links"));
      else
        units.push_back(static_cast<std::size_t>(at - known.begin()));
    }
    return units;
  }

  // Every unit draws a number, and the units with the smallest numbers are chosen.
  template <class Entry>
  Units chosen(const List& list, const Entry& entry, std::uint64_t index, const config::Node& node) {
    if (!entry.count && !entry.share) return named(list, entry, node);
    const auto all = static_cast<std::int64_t>(list.all);
    if (entry.count && *entry.count > all) {
      reject(*node.find("count"), fmt::format("count is {}, but there are {} {}s", *entry.count, all, list.unit),
             fmt::format("write {} or less", all));
      return {};
    }
    const std::int64_t wanted =
        entry.count ? *entry.count
                    : std::max<std::int64_t>(1, std::llround(*entry.share * static_cast<double>(list.all)));
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t unit = 0; unit < list.all; ++unit)
      order.emplace_back(uniform_of(seed(), who + list.kind, index, unit), unit);
    std::sort(order.begin(), order.end());
    Units units;
    for (std::int64_t i = 0; i < wanted; ++i) units.push_back(order[static_cast<std::size_t>(i)].second);
    std::sort(units.begin(), units.end());
    return units;
  }

  template <class Entry, class Distribution, class T, class Together>
  void apply(const List& list, const std::vector<Entry>& entries, Distribution Entry::*distribution, T nominal,
             Together together, std::vector<T>& into) {
    for (std::size_t index = 0; index < entries.size(); ++index) {
      const config::Node& node = node_.find(list.key)->items[index];
      const Units units = chosen(list, entries[index], index, node);
      if (units.empty()) continue;
      const auto of = quantile(entries[index].*distribution);
      std::vector<T> values;
      for (const std::size_t unit : units) values.push_back(of(uniform_of(seed(), list.kind, index, unit)));
      if (std::all_of(values.begin(), values.end(), [&](T value) { return value == nominal; })) continue;
      tell(list, index, units, values);
      into.resize(list.all, nominal);
      for (std::size_t i = 0; i < units.size(); ++i) into[units[i]] = together(into[units[i]], values[i]);
      if constexpr (std::same_as<T, double>) reject_broken(list, units, into, node);
    }
  }

  // Reports an error if the product of several entries is below least_share, although each entry is above it.
  void reject_broken(const List& list, const Units& units, const std::vector<double>& shares,
                     const config::Node& node) {
    const std::size_t worst = *std::min_element(units.begin(), units.end(),
                                                [&](std::size_t a, std::size_t b) { return shares[a] < shares[b]; });
    if (shares[worst] >= least_share) return;
    reject(node,
           fmt::format("together with the entries before, {} has {} {}", name(list, worst), shown(shares[worst]),
                       list.behind),
           fmt::format("leave {} at least", shown(least_share)));
  }

  template <class T>
  void tell(const List& list, std::size_t index, const Units& units, const std::vector<T>& values) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const std::string line = fmt::format("perturb.{}.{}: ", list.key, index);
    const bool late = list.kind == start;
    if (units.size() == 1) {
      drawn_.notes.push_back(fmt::format("{}{} {} {} {}", line, name(list, units[0]), late ? "begins" : "has",
                                         shown(values[0]), list.behind));
      return;
    }
    std::string text = fmt::format("{}{} {}s {} ", line, units.size(), list.unit, list.verb);
    if (*least == *most) {
      drawn_.notes.push_back(text + fmt::format("{} {}", shown(*least), list.behind));
      return;
    }
    double sum = 0;
    for (const T value : values) sum += number(value);
    const auto worst = static_cast<std::size_t>((late ? most : least) - values.begin());
    drawn_.notes.push_back(text + fmt::format("{} to {} {}, {} in the mean; {} is {}", shown(*least), shown(*most),
                                              list.behind,
                                              shown(like(*least, sum / static_cast<double>(values.size()))),
                                              name(list, units[worst]), late ? "the last" : "the slowest"));
  }

  std::uint64_t seed() const { return static_cast<std::uint64_t>(spec_.seed); }

  const PerturbSpec& spec_;
  const config::Node& node_;
  const machine::SystemSpec& system_;
  const core::Topology* topology_;
  config::Diagnostics& diagnostics_;
  Drawn drawn_;
};

}  // namespace

std::optional<Drawn> draw(const config::Node& node, const machine::SystemSpec& system, const core::Topology* topology,
                          config::Diagnostics& diagnostics) {
  if (node.is_null() && !node.broken) return Drawn{};
  const std::size_t before = diagnostics.size();
  const auto spec = config::parse<PerturbSpec>(node, diagnostics, nullptr, "perturb");
  if (!spec) return std::nullopt;
  Drawn drawn = Drawer(*spec, node, system, topology, diagnostics).draw();
  if (diagnostics.size() > before) return std::nullopt;
  return drawn;
}

}  // namespace moire::perturb
