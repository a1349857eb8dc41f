// A kernel whose workgroups do equal shares of its work, each in one phase. The first workgroups may have to fetch the
// kernel's code before.
#pragma once

#include <algorithm>
#include <cmath>

#include "sim/program/program.hpp"

namespace moire::kernel {

class SharesBody final : public program::KernelBody {
 public:
  // `shares`: number of shares; a last share that is not full counts as a fraction. `amount`: units of work of a share.
  // `fetching`: number of the first workgroups that take `fetch` longer.
  SharesBody(double shares, double amount, std::int64_t fetching = 0, Time fetch = {})
      : shares_(shares), amount_(amount), fetching_(fetching), fetch_(fetch) {}
  std::int64_t workgroups(program::Rank) const override { return static_cast<std::int64_t>(std::ceil(shares_)); }
  bool turns(program::Rank) const override { return true; }
  bool by_itself() const override { return true; }
  bool phase(program::Rank, std::int64_t workgroup, std::uint32_t step, program::Phase& phase) const override {
    const std::uint32_t before = workgroup < fetching_ ? 1 : 0;
    if (step < before) {
      phase.kind = program::Phase::Kind::delay;
      phase.duration = fetch_;
      return true;
    }
    phase.kind = program::Phase::Kind::work;
    phase.amount = amount_ * std::min(1., shares_ - static_cast<double>(workgroup));
    return step == before;
  }

 private:
  double shares_;
  double amount_;
  std::int64_t fetching_;
  Time fetch_;
};

}  // namespace moire::kernel
