// libFuzzer: writes files while system calls fail. The bytes choose the contents of the files, the system calls that
// fail, write only a part or are interrupted, and the allocation that fails. After a write either the complete old file
// or the complete new file must exist, the return value must say which of the two, and no other file must be left. The
// linker redirects system calls to functions of this file (--wrap).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "app/study/kept_runs.hpp"
#include "sim/process/output_file.hpp"
#include "sim/program/wg_trace_reader.hpp"
#include "sim/program/wg_trace_writer.hpp"
#include "tests/laws/random.hpp"

namespace {

using namespace moire;
namespace fs = std::filesystem;

void require(bool condition) {
  if (!condition) std::abort();
}

// The failures to inject. No call fails while `faults` is null.
struct Faults {
  laws::Random random;
  std::uint64_t allocations = 0;  // 1: the next allocation fails, 2: the one after it, ...; 0: none fails
  std::size_t errors = 0;         // number of errors that system calls have returned
};
Faults* faults = nullptr;

// Decides at random whether a system call fails. Returns one of `errors`, or 0 if the call succeeds.
int error_of(std::initializer_list<int> errors) {
  if (faults == nullptr || faults->random.below(256) < 200) return 0;
  ++faults->errors;
  return faults->random.of(errors);
}
bool chance() { return faults != nullptr && faults->random.below(256) >= 200; }

}  // namespace

extern "C" {
ssize_t __real_write(int to, const void* bytes, std::size_t size);
ssize_t __wrap_write(int to, const void* bytes, std::size_t size) {
  if (to == 2 && faults != nullptr) return static_cast<ssize_t>(size);  // discards messages on stderr
  if (chance()) {
    if (faults->random.one_in(2)) return errno = EINTR, -1;
    if (size > 1) size = 1 + faults->random.below(size - 1);
  }
  if (const int error = error_of({ENOSPC, EIO, EFBIG, EDQUOT})) {
    // A failing write may have written some of the bytes.
    if (size > 1 && faults->random.one_in(2)) (void)!__real_write(to, bytes, faults->random.below(size));
    return errno = error, -1;
  }
  return __real_write(to, bytes, size);
}

int __real_fsync(int descriptor);
int __wrap_fsync(int descriptor) {
  if (const int error = error_of({EIO, ENOSPC})) return errno = error, -1;
  return __real_fsync(descriptor);
}

int __real_rename(const char* from, const char* to);
int __wrap_rename(const char* from, const char* to) {
  if (const int error = error_of({EIO, ENOSPC, EACCES})) return errno = error, -1;
  return __real_rename(from, to);
}

int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (const int error = error_of({EMFILE, EACCES, ENOSPC})) return errno = error, -1;
  return __real_open(path, flags, mode);
}

int __real_ftruncate(int descriptor, off_t size);
int __wrap_ftruncate(int descriptor, off_t size) {
  if (const int error = error_of({EIO})) return errno = error, -1;
  return __real_ftruncate(descriptor, size);
}

int __real_flock(int descriptor, int operation);
int __wrap_flock(int descriptor, int operation) {
  if (const int error = error_of({ENOLCK})) return errno = error, -1;
  return __real_flock(descriptor, operation);
}

int __real_fchmod(int descriptor, mode_t mode);
int __wrap_fchmod(int descriptor, mode_t mode) {
  if (const int error = error_of({EPERM})) return errno = error, -1;
  return __real_fchmod(descriptor, mode);
}

int __real_close(int descriptor);
int __wrap_close(int descriptor) {
  const int error = error_of({EIO});
  const int result = __real_close(descriptor);  // Linux closes the descriptor even if close fails
  return error != 0 ? (errno = error, -1) : result;
}

void* __real__Znwm(std::size_t size);
void* __wrap__Znwm(std::size_t size) {  // operator new
  if (faults != nullptr && faults->allocations > 0 && --faults->allocations == 0) throw std::bad_alloc();
  return __real__Znwm(size);
}
}

