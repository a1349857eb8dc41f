#include "app/report/plot.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "sim/core/failure.hpp"

namespace moire::report {

namespace {

// gnuplot reads and writes files instead of pipes, so that neither process has to wait for the other to read.
class TemporaryFile {
 public:
  TemporaryFile() : file_(std::tmpfile()) {
    if (!file_) throw core::RunFailure(fmt::format("cannot create a temporary file: {}", std::strerror(errno)));
  }
  void write(const std::string& text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size();
    if (!written || std::fflush(file_.get()) != 0 || lseek(descriptor(), 0, SEEK_SET) != 0)
      throw core::RunFailure(fmt::format("cannot write a temporary file: {}", std::strerror(errno)));
  }
  std::string read() {
    std::string text;
    std::array<char, 65536> block{};
    std::rewind(file_.get());
    for (std::size_t n = 0; (n = std::fread(block.data(), 1, block.size(), file_.get())) > 0;)
      text.append(block.data(), n);
    return text;
  }
  int descriptor() const { return fileno(file_.get()); }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

// Runs gnuplot on a script and returns its standard output.
std::string run_gnuplot(const std::string& script) {
  TemporaryFile in, out, errors;
  in.write(script);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, errors.descriptor(), STDERR_FILENO);
  // -d skips the user's start-up file; the locale keeps commas out of numbers.
  std::array<std::string, 2> words = {"gnuplot", "-d"};
  const std::array<char*, 3> arguments = {words[0].data(), words[1].data(), nullptr};
  std::string locale = "LC_ALL=C.UTF-8";
  const char* path = std::getenv("PATH");
  std::string path_setting = fmt::format("PATH={}", path ? path : "/usr/bin:/bin");
  const std::array<char*, 3> environment = {locale.data(), path_setting.data(), nullptr};
  pid_t child = 0;
  const int problem = posix_spawnp(&child, "gnuplot", &files, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  if (problem == ENOENT) throw core::RunFailure("figures need gnuplot; install it: apt-get install gnuplot-nox");
  if (problem != 0) throw core::RunFailure(fmt::format("cannot start gnuplot: {}", std::strerror(problem)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw core::RunFailure("gnuplot failed: " + errors.read());
  return out.read();
}

// Replaces bytes that are not UTF-8 by '?', since they would break the page.
std::string valid_utf8(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xc2 && lead < 0xe0 ? 2
                               : lead >= 0xe0 && lead < 0xf0 ? 3
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                                                             : 0;
    bool good = length > 0 && i + length <= text.size();
    for (std::size_t k = 1; good && k < length; ++k) good = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    out += good ? text.substr(i, length) : "?";
    i += good ? length : 1;
  }
  return out;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// Removes every text from `begin` to the next `end`, including both.
void remove_all(std::string& text, const std::string& begin, const std::string& end) {
  for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos;) {
    const std::size_t last = text.find(end, at + begin.size());
    if (last == std::string::npos) return;
    text.erase(at, last + end.size() - at);
  }
}

// Makes the SVG fit for a page with several figures: removes the XML declaration and the tool tips, and puts `id`
// before names, so that the names of different figures differ.
std::string as_element(std::string text, const std::string& id) {
  const std::size_t begin = text.find("<svg");
  if (begin == std::string::npos) throw core::RunFailure("gnuplot drew nothing");
  text.erase(0, begin);
  replace_all(text, "id='gp", "id='" + id + "_gp");
  replace_all(text, "href='#gp", "href='#" + id + "_gp");
  for (const char* part : {"textbox", "greybox"})
    replace_all(text, fmt::format("id='{}'", part), fmt::format("id='{}_{}'", id, part));
  replace_all(text, "id=\"gnuplot_canvas\"", "id=\"" + id + "\"");
  remove_all(text, "<title>" + id, "</title>");
  // gnuplot draws a curve and its entry in the legend as two parts with the same id. A page must not contain an id
  // twice, so these ids are removed.
  remove_all(text, " id=\"" + id + "_plot_", "\"");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text + "\n";
}

}  // namespace

std::string svg(const Figure& figure, const std::string& id) {
  return as_element(valid_utf8(run_gnuplot(gnuplot_script(figure, id))), id);
}

}  // namespace moire::report
