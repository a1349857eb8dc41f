// The workgroup dispatcher of one GPU: which pending workgroup goes where, in which order.
//
// Grids (running kernels) are served by priority, then by the time they became ready; a grid behind another one gets
// CUs only once all workgroups of the one before have been placed (measured on NVIDIA: later kernels get leftovers).
// On CUs that no grid before it may use, a grid waits for nobody.
// One call of place() is one turn: every group of CUs receives at most one cluster.
#pragma once

#include <cstdint>
#include <vector>

#include "models/hardware/cu/cu_array.hpp"

namespace moire::cu {

struct Grid {
  std::uint32_t id = 0;  // of the owner
  std::int64_t workgroups = 0;
  Footprint footprint;
  std::int64_t cluster = 1;
  int priority = 0;
  std::uint32_t mask = 0;  // of Dispatcher::add_mask; 0: all CUs
};

struct Placement {
  std::uint32_t grid;
  std::int64_t workgroup;
  CuId cu;
};

class Dispatcher {
 public:
  explicit Dispatcher(const CuArraySpec& spec) : array_(spec) {}

  // Names a set of CUs that grids may be kept to; an empty one is all of them, mask 0.
  std::uint32_t add_mask(const std::vector<CuId>& cus);
  void add(const Grid& grid);
  bool pending() const { return !queue_.empty(); }
  // One turn; appends what was placed. Placing nothing means that nothing fits until a workgroup retires.
  void place(std::vector<Placement>& placed);
  void retire(CuId cu, const Footprint& footprint) { array_.release(cu, footprint); }

  const CuArray& array() const { return array_; }
  // The grid at the head of the queue and how many of its workgroups wait for a CU, for the deadlock report.
  struct Head {
    std::uint32_t grid;
    std::int64_t waiting;
  };
  std::vector<Head> waiting() const;

 private:
  struct Queued {
    Grid grid;
    std::int64_t next = 0;
    CuArray::Mask ground;  // where it may be placed as long as those before it wait; empty: anywhere
    bool blocked = false;  // nowhere
  };
  bool place_cluster(Queued& queued, std::uint32_t group, bool first_filled, std::vector<Placement>& placed);

  void find_free_ground();

  CuArray array_;
  std::vector<CuArray::Mask> masks_{{}};
  std::vector<Queued> queue_;  // in the order of service
  std::vector<CuId> where_;    // scratch
};

}  // namespace moire::cu
