#include "sim/core/simgrid/platform.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <map>
#include <memory>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>

#include "sim/core/simgrid/run_loop_model.hpp"

namespace moire::core::flow {

namespace {

constexpr unsigned most_seconds = 60;        // time limit for reading the file and its routes
constexpr double most_latency = 1e6;         // s; larger values are clamped, and the caller rejects them
constexpr std::uint32_t whole = 0x4d4f4952;  // the child sends this number at the end of a complete transfer

using Closer = int (*)(std::FILE*);
using Stream = std::unique_ptr<std::FILE, Closer>;

bool in_order(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  const auto digit = [](const std::string& text, std::size_t at) {
    return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
  };
  while (i < a.size() && j < b.size()) {
    if (digit(a, i) && digit(b, j)) {
      const auto number = [&digit](const std::string& text, std::size_t& at) {
        while (digit(text, at) && text[at] == '0') ++at;
        const std::size_t begin = at;
        while (digit(text, at)) ++at;
        return text.substr(begin, at - begin);
      };
      const std::string x = number(a, i), y = number(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

// --- In the child process, which uses SimGrid

void put(std::FILE* to, const void* bytes, std::size_t size) {
  if (std::fwrite(bytes, 1, size, to) != size)
    throw std::runtime_error("the process that read the platform cannot send it to Moire");
}
void put(std::FILE* to, std::uint32_t number) { put(to, &number, sizeof number); }
void put(std::FILE* to, double number) { put(to, &number, sizeof number); }
void put(std::FILE* to, const std::string& text) {
  put(to, static_cast<std::uint32_t>(text.size()));
  put(to, text.data(), text.size());
}

void tell(const std::string& file, std::FILE* to) {
  using simgrid::s4u::Link;
  char program[] = "moire";
  char* arguments[] = {program, nullptr};
  int count = 1;
  simgrid::s4u::Engine engine(&count, arguments);
  engine.load_platform(file);
  auto hosts = engine.get_all_hosts();
  std::sort(hosts.begin(), hosts.end(),
            [](const auto* a, const auto* b) { return in_order(a->get_name(), b->get_name()); });
  put(to, static_cast<std::uint32_t>(hosts.size()));
  for (const auto* host : hosts) put(to, host->get_name());
  if (hosts.size() > Platform::most_hosts) return put(to, whole);
  std::map<const Link*, std::uint32_t> number;
  std::vector<const Link*> links;
  std::vector<Link*> route;
  for (const auto* from : hosts) {
    for (const auto* destination : hosts) {
      route.clear();
      double latency = 0;
      if (from != destination) from->route_to(destination, route, &latency);
      put(to, static_cast<std::uint32_t>(route.size()));
      for (const Link* link : route) {
        const auto [at, is_new] = number.try_emplace(link, static_cast<std::uint32_t>(links.size()));
        if (is_new) links.push_back(link);
        put(to, at->second);
      }
    }
  }
  put(to, static_cast<std::uint32_t>(links.size()));
  for (const Link* link : links) {
    const auto policy = link->get_sharing_policy();
    if (policy == Link::SharingPolicy::WIFI)
      throw std::runtime_error(fmt::format("link '{}' is wireless", link->get_name()));
    const bool each = policy == Link::SharingPolicy::FATPIPE;
    put(to, link->get_name());
    put(to, link->get_bandwidth() * (each ? static_cast<double>(hosts.size()) : 1));
    put(to, link->get_latency());
  }
  put(to, whole);
}

[[noreturn]] void run_child(const std::string& file, int data, int messages) {
  ::alarm(most_seconds);
  ::dup2(messages, STDERR_FILENO);
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nothing, STDOUT_FILENO);
  std::FILE* to = ::fdopen(data, "wb");
  int status = 1;
  try {
    tell(file, to);
    status = std::fflush(to) == 0 ? 0 : 1;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
  }
  std::fflush(stderr);
  ::_exit(status);
}

// --- In the parent process

class Told {
 public:
  explicit Told(std::FILE* from) : from_(from) {}
  bool get(void* bytes, std::size_t size) { return good_ = good_ && std::fread(bytes, 1, size, from_) == size; }
  std::uint32_t number() {
    std::uint32_t read = 0;
    return get(&read, sizeof read) ? read : 0;
  }
  double real() {
    double read = 0;
    return get(&read, sizeof read) ? read : 0;
  }
  std::string text() {
    std::string read(number(), '\0');
    return get(read.data(), read.size()) ? read : "";
  }
  bool good() const { return good_; }

 private:
  std::FILE* from_;
  bool good_ = true;
};

bool take(Told& told, Platform& platform) {
  for (std::uint32_t hosts = told.number(); told.good() && platform.hosts.size() < hosts;)
    platform.hosts.push_back(told.text());
  if (platform.hosts.size() <= Platform::most_hosts) {
    for (std::size_t pair = platform.hosts.size() * platform.hosts.size(); told.good() && pair > 0; --pair) {
      platform.route_of.push_back(platform.routes.size());
      for (std::uint32_t links = told.number(); told.good() && links > 0; --links)
        platform.routes.push_back(told.number());
    }
    platform.route_of.push_back(platform.routes.size());
    for (std::uint32_t links = told.number(); told.good() && platform.links.size() < links;) {
      NetworkLink link;
      link.name = told.text();
      link.bandwidth = BytesPerSecond{told.real()};
      link.latency = from_simgrid(std::clamp(told.real(), 0.0, most_latency));
      platform.links.push_back(std::move(link));
    }
  }
  return told.number() == whole && told.good();
}

// Extracts SimGrid's reason from the first line of its messages. For example, the reason in the line
//   [0.0] ./src/xbt/exception.cpp:95: [xbt_exception/ERROR] Parse error at f.xml:1: why
// is "Parse error at f.xml:1: why".
std::string first_line(std::FILE* messages) {
  std::rewind(messages);
  std::array<char, 1000> line{};
  if (std::fgets(line.data(), line.size(), messages) == nullptr) return "";
  std::string text = line.data();
  while (!text.empty() && (text.back() == '\n' || text.back() == '.')) text.pop_back();
  const std::size_t head = text.find("] ", text.find("/"));
  return text.starts_with("[") && head != std::string::npos ? text.substr(head + 2) : text;
}

}  // namespace

std::optional<Platform> read_platform(const std::string& file, std::string& problem) {
  int ends[2];
  const Stream messages(std::tmpfile(), &std::fclose);
  if (!messages || ::pipe2(ends, O_CLOEXEC) != 0) {
    problem = "Moire cannot create the pipe and the temporary file that the reading needs";
    return std::nullopt;
  }
  const pid_t child = ::fork();
  if (child == 0) run_child(file, ends[1], ::fileno(messages.get()));
  ::close(ends[1]);
  const Stream data(::fdopen(ends[0], "rb"), &std::fclose);
  Platform platform;
  Told told(data.get());
  const bool is_whole = child > 0 && take(told, platform);
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (is_whole && WIFEXITED(status) && WEXITSTATUS(status) == 0) return platform;
  if (child < 0)
    problem = "Moire cannot start the process that reads the file";
  else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    problem = fmt::format("SimGrid took more than {} s to read the file and find all routes", most_seconds);
  else
    problem = first_line(messages.get());
  if (problem.empty()) problem = "SimGrid ended without saying why";
  return std::nullopt;
}

}  // namespace moire::core::flow
