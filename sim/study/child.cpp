#include "sim/study/child.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "sim/core/invariant.hpp"

// There in coverage builds only. NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" void __gcov_dump() __attribute__((weak));

namespace moire::study {

namespace {

constexpr int tick_ms = 200;

// First byte of what a child sends.
constexpr char sent_result = 'r';
constexpr char sent_bug = 'b';
constexpr char sent_failure = 'f';

std::string message_of(const std::function<std::string()>& work) {
  try {
    return sent_result + work();
  } catch (const std::bad_alloc&) {
    return sent_failure + std::string("the run needs more memory than there is");
  } catch (const RunFailure& problem) {
    return sent_failure + std::string(problem.what());
  } catch (const std::exception& problem) {
    return sent_bug + std::string(problem.what());
  }
}

void write_all(int to, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = write(to, text.data() + sent, text.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the parent is gone
    sent += static_cast<std::size_t>(n);
  }
}

[[noreturn]] void be_the_child(int to, const std::function<std::string()>& work) {
  write_all(to, message_of(work));
  close(to);
  if (__gcov_dump != nullptr) __gcov_dump();
  _exit(0);  // not exit(): the parent's static objects and output buffers are not ours to end
}

std::string read_all(int from, const std::function<void()>& tick) {
  std::string text;
  std::array<char, 65536> buffer{};
  pollfd ready{from, POLLIN, 0};
  while (true) {
    const int events = poll(&ready, 1, tick_ms);
    if (events == 0) tick();
    if (events == 0 || (events < 0 && errno == EINTR)) continue;
    const ssize_t n = read(from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

ChildReport run_in_child(const std::function<std::string()>& work, const std::function<void()>& tick) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw RunFailure(fmt::format("cannot open a pipe: {}", std::strerror(errno)));
  std::fflush(nullptr);  // or the child would print it again
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child < 0) {
    const std::string why = std::strerror(errno);
    close(ends[0]);
    close(ends[1]);
    throw RunFailure("cannot start a process: " + why);
  }
  if (child == 0) {
    close(ends[0]);
    be_the_child(ends[1], work);
  }
  close(ends[1]);
  const std::string message = read_all(ends[0], tick);
  close(ends[0]);
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) throw RunFailure("the system ended the run (out of memory?)");
  if (WIFSIGNALED(status)) throw core::InvariantError(fmt::format("a run crashed: {}", strsignal(WTERMSIG(status))));
  if (message.empty())
    throw core::InvariantError(fmt::format("a run ended with status {} and no result", WEXITSTATUS(status)));
  if (message[0] == sent_failure) throw RunFailure(message.substr(1));
  if (message[0] == sent_bug) throw core::InvariantError(message.substr(1));
  return {message.substr(1), wall.count(), static_cast<std::uint64_t>(usage.ru_maxrss) * 1024};
}

}  // namespace moire::study
