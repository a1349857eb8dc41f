#include "sim/process/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "sim/core/failure.hpp"
#include "sim/process/descriptor.hpp"
#include "sim/process/input_files.hpp"

namespace moire::process {

namespace fs = std::filesystem;

namespace {

// The open output files, for remove_temporary_files(). A command has only a few. If there is no free slot, the
// temporary file of a further output is left behind when a signal ends the process, which does no harm.
std::array<std::atomic<const OutputFile*>, 16> open_files;

void change_slot(const OutputFile* from, const OutputFile* to) {
  for (auto& slot : open_files) {
    const OutputFile* known = from;
    if (slot.compare_exchange_strong(known, to)) return;
  }
}

// Returns `path` with symbolic links resolved, because the output replaces the file to which a link leads, and not the
// link. The file need not exist yet.
fs::path followed(fs::path path) {
  std::error_code error;
  for (int links = 0; links < 40 && fs::is_symlink(path, error); ++links) {
    const fs::path next = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / next;
  }
  return path;
}

mode_t usual_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

void sync_folder(const fs::path& folder) {  // makes the new name durable; failure is not an error
  const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

// Signals are blocked while an object of this class exists.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

OutputFile::OutputFile(fs::path path) : path_(std::move(path)), process_(getpid()) {
  stream_.exceptions(std::ios::badbit);  // exceptions of the buffer propagate
  struct stat old {};
  const bool there = stat(path_.c_str(), &old) == 0;
  if (path_.empty()) fail("the name is empty");
  if (there && S_ISDIR(old.st_mode)) fail(EISDIR);
  if (there && is_input(old)) fail("it is an input of this command; name another file");
  if (there && !S_ISREG(old.st_mode)) {
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  if (there && access(path_.c_str(), W_OK) != 0) fail(errno);
  target_ = followed(path_);
  constexpr std::size_t longest = 240;  // of the 255 bytes that a name may have
  temporary_ = target_.parent_path() / fmt::format(".{}.partial", target_.filename().native().substr(0, longest));
  {
    const SignalsWait until_known;  // else a signal between the next two lines would leave the temporary file behind
    open_temporary();
    change_slot(nullptr, this);
  }
  if (ftruncate(descriptor_, 0) != 0) error_ = errno;
  fchmod(descriptor_, there ? old.st_mode & 07777 : usual_mode());  // some file systems have no modes
}

void OutputFile::open_temporary() {
  for (;;) {
    descriptor_ = open(temporary_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) fail(errno);
    const bool locked = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno == EWOULDBLOCK) {
      close_file();
      fail("another process is writing it; wait until that has ended, or name another file");
    }
    // Another process that had the lock may have renamed or removed the file since this process opened it.
    struct stat mine {};
    struct stat named {};
    const bool same = fstat(descriptor_, &mine) == 0 && lstat(temporary_.c_str(), &named) == 0 &&
                      mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
    if (same) return;
    close_file();
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  if (!temporary_.empty()) {
    unlink(temporary_.c_str());
    change_slot(this, nullptr);
  }
  close_file();
}

void OutputFile::close_file() { close(std::exchange(descriptor_, -1)); }

void OutputFile::commit() {
  if (error_ != 0) fail(error_);
  if (temporary_.empty()) {
    if (close(std::exchange(descriptor_, -1)) != 0) fail(errno);
    return;
  }
  const fs::path folder = target_.parent_path();  // allocates its memory now: nothing may fail after the rename
  if (fsync(descriptor_) != 0 || rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  change_slot(this, nullptr);
  close_file();
  sync_folder(folder);
}

void OutputFile::fail(const std::string& why) const {
  throw core::RunFailure(fmt::format("cannot write '{}': {}", path_.string(), why));
}

void OutputFile::fail(int error) const { fail(std::string(std::strerror(error))); }

std::streamsize OutputFile::Buffer::xsputn(const char* text, std::streamsize size) {
  if (file_.error_ != 0) file_.fail(file_.error_);  // an earlier write or the truncation failed
  if (write_all(file_.descriptor_, {text, static_cast<std::size_t>(size)})) return size;
  file_.error_ = errno;
  file_.fail(file_.error_);
}

int OutputFile::Buffer::overflow(int c) {
  const char one = traits_type::to_char_type(c);
  return xsputn(&one, 1) == 1 ? c : traits_type::eof();
}

void write_file(const fs::path& path, std::string_view text) {
  OutputFile file(path);
  file.stream() << text;
  file.commit();
}

void check_can_write(const fs::path& path) { const OutputFile file(path); }

void remove_temporary_files() {
  const pid_t process = getpid();  // a forked process inherits the slots of its parent
  for (const auto& slot : open_files) {
    const OutputFile* file = slot.load();
    if (file != nullptr && file->process_ == process) unlink(file->temporary_.c_str());
  }
}

}  // namespace moire::process
