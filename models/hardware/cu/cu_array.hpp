// The compute units of one GPU with their resident workgroups. CuArray finds CUs for workgroups and clusters, and
// counts the resources that they occupy.
#pragma once

#include <cstdint>
#include <vector>

#include "models/hardware/cu/occupancy.hpp"
#include "models/hardware/cu/spec.hpp"

namespace moire::cu {

using part::CuId;

class CuArray {
 public:
  explicit CuArray(const CuArraySpec& spec);

  std::uint32_t cus() const { return static_cast<std::uint32_t>(units_.size()); }
  std::uint32_t groups() const { return static_cast<std::uint32_t>(groups_.size()); }
  std::uint32_t group_of(CuId cu) const { return units_[cu].group; }
  std::uint32_t resident(CuId cu) const { return units_[cu].resident; }

  // For each CU, true if a workgroup may be placed there. An empty mask allows all CUs.
  using Mask = std::vector<bool>;
  // Places a cluster of `size` workgroups in a group and appends their CUs to `where`. Each workgroup goes to the CU
  // with the fewest workgroups (of equal CUs, the lowest number), but not to a CU with more than `resident` workgroups.
  // Returns false and changes nothing if not all of them fit.
  bool place(std::uint32_t group, const Footprint& footprint, std::int64_t size, std::vector<CuId>& where,
             const Mask& mask = {}, std::uint32_t resident = UINT32_MAX);
  // Places one workgroup on an empty CU among those of the group that the dispatcher fills first
  // (CuGroupSpec::filled_first). Returns false if the workgroup fits on none of them.
  bool place_on_first_filled(std::uint32_t group, const Footprint& footprint, std::vector<CuId>& where,
                             const Mask& mask = {});
  // Returns the smallest value of `resident` with which place() succeeds in some group for a cluster of `size`
  // workgroups, or UINT32_MAX if the cluster fits in no group.
  std::uint32_t least_resident(const Footprint& footprint, std::int64_t size, const Mask& mask = {});
  void release(CuId cu, const Footprint& footprint);

  // Returns the groups in the order in which the dispatcher visits them: first the groups that have CUs to be filled
  // first, then the others.
  const std::vector<std::uint32_t>& visiting_order() const { return order_; }

 private:
  struct Unit {
    std::uint32_t group = 0;
    std::uint32_t resident = 0;
    Footprint used;
  };
  struct Group {
    CuId begin = 0;
    CuId end = 0;
    CuId first_filled = 0;  // CUs [first_filled, end) are filled first while they are empty
  };
  bool fits(const Unit& unit, const Footprint& footprint) const;
  void take(CuId cu, const Footprint& footprint);

  Footprint limits_;
  std::uint32_t max_resident_;
  std::vector<Unit> units_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> order_;
  std::vector<CuId> tried_;  // scratch
};

}  // namespace moire::cu
