// The workgroup dispatcher of one GPU: decides which pending workgroup is placed on which CU, and in which order.
//
// Grids (kernels that the dispatcher has received) are served by priority, and in the order of their arrival if the
// priorities are equal. A grid gets CUs only after all workgroups of the grids before it are placed, except for CUs
// that no grid before it may use. This was measured on NVIDIA GPUs, where later kernels get the CUs that earlier
// kernels leave. One call of place() is one turn. In a turn, every group of CUs receives at most one workgroup or
// cluster. A CU gets no workgroup while another CU on which the workgroup fits has fewer workgroups. Without this last
// rule, small groups would fill up before large groups, because all groups take part in equally many turns.
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
    CuArray::Mask ground;                   // CUs that the grid may use while earlier grids wait; empty: all CUs
    bool blocked = false;                   // true if the grid may use no CU while earlier grids wait
    std::optional<std::uint32_t> emptiest;  // in this turn, CUs with more workgroups than this number get none
  };
  bool place_cluster(Queued& queued, std::uint32_t group, bool first_filled, std::vector<Placement>& placed);

  void find_free_ground();

  CuArray array_;
  std::vector<CuArray::Mask> masks_{{}};
  std::vector<Queued> queue_;  // in service order
  std::vector<CuId> where_;    // scratch
};

}  // namespace moire::cu
