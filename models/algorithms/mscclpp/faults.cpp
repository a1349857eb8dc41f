#include "models/algorithms/mscclpp/faults.hpp"

#include <fmt/format.h>

#include "sim/formats/complaints.hpp"

namespace moire::mscclpp {

const Operation& operation_at(const Plan& plan, const Site& site) {
  const Operation& op = plan.gpus[site.gpu].blocks[site.block].operations[static_cast<std::size_t>(site.op)];
  return site.inner < 0 ? op : op.inner[static_cast<std::size_t>(site.inner)];
}

std::string name_of(const Plan& plan, const Site& site) {
  if (site.op < 0) return fmt::format("the call of gpu {}", site.gpu);
  const std::string number = site.inner < 0 ? fmt::format("{}", site.op) : fmt::format("{}.{}", site.op, site.inner);
  return where(site.gpu, site.block, number, operation_at(plan, site));
}

void Faults::add(Fault::Kind kind, const Site& site, std::string what, std::string remedy, const std::string& key,
                 bool after_call) {
  if (!keys_.insert(key).second) return;
  if (listed_.size() == formats::Complaints::told) {
    ++more_;
    return;
  }
  Fault& added = listed_.emplace_back();
  added.kind = kind;
  added.after_call = after_call;
  if (site.op >= 0) {
    added.line = operation_at(plan_, site).line;
    added.col = operation_at(plan_, site).col;
  } else {
    added.line = plan_.gpus[site.gpu].line;
    added.col = plan_.gpus[site.gpu].col;
  }
  added.what = std::move(what);
  added.remedy = std::move(remedy);
}

}  // namespace moire::mscclpp
