// Finished runs of a study, in a file beside its results until all are finished: what was simulated before a command
// was interrupted, killed or failed is there for the next one (moire run --resume).
//
// A line of what they belong to, then each run as it ended: "<number> <bytes> <seconds> <memory> <checksum>
// <timeline>\n" and its packed result. The file is only appended to; of a last entry that is not whole nothing is
// taken.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "app/study/child.hpp"

namespace moire::study {

// All that a result comes from: this program, the bytes of every file that was read so far, and `words`.
std::string key_of_study(const std::vector<std::string>& words);

class KeptRuns {
 public:
  // Takes up what the file has of this key, where `resume` says so; else it begins anew. Throws core::RunFailure where
  // it cannot be written or another command writes it.
  KeptRuns(std::filesystem::path file, const std::string& key, bool resume);
  KeptRuns(const KeptRuns&) = delete;
  KeptRuns& operator=(const KeptRuns&) = delete;
  // Says where runs are kept, or removes the file: where there are none, or nobody needs them any more.
  ~KeptRuns();

  std::size_t known() const { return known_.size(); }
  // Null: it is not known, or the timeline that it wrote is no longer that one. `timeline`: null where none is asked
  // for.
  const ChildReport* known(std::size_t number, const std::filesystem::path* timeline) const;

  // A disk that is full costs the taking up and not the result.
  void keep(std::size_t number, const ChildReport& report, const std::filesystem::path* timeline);
  // Every run has ended and what they say is written.
  void not_needed() { kept_ = 0; }

 private:
  // How much of the file is whole: 0 where it is not of this key.
  std::size_t read(const std::string& text, const std::string& head);
  void append(const std::string& text);

  const std::filesystem::path file_;
  struct Descriptor {
    int number = -1;
    ~Descriptor();
  } descriptor_;
  struct Known {
    ChildReport report;
    std::string timeline;  // which file it is
  };
  std::map<std::size_t, Known> known_;  // by number
  std::size_t kept_ = 0;
  std::size_t whole_ = 0;  // bytes of the file; 0: it has no head, so that nothing can be kept
};

}  // namespace moire::study
