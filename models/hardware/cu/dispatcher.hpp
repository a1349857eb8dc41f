// The workgroup dispatcher of one GPU: which pending workgroup goes where, in which order.
//
// Grids (running kernels) are served by priority, then by the time they became ready; a grid behind another one gets
// CUs only once all workgroups of the one before have been placed (measured on NVIDIA: later kernels get leftovers).
// On CUs that no grid before it may use, a grid waits for nobody.
// One call of place() is one turn: every group of CUs receives at most one cluster, and no CU a workgroup, alone or of
// a cluster, while one that would do is emptier: small groups take part in as many turns as large ones, and would fill
// up before the others.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/hardware/cu/cu_array.hpp"

namespace moire::cu {

using part::Grid;
using part::Placement;

class Dispatcher final : public part::Dispatcher {
 public:
  explicit Dispatcher(const CuArraySpec& spec) : array_(spec) {}

  std::uint32_t add_mask(const std::vector<CuId>& cus) override;
  void add(const Grid& grid) override;
  bool pending() const override { return !queue_.empty(); }
  void place(std::vector<Placement>& placed) override;
  void retire(CuId cu, const Footprint& footprint) override { array_.release(cu, footprint); }
  std::vector<Head> waiting() const override;

  const CuArray& array() const { return array_; }

 private:
  struct Queued {
    Grid grid;
    std::int64_t next = 0;
    CuArray::Mask ground;                   // where it may be placed as long as those before it wait; empty: anywhere
    bool blocked = false;                   // nowhere
    std::optional<std::uint32_t> emptiest;  // in this turn: workgroups on the CUs that it may have, at most
  };
  bool place_cluster(Queued& queued, std::uint32_t group, bool first_filled, std::vector<Placement>& placed);

  void find_free_ground();

  CuArray array_;
  std::vector<CuArray::Mask> masks_{{}};
  std::vector<Queued> queue_;  // in the order of service
  std::vector<CuId> where_;    // scratch
};

}  // namespace moire::cu
