// A kernel whose workgroups do equal shares of its work, each in one phase.
#pragma once

#include <algorithm>
#include <cmath>

#include "sim/program/program.hpp"

namespace moire::kernel {

class SharesBody final : public program::KernelBody {
 public:
  // `shares`: number of shares; a last share that is not full counts as a fraction. `amount`: units of work of a share.
  SharesBody(double shares, double amount) : shares_(shares), amount_(amount) {}
  std::int64_t workgroups(program::Rank) const override { return static_cast<std::int64_t>(std::ceil(shares_)); }
  bool turns(program::Rank) const override { return true; }
  bool by_itself() const override { return true; }
  bool phase(program::Rank, std::int64_t workgroup, std::uint32_t step, program::Phase& phase) const override {
    phase.kind = program::Phase::Kind::work;
    phase.amount = amount_ * std::min(1., shares_ - static_cast<double>(workgroup));
    return step == 0;
  }

 private:
  double shares_;
  double amount_;
};

}  // namespace moire::kernel
