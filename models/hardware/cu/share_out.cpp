#include "models/hardware/cu/share_out.hpp"

#include <algorithm>

#include "sim/core/invariant.hpp"

namespace moire::cu {

namespace {

// Returns all CUs in the order in which they are assigned: the next CU is from the group of which the smallest fraction
// is assigned. If the GPU supports clusters, compute.partition_step CUs of a group are assigned together, so that a
// cluster finds its CUs in one group.
std::vector<std::uint32_t> dealing_order(const CuArraySpec& spec) {
  struct Group {
    std::uint32_t first;
    std::int64_t cus;
    std::int64_t taken;
  };
  std::vector<Group> groups;
  std::uint32_t next = 0;
  for (const CuGroupSpec& kind : spec.groups) {
    for (std::int64_t copy = 0; copy < kind.count; ++copy) {
      groups.push_back({next, kind.cus, 0});
      next += static_cast<std::uint32_t>(kind.cus);
    }
  }
  std::vector<std::uint32_t> order;
  for (std::int64_t together = spec.cluster_max > 1 ? spec.partition_step : 1; order.size() < next;) {
    const auto fuller = [together](const Group& a, const Group& b) {
      const bool a_has = a.taken + together <= a.cus;
      const bool b_has = b.taken + together <= b.cus;
      return a_has != b_has ? a_has : (a.taken + together) * b.cus < (b.taken + together) * a.cus;
    };
    Group& from = *std::min_element(groups.begin(), groups.end(), fuller);
    if (from.taken + together > from.cus) {
      together = 1;  // no group has a whole step left
      continue;
    }
    for (std::int64_t i = 0; i < together; ++i) order.push_back(from.first + static_cast<std::uint32_t>(from.taken++));
  }
  return order;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> share_out(const CuArraySpec& spec, const std::vector<CuWish>& wishes) {
  std::vector<std::vector<std::uint32_t>> shares(wishes.size());
  const bool all_alike =
      std::all_of(wishes.begin(), wishes.end(), [](const CuWish& w) { return w.partition == 0 && w.limit == 0; });
  if (all_alike) return shares;
  const std::vector<std::uint32_t> order = dealing_order(spec);
  std::size_t reserved = 0;
  for (std::size_t w = 0; w < wishes.size(); ++w) {
    for (std::int64_t i = 0; i < wishes[w].partition; ++i) shares[w].push_back(order.at(reserved++));
  }
  const std::size_t rest = order.size() - reserved;
  std::size_t next = 0;
  for (std::size_t w = 0; w < wishes.size(); ++w) {
    if (wishes[w].partition > 0) continue;
    const auto most = static_cast<std::size_t>(wishes[w].limit);
    if (most == 0 && reserved == 0) continue;
    MOIRE_INVARIANT(rest > 0 && most <= rest, "more CUs are dealt out than there are");
    for (std::size_t i = 0; i < (most == 0 ? rest : most); ++i) shares[w].push_back(order[reserved + next++ % rest]);
  }
  for (std::vector<std::uint32_t>& share : shares) std::sort(share.begin(), share.end());
  return shares;
}

}  // namespace moire::cu
