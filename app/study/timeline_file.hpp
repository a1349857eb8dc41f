// Writes the timeline of a run to a file.
#pragma once

#include <filesystem>
#include <memory>

#include "app/study/prepare.hpp"
#include "app/timeline/perfetto_timeline.hpp"
#include "sim/process/output_file.hpp"
#include "sim/program/observer.hpp"

namespace moire::study {

class TimelineFile {
 public:
  // `run` must outlive this object. Throws core::RunFailure if the file cannot be written. The file appears after
  // finish().
  TimelineFile(std::filesystem::path path, const PreparedRun& run);

  program::Observer* observer() { return timeline_.get(); }
  void finish();  // throws core::RunFailure if something could not be written

 private:
  process::OutputFile file_;
  program::Rank ranks_, blocks_;
  std::unique_ptr<timeline::PerfettoTimeline> timeline_;
};

}  // namespace moire::study
