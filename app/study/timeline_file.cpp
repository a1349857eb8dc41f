#include "app/study/timeline_file.hpp"

#include <fmt/format.h>

#include "models/hardware/machine/parts.hpp"
#include "sim/process/standard_streams.hpp"

namespace moire::study {

namespace {

// Returns for each CU of a GPU the name of its CU group.
std::vector<std::string> cu_groups(const cu::CuArraySpec& compute) {
  std::vector<std::string> names;
  std::int64_t number = 0;
  for (const cu::CuGroupSpec& group : compute.groups) {
    for (std::int64_t copy = 0; copy < group.count; ++copy, ++number) {
      names.insert(names.end(), static_cast<std::size_t>(group.cus), fmt::format("CU group {}", number));
    }
  }
  return names;
}

}  // namespace

TimelineFile::TimelineFile(std::filesystem::path path, const PreparedRun& run)
    : file_(std::move(path)), ranks_(run.program->ranks()), blocks_(run.fold.images) {
  timeline::Layout layout;
  layout.gpus_per_node = static_cast<std::uint32_t>(run.system->node.gpus);
  layout.sections = machine::timeline_sections();
  layout.cu_groups = cu_groups(run.system->node.gpu.compute);
  timeline_ = std::make_unique<timeline::PerfettoTimeline>(file_.stream(), *run.program, layout);
}

void TimelineFile::finish() {
  timeline_->finish();
  file_.commit();
  if (blocks_ > 1)
    process::tell("{}: shows the {} ranks that were simulated; the other {} blocks do the same\n",
                  file_.path().string(), ranks_ / blocks_, blocks_ - 1);
  if (const std::uint64_t left_out = timeline_->totals().workgroups_left_out; left_out > 0) {
    process::tell("{}: {} workgroup spans are left out, because a timeline has at most {} spans\n",
                  file_.path().string(), left_out, timeline::Options{}.max_events);
  }
}

}  // namespace moire::study
