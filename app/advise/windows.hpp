// How busy the parts of a machine are while both queues run, and after one of them has ended.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/study/packed.hpp"
#include "sim/program/observer.hpp"

namespace moire::advise {

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

// The used share of capacity over time, as the mean over the machine's parts of one kind: "HBM", "L2", "port out",
// "links", "NICs" as the machine calls them, "DMA engines" (time in which an engine copies) and "CUs" (time in which a
// workgroup works on the CU).
class Windows final : public program::Observer {
 public:
  // `ends`: the ends of the windows, ascending; the first window begins at time 0.
  Windows(std::vector<Time> ends, std::uint32_t ranks, std::int64_t cus, std::int64_t engines);

  void load(std::string_view capacity, program::Rank rank, Time now, double units_per_second, double rate) override;
  void copy(const program::CopySpan& span) override;
  void workgroup(const program::WorkgroupSpan& span) override;

  // Sorted by window, then by name of the kind.
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
