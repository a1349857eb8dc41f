#include "app/study/timeline_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "app/study/child.hpp"
#include "models/hardware/machine/parts.hpp"

namespace moire::study {

namespace {

[[noreturn]] void cannot_write(const std::filesystem::path& path) {
  throw core::RunFailure(fmt::format("cannot write the timeline '{}': {}", path.string(), std::strerror(errno)));
}

// One entry a CU: which group it is in.
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
    : path_(std::move(path)), out_(path_, std::ios::binary) {
  if (!out_) cannot_write(path_);
  timeline::Layout layout;
  layout.gpus_per_node = static_cast<std::uint32_t>(run.system->node.gpus);
  layout.sections = machine::timeline_sections();
  layout.cu_groups = cu_groups(run.system->node.gpu.compute);
  timeline_ = std::make_unique<timeline::PerfettoTimeline>(out_, *run.program, layout);
}

void TimelineFile::finish() {
  if (!timeline_->finish() || !out_.flush()) cannot_write(path_);
  if (const std::uint64_t left_out = timeline_->totals().workgroups_left_out; left_out > 0) {
    fmt::print(stderr, "{}: {} workgroup spans are left out, a timeline has room for {} spans\n", path_.string(),
               left_out, timeline::Options{}.max_events);
  }
}

}  // namespace moire::study
