// Keeps the finished runs of a study in a file until all runs are finished. If a command is interrupted, killed or
// fails, the same command with --resume simulates only the runs that the file lacks.
//
// The first line says to which study the runs belong. Each run follows as a line "<number> <bytes> <seconds> <memory>
// <checksum> <timeline>" and its packed result, which has <bytes> bytes and the checksum <checksum>. The run took
// <seconds> and at most <memory> bytes. Runs are only appended, and an incomplete last run is ignored.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "app/study/child.hpp"

namespace moire::study {

// Returns a hash of everything that determines a result: the executable of this program, the contents of every file
// that it has read so far, and `words`.
std::string key_of_study(const std::vector<std::string>& words);

class KeptRuns {
 public:
  // With `resume`, reads the runs that the file has for this key, which is a value of key_of_study(). Otherwise starts
  // a new file. Throws core::RunFailure if the file cannot be written or another command is writing it.
  KeptRuns(std::filesystem::path file, const std::string& key, bool resume);
  KeptRuns(const KeptRuns&) = delete;
  KeptRuns& operator=(const KeptRuns&) = delete;
  // Tells the user where runs are kept, or removes the file if it has no runs or they are no longer needed.
  ~KeptRuns();

  std::size_t known() const { return known_.size(); }
  // Returns the report of a run that was read from the file. Null if the file did not have it, or if the timeline that
  // the run wrote has changed since. `timeline` is null if no timeline is requested.
  const ChildReport* known(std::size_t number, const std::filesystem::path* timeline) const;

  // Appends a finished run to the file. If the disk is full, the file lacks the run, so that --resume would simulate it
  // again; the present command is not affected.
  void keep(std::size_t number, const ChildReport& report, const std::filesystem::path* timeline);
  // The caller calls this when every run has ended and the results are written.
  void not_needed() { kept_ = 0; }

 private:
  // Reads the runs in `text`, the contents of the file, and returns the number of bytes up to the end of the last
  // complete run. Returns 0 if the text does not start with `head`, because then the runs belong to another study.
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
  std::size_t whole_ = 0;  // bytes of the first line and all complete runs; 0: no first line, so no run can be kept
};

}  // namespace moire::study
