// Keeps the finished runs of a study in a file until all are finished. If a command is interrupted, killed or fails,
// the next one continues from there (moire run --resume).
//
// The first line says to which study the runs belong. Each run follows as a line "<number> <bytes> <seconds> <memory>
// <checksum> <timeline>" and its packed result. The file is only appended to, and an incomplete last entry is ignored.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "app/study/child.hpp"

namespace moire::study {

// Returns a hash of everything that determines a result: this program, the contents of every file read so far, `words`.
std::string key_of_study(const std::vector<std::string>& words);

class KeptRuns {
 public:
  // With `resume`, reads the runs that the file has for this key; otherwise starts a new file. Throws core::RunFailure
  // if the file cannot be written or another command is writing it.
  KeptRuns(std::filesystem::path file, const std::string& key, bool resume);
  KeptRuns(const KeptRuns&) = delete;
  KeptRuns& operator=(const KeptRuns&) = delete;
  // Tells the user where runs are kept, or removes the file if it has no runs or they are no longer needed.
  ~KeptRuns();

  std::size_t known() const { return known_.size(); }
  // Null if the run is not known, or if the timeline that it wrote has changed since. `timeline` is null if none is
  // requested.
  const ChildReport* known(std::size_t number, const std::filesystem::path* timeline) const;

  // Appends a finished run to the file. If the disk is full, the run cannot be resumed, but its result is not lost.
  void keep(std::size_t number, const ChildReport& report, const std::filesystem::path* timeline);
  // The caller calls this when every run has ended and the results are written.
  void not_needed() { kept_ = 0; }

 private:
  // Length of the valid part of the file; 0 if the file has another key.
  std::size_t read(const std::string& text, const std::string& head);
  void append(const std::string& text);

  const std::filesystem::path file_;
  struct Descriptor {
    int number = -1;
    ~Descriptor();
  } descriptor_;
  struct Known {
    ChildReport report;
    std::string timeline;  // identity of the timeline file
  };
  std::map<std::size_t, Known> known_;  // by number of the run
  std::size_t kept_ = 0;
  std::size_t whole_ = 0;  // length of the valid part of the file; 0: there is no first line, so nothing can be kept
};

}  // namespace moire::study
