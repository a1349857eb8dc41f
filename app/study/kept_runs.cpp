#include "app/study/kept_runs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "sim/process/descriptor.hpp"
#include "sim/process/input_files.hpp"
#include "sim/process/standard_streams.hpp"

namespace moire::study {

namespace {

// The hash function FNV-1a with 64 bits.
class Hash {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  // Adds a text and its length, so that "ab", "c" has another hash than "a", "bc".
  void add_part(std::string_view bytes) { add(fmt::format("{} ", bytes.size())), add(bytes); }
  void add_file(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::array<char, 65536> block{};
    std::size_t size = 0;
    while (in.read(block.data(), block.size()), in.gcount() > 0) {
      add({block.data(), static_cast<std::size_t>(in.gcount())});
      size += static_cast<std::size_t>(in.gcount());
    }
    add(fmt::format(" {} ", size));
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

// Returns a text that changes when the file is replaced or written: device, inode, size and time of the last change.
// Returns "none" if there is no file.
std::string identity_of(const std::filesystem::path* file) {
  struct stat known {};
  if (file == nullptr || stat(file->c_str(), &known) != 0) return "none";
  return fmt::format("{}:{}:{}:{}.{}", known.st_dev, known.st_ino, known.st_size, known.st_mtim.tv_sec,
                     known.st_mtim.tv_nsec);
}

std::uint64_t hash_of(std::string_view bytes) {
  Hash hash;
  hash.add(bytes);
  return hash.value();
}

}  // namespace

std::string key_of_study(const std::vector<std::string>& words) {
  Hash hash;
  hash.add_file("/proc/self/exe");  // the layout of packed results depends on the build
  for (const std::filesystem::path& file : process::inputs()) {
    hash.add_part(file.native());
    hash.add_file(file);
  }
  for (const std::string& word : words) hash.add_part(word);
  return fmt::format("{:016x}", hash.value());
}

KeptRuns::KeptRuns(std::filesystem::path file, const std::string& key, bool resume) : file_(std::move(file)) {
  const auto fail = [this](const char* why) {
    throw core::RunFailure(fmt::format("cannot write '{}': {}", file_.string(), why));
  };
  descriptor_.number = open(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_.number < 0) fail(std::strerror(errno));
  if (flock(descriptor_.number, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    fail("another command is simulating this study; wait until it has ended");
  std::ostringstream known;
  known << std::ifstream(file_, std::ios::binary).rdbuf();
  const std::string text = known.str();
  const std::string mark = "moire runs of ";
  if (text.substr(0, mark.size()) != mark.substr(0, text.size())) fail("it exists and does not contain runs of Moire");
  const std::string head = mark + key + "\n";
  whole_ = resume ? read(text, head) : 0;
  if (ftruncate(descriptor_.number, static_cast<off_t>(whole_)) != 0) fail(std::strerror(errno));
  if (whole_ == 0) append(head);
}

KeptRuns::Descriptor::~Descriptor() {
  if (number >= 0) close(number);
}

// Appends a text completely or not at all, because the reader stops at an incomplete run.
void KeptRuns::append(const std::string& text) {
  if (process::write_all(descriptor_.number, text)) {
    whole_ += text.size();
  } else if (ftruncate(descriptor_.number, static_cast<off_t>(whole_)) != 0) {
    whole_ = 0;
  }
}

KeptRuns::~KeptRuns() {
  if (kept_ == 0) {
    unlink(file_.c_str());
  } else {
    process::tell("{} finished run{} kept in {}; the same command with --resume simulates the others\n", kept_,
                  kept_ == 1 ? " is" : "s are", file_.c_str());
  }
}

std::size_t KeptRuns::read(const std::string& text, const std::string& head) {
  if (!text.starts_with(head)) return 0;
  std::size_t whole = head.size();
  for (std::size_t line_end = 0; (line_end = text.find('\n', whole)) != std::string::npos;) {
    std::istringstream line(text.substr(whole, line_end - whole));
    std::size_t number = 0;
    std::size_t size = 0;
    std::uint64_t checksum = 0;
    Known known;
    ChildReport& report = known.report;
    line >> number >> size >> report.wall_seconds >> report.peak_memory_bytes >> checksum >> known.timeline;
    if (!line || size > text.size() - line_end - 1) break;
    report.text = text.substr(line_end + 1, size);
    if (hash_of(report.text) != checksum) break;
    known_[number] = std::move(known);
    whole = line_end + 1 + size;
  }
  kept_ = known_.size();
  return whole;
}

const ChildReport* KeptRuns::known(std::size_t number, const std::filesystem::path* timeline) const {
  const auto known = known_.find(number);
  return known == known_.end() || known->second.timeline != identity_of(timeline) ? nullptr : &known->second.report;
}

void KeptRuns::keep(std::size_t number, const ChildReport& report, const std::filesystem::path* timeline) {
  if (whole_ == 0) return;
  const std::string entry =
      fmt::format("{} {} {} {} {} {}\n{}", number, report.text.size(), report.wall_seconds, report.peak_memory_bytes,
                  hash_of(report.text), identity_of(timeline), report.text);
  const std::size_t before = whole_;
  append(entry);
  if (whole_ > before) ++kept_;
}

}  // namespace moire::study
