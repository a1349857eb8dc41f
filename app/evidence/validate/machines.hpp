// Compares the machines that measured the same cases (`measured.again`): how far they differ, and which part of the
// simulation's error is beyond their range. A model of one GPU cannot be more accurate than GPUs are alike.
#pragma once

#include "app/evidence/validate/result.hpp"

namespace moire::validate {

// The mean difference of a case between machines, in percent of its measured value, or in percentage points.
inline const study::MetricInfo machines_percent = {
    "machines_percent", "Mean difference of a case between the first machine and the others that measured it"};
// The mean error of the cases that several machines measured, beyond the range of their values. A simulated
// value between the smallest and the largest measured value of a case is no error here.
inline const study::MetricInfo beyond_machines_percent = {"beyond_machines_percent",
                                                          "Mean error of these cases beyond the range of the machines"};

// Adds both metrics to a group in which other machines measured some of the cases.
void compare_machines(GroupResult& group);

}  // namespace moire::validate