namespace {

const fs::path& folder() {
  static const fs::path made = [] {
    const char* memory = "/dev/shm";
    fs::path path = fs::path(access(memory, W_OK) == 0 ? memory : "/tmp") / ("moire_fuzz." + std::to_string(getpid()));
    fs::create_directories(path);
    std::atexit([] { fs::remove_all(folder()); });
    return path;
  }();
  return made;
}

std::optional<std::string> content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

// Runs `work` while system calls and allocations fail. Returns true if `work` succeeded.
template <class Work>
bool under_faults(Faults& with, const Work& work) {
  faults = &with;
  bool well = false;
  try {
    well = work();
  } catch (const core::RunFailure&) {
  } catch (const std::bad_alloc&) {
  }
  faults = nullptr;
  return well;
}

std::string some_text(laws::Random& random) {
  return std::string(random.below(2000), static_cast<char>('a' + random.below(26)));
}

void write_output(Faults& with, const fs::path& file, const std::optional<std::string>& old) {
  std::string text;
  std::vector<std::string> parts;
  for (std::uint64_t count = with.random.below(5); count > 0; --count)
    text += parts.emplace_back(some_text(with.random));
  const bool whole = under_faults(with, [&] {
    process::OutputFile out(file);
    for (const std::string& part : parts) out.stream() << part;
    out.commit();
    return true;
  });
  require(content(file) == (whole ? std::optional(text) : old));
}

void write_trace(Faults& with, const fs::path& file, const std::optional<std::string>& old) {
  const program::WgTraceHeader header{.version = 1,
                                      .ranks = 1,
                                      .kernel = "k",
                                      .wgs_per_rank = 1,
                                      .threads_per_wg = 64,
                                      .registers_per_thread = 32,
                                      .lds_bytes_per_wg = 0,
                                      .bytes_in_flight_per_wg = 4096,
                                      .recorded_end_ns = 1'000'000'000,
                                      .provenance = {}};
  const auto rows = static_cast<std::int64_t>(with.random.below(300));
  const bool whole = under_faults(with, [&] {
    config::Diagnostics diagnostics;
    auto writer = program::WgTraceWriter::create(file, header, diagnostics);
    if (!writer) return false;
    program::WgTraceRow row;
    row.kind = program::WgTraceRow::Kind::task;
    for (std::int64_t i = 0; i < rows; ++i) {
      row.task = i;
      row.start_ns = i * 10;
      row.compute_end_ns = row.end_ns = i * 10 + 5;
      writer->add(row);
    }
    const bool good = writer->finish();
    require(good == diagnostics.ok());
    return good;
  });
  if (!whole) {
    require(content(file) == old);
    return;
  }
  config::Diagnostics diagnostics;
  auto reader = program::WgTraceReader::open(file, diagnostics);
  require(reader.has_value());
  std::int64_t read = 0;
  for (program::WgTraceRow row; reader->next(row);) ++read;
  require(reader->ok() && read == rows);
}

// Keeps runs of a study in a file, and checks that those that were kept without an error are read again with their own
// results. If no call failed, checks also that no other runs are found.
void keep_runs(Faults& with, const fs::path& file) {
  constexpr const char* key = "00f067aa0ba902b7";
  std::array<std::string, 4> texts;
  for (std::string& text : texts) text = some_text(with.random);
  std::array<bool, texts.size()> kept{};  // an array, because allocations on the heap may fail
  under_faults(with, [&] {
    study::KeptRuns runs(file, key, false);
    for (std::size_t number = 0; number < texts.size(); ++number) {
      const study::ChildReport report{.text = texts[number], .wall_seconds = 1, .peak_memory_bytes = 1};
      const std::size_t before = with.errors;
      runs.keep(number, report, nullptr);
      kept[number] = with.errors == before;
    }
    return true;
  });
  if (with.errors > 0 && !content(file)) return;
  study::KeptRuns again(file, key, true);
  for (std::size_t number = 0; number < texts.size(); ++number) {
    const auto* known = again.known(number, nullptr);
    if (known != nullptr && kept[number]) require(known->text == texts[number]);
    if (with.errors == 0) require((known != nullptr) == kept[number]);
  }
  again.not_needed();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  Faults with{laws::Random(std::string_view(reinterpret_cast<const char*>(data), size))};
  const auto way = with.random.below(4);
  const fs::path file = folder() / (way == 2 ? "out.csv.zst" : "out.csv");
  std::optional<std::string> old;
  if (with.random.one_in(2)) {
    old = "old " + some_text(with.random);
    std::ofstream(file, std::ios::binary) << *old;
  }
  if (with.random.one_in(4)) with.allocations = 1 + with.random.below(100);
  if (way == 0) write_output(with, file, old);
  if (way == 1 || way == 2) write_trace(with, file, old);
  if (way == 3) {
    fs::remove(file);
    keep_runs(with, file);
  }
  fs::remove(file);
  require(fs::is_empty(folder()));  // no temporary file is left
  return 0;
}
