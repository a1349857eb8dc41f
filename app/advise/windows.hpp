// Measures how busy the parts of a machine are while both queues of a scenario run, and after one of them has ended.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/study/packed.hpp"
#include "sim/program/observer.hpp"

namespace moire::advise {

// The used share of one kind of capacity in one window.
struct Share {
  std::size_t window = 0;
  std::string kind;
  double share = 0;  // of the capacity, from 0 to 1
};
template <study::MaybeConst<Share> T, class Each>
void each_field(T& share, const Each& each) {
  each(share.window);
  each(share.kind);
  each(share.share);
}

// Computes the used share of each kind of capacity in each window (an interval of the run). The share is the mean over
// all capacities of the kind. Kinds are "HBM", "L2", "port out", "links" and so on, as the machine names them. "DMA
// engines" (used while the engine copies) and "CUs" (used while a workgroup works on the CU) are kinds, too.
class Windows final : public program::Observer {
 public:
  // `ends`: the ends of the windows, ascending; the first window begins at time 0. `cus`, `engines`: numbers per rank.
  Windows(std::vector<Time> ends, std::uint32_t ranks, std::int64_t cus, std::int64_t engines);

  void load(std::string_view capacity, program::Rank rank, Time now, double units_per_second, double rate) override;
  void copy(const program::CopySpan& span) override;
  void workgroup(const program::WorkgroupSpan& span) override;

  // Returns the used shares, sorted by window, then by name of the kind.
  std::vector<Share> shares();

 private:
  struct Load {
    std::string kind;
    Time since;
    double share = 0;
  };
  struct Span {
    Time begin, end;
  };
  void spend(const std::string& kind, Time begin, Time end, double share);

  const std::vector<Time> ends_;
  const std::uint32_t ranks_;
  const std::int64_t cus_;
  const std::int64_t engines_;
  std::map<std::string, Load> loads_;                // by name of the capacity
  std::map<std::string, std::size_t> members_;       // number of capacities of each kind
  std::map<std::string, std::vector<double>> busy_;  // seconds, by kind and window
  std::vector<std::vector<Span>> working_;           // by CU: intervals in which some workgroup works on it
};

}  // namespace moire::advise
