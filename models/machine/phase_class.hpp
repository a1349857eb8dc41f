// From what a workgroup asks for (PhaseShape) and how full its CU is to a class of the sharing law.
//
// rate <= window / (L(load) + delay)  Little's law: window = what the workgroup keeps in flight, at most its share of
// the
//                                     CU's limit
// rate <= share of the CU's load/store rate, of its arithmetic rate, of its peer-store window / link latency
// weight = bytes in flight            docs/explanation/sharing.md
// A copy is paced by its loads: measured, 8 KiB in flight copy 8 KiB / 396 ns = 20.7 GB/s
// (docs/explanation/sharing.md).
#pragma once

#include "models/machine/machine.hpp"
#include "sim/core/sharing.hpp"
#include "sim/program/program.hpp"

namespace moire::models::machine {

// What the workgroups that are active on one CU ask for together.
struct CuLoad {
  double in_flight = 0;         // bytes, sum over workgroups that move data
  std::uint32_t computing = 0;  // workgroups that do arithmetic
  double port_share = 1;        // what the port of the CU leaves of the CU's own limit on bytes in flight
  bool operator==(const CuLoad&) const = default;
};

core::ClassSpec phase_class(const Machine& machine, const program::PhaseShape& shape, Rank rank, Rank peer,
                            const CuLoad& load);

}  // namespace moire::models::machine
