#include "app/study/child.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <new>

#include "sim/core/invariant.hpp"
#include "sim/process/descriptor.hpp"
#include "sim/process/log_output.hpp"
#include "sim/process/signals.hpp"

// Exists in coverage builds only. NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" void __gcov_dump() __attribute__((weak));

namespace moire::study {

namespace {

constexpr int tick_ms = 200;

// The first byte of a child's message says whether a result, an internal error or a failure follows.
constexpr char sent_result = 'r';
constexpr char sent_bug = 'b';
constexpr char sent_failure = 'f';

std::string message_of(const std::function<std::string()>& work) {
  try {
    return sent_result + work();
  } catch (const std::bad_alloc&) {
    return sent_failure + std::string("the run needs more memory than is available");
  } catch (const core::RunFailure& problem) {
    return sent_failure + std::string(problem.what());
  } catch (const std::exception& problem) {
    return sent_bug + std::string(problem.what());
  }
}

// Executes the work in the child process and sends the length of the log, the log and the message to the parent.
[[noreturn]] void be_the_child(int to, pid_t parent, const std::function<std::string()>& work) {
  process::end_with_parent(parent);
  process::keep_log();
  const std::string message = message_of(work);
  const std::string log = process::kept_log();
  process::write_all(to, fmt::format("{}\n{}{}", log.size(), log, message));  // fails if the parent is gone
  close(to);
  if (__gcov_dump != nullptr) __gcov_dump();
  _exit(0);  // unlike exit(), leaves the parent's static objects and output buffers alone
}

// A child process that executes a work, and the pipe through which it sends its message. The destructor ends it.
class Child {
 public:
  explicit Child(const std::function<std::string()>& work) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw core::RunFailure(fmt::format("cannot open a pipe: {}", std::strerror(errno)));
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ < 0) {
      const std::string why = std::strerror(errno);
      close(ends[0]);
      close(ends[1]);
      throw core::RunFailure("cannot start a process: " + why);
    }
    if (process_ == 0) {
      close(ends[0]);
      be_the_child(ends[1], parent, work);
    }
    close(ends[1]);
    from_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (from_ >= 0) close(from_);
    if (!ended_) {
      int status = 0;
      kill(process_, SIGTERM);
      while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
      }
    }
  }

  int from() const { return from_; }

  // Reads the data that are available in the pipe. False if the child has closed the pipe.
  bool read_more() {
    std::array<char, 65536> buffer{};
    const ssize_t n = read(from_, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) return false;
    message_.append(buffer.data(), static_cast<std::size_t>(n));
    return true;
  }

  // Returns the log messages of the child; empty before report() was called, and if the child crashed.
  const std::string& log() const { return log_; }

  ChildReport report() {
    int status = 0;
    rusage usage{};
    while (wait4(process_, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    ended_ = true;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin_;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
      throw core::RunFailure(
          "the operating system ended the run, probably because memory ran out; simulate fewer runs at the same time "
          "(-j 1) "
          "or fewer nodes");
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGINT))
      throw core::RunFailure(fmt::format("the run was ended by another process: {}", strsignal(WTERMSIG(status))));
    if (WIFSIGNALED(status)) throw core::InvariantError(fmt::format("a run crashed: {}", strsignal(WTERMSIG(status))));
    if (message_.empty())
      throw core::InvariantError(fmt::format("a run ended with status {} and no result", WEXITSTATUS(status)));
    const std::size_t log_begin = message_.find('\n') + 1;
    const std::size_t log_size = std::stoull(message_);
    log_ = message_.substr(log_begin, log_size);
    message_.erase(0, log_begin + log_size);
    if (message_[0] == sent_failure) throw core::RunFailure(message_.substr(1));
    if (message_[0] == sent_bug) throw core::InvariantError(message_.substr(1));
    return {message_.substr(1), wall.count(), static_cast<std::uint64_t>(usage.ru_maxrss) * 1024};
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  pid_t process_ = -1;
  int from_ = -1;
  bool ended_ = false;
  std::string message_;
  std::string log_;
};

}  // namespace

ChildReport run_in_child(const std::function<std::string()>& work, const std::function<void()>& tick) {
  return run_in_children(
             {work}, 1, [](std::size_t) {}, tick)
      .front();
}

std::vector<ChildEnd> try_in_children(const std::vector<std::function<std::string()>>& works, std::size_t at_once,
                                      const std::function<void(std::size_t)>& begin, const std::function<void()>& tick,
                                      OnFailure on_failure,
                                      const std::function<void(std::size_t, const ChildReport&)>& ended) {
  const process::SignalsNoted noted;
  std::vector<ChildEnd> ends(works.size());
  std::vector<std::string> logs(works.size());  // in the order of the works
  if (works.size() > 1) core::log_debug("{} processes, at most {} at once", works.size(), at_once);
  std::map<std::size_t, Child> running;  // by number of the work
  bool goes_on = true;
  const auto fails = [&](std::size_t number) {
    ends[number].failure = std::current_exception();
    goes_on = goes_on && on_failure == OnFailure::go_on;
  };
  for (std::size_t next = 0; process::noted_signal() == 0 && ((goes_on && next < works.size()) || !running.empty());) {
    while (goes_on && next < works.size() && running.size() < std::max<std::size_t>(at_once, 1)) {
      begin(next);
      try {
        running.try_emplace(next, works[next]);
      } catch (const core::RunFailure&) {
        fails(next);
      }
      ++next;
    }
    if (running.empty()) continue;
    std::vector<pollfd> ready;
    for (const auto& [number, child] : running) ready.push_back({child.from(), POLLIN, 0});
    const int events = poll(ready.data(), ready.size(), tick_ms);
    if (events == 0) tick();
    if (events <= 0) continue;
    std::size_t at = 0;
    for (auto it = running.begin(); it != running.end(); ++at) {
      const auto here = it++;
      if (ready[at].revents == 0 || here->second.read_more()) continue;
      try {
        ends[here->first].report = here->second.report();
        if (ended) ended(here->first, *ends[here->first].report);
      } catch (...) {
        fails(here->first);
      }
      logs[here->first] = here->second.log();
      running.erase(here);
    }
  }
  running.clear();  // ends the children if a signal came
  if (const int signal = process::noted_signal()) {
    for (ChildEnd& end : ends)
      if (!end.report) end.failure = std::make_exception_ptr(process::Interrupted(signal));
  }
  for (const std::string& log : logs) process::replay_log(log);
  return ends;
}

std::vector<ChildReport> run_in_children(const std::vector<std::function<std::string()>>& works, std::size_t at_once,
                                         const std::function<void(std::size_t)>& begin,
                                         const std::function<void()>& tick) {
  std::vector<ChildEnd> ends = try_in_children(works, at_once, begin, tick, OnFailure::stop);
  for (const ChildEnd& end : ends)
    if (end.failure) std::rethrow_exception(end.failure);
  std::vector<ChildReport> reports;
  for (ChildEnd& end : ends) reports.push_back(std::move(*end.report));
  return reports;
}

}  // namespace moire::study
