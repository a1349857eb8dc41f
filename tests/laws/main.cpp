// Generates cases of every law, operator, system and size in turn, and checks them one after the other.
//
//   laws [CASES] [SEED] [--law NAME] [--operator NAME] [--system NAME] [--only NUMBER] [--ci OPEN_FILE] [--ranks MOST]
//        [--times] [--beyond PERCENT]
//
// The same arguments give the same cases on every machine. The exit status is 1 if a case is broken. With --ci, the
// file OPEN_FILE (open.txt) lists cases that are known to be broken. These do not count, but a listed case that is not
// broken any more makes the exit status 1, too.
#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>

#include "models/workload/operators/registry.hpp"
#include "tests/laws/laws.hpp"

namespace moire::laws {
namespace {

using Clock = std::chrono::steady_clock;

struct Stratum {
  const Law* law;
  std::string op, system;
  Size size;
};

struct Arguments {
  std::uint64_t cases = 1000, seed = 1;
  std::string law, op, system, open;
  std::optional<std::uint64_t> only;
  Cost cost;
  bool times = false;
  double beyond = 0;  // cases that are reordered by more than this share of their time are printed; 0: none
};

// A line of open.txt, which lists known failures: law; operator; system; words of the report, separated by blanks;
// reason.
struct Open {
  std::string line;
  std::array<std::string, 4> fields;
  std::string reason;
  std::size_t met = 0;
};

std::vector<Stratum> strata(const Arguments& arguments) {
  std::vector<Stratum> all;
  for (const Law& law : all_laws()) {
    if (!arguments.law.empty() && arguments.law != law.name) continue;
    for (const builder::Operator& op : operators::all()) {
      if (!law.applies(op.name) || (!arguments.op.empty() && arguments.op != op.name)) continue;
      for (const std::string& system : system_names()) {
        if (!arguments.system.empty() && arguments.system != system) continue;
        for (int size = 0; size < 5 * law.share; ++size)
          all.push_back({&law, op.name, system, static_cast<Size>(size % 5)});
      }
    }
  }
  return all;
}

// Returns a step that is coprime to `n`, so that its multiples visit all residues.
std::uint64_t stride(std::uint64_t n) {
  std::uint64_t step = 7919;
  while (n % step == 0) step += 2;
  const auto gcd = [](std::uint64_t a, std::uint64_t b) {
    while (b != 0) std::swap(a %= b, b);
    return a;
  };
  while (gcd(step, n) != 1) step += 2;
  return step;
}

// The report of the current case, which is printed if the process crashes or hangs.
std::string current;
void died(int signal) {
  const char* what = signal == SIGVTALRM ? "\nhangs (60 s of processor time):\n" : "\ncrashed:\n";
  (void)!write(2, what, std::strlen(what));
  (void)!write(2, current.data(), current.size());
  _exit(1);
}

// Limits processor time, because wall-clock time depends on the load of the machine.
void limit_processor_time(time_t seconds) {
  const itimerval limit{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_VIRTUAL, &limit, nullptr);
}

// Set by SIGINT and SIGTERM: no further case is checked, and the tables cover the cases that were checked.
volatile std::sig_atomic_t stopped = 0;
void stop(int) { stopped = 1; }

std::string report(const Case& one, const Verdict& verdict) {
  std::string text = fmt::format("{} of {} on {} ({}), case {} of seed {}: {}\n", one.law, one.op, one.system,
                                 verdict.detail.empty() ? "-" : verdict.detail, one.number, one.seed, verdict.why);
  const std::string* last = nullptr;
  for (const Scenario& run : verdict.runs) {
    if (last == nullptr || *last != run.program) text += run.yaml();
    last = &run.program;
    text += "# moire run configs/scenarios/law.yaml" + run.command() + "\n";
  }
  return text;
}

Verdict checked(const Law& law, const Case& one, const Cost& cost) {
  current = report(one, {Found::kept, "", "", {one.scenario()}});
  limit_processor_time(60);
  const Verdict verdict = law.check(one, Random(one.seed + 1, one.number), cost);
  limit_processor_time(0);
  return verdict;
}

// Replaces a broken case by a smaller one that fails in the same way.
void shrink(const Law& law, Case& one, Verdict& verdict, const Cost& cost) {
  const auto smaller = [&](auto change) {
    Case less = one;
    change(less);
    if (less.nodes == one.nodes && less.gpus == one.gpus && less.work.size == one.work.size) return false;
    Verdict found = checked(law, less, cost);
    if (found.found != Found::broken || found.detail != verdict.detail) return false;
    one = less;
    verdict = std::move(found);
    return true;
  };
  for (int round = 0; round < 12; ++round) {
    bool any = smaller([](Case& less) { less.nodes = std::max<std::int64_t>(1, less.nodes / 2); });
    any = smaller([](Case& less) { less.gpus = std::max<std::int64_t>(1, less.gpus / 2); }) || any;
    if (one.op != "mscclpp")
      any = smaller([](Case& less) { less.work.size = std::max(1., std::floor(less.work.size / 4)); }) || any;
    if (!any) return;
  }
}

std::vector<Open> read_open(const std::string& file) {
  std::vector<Open> all;
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    Open& one = all.emplace_back();
    one.line = line;
    std::size_t at = 0;
    for (std::string& field : one.fields) {
      const std::size_t end = line.find(';', at);
      if (end == std::string::npos)
        throw std::runtime_error(file + ": a line must have the form 'law; operator; system; words; reason': " + line);
      field = line.substr(at, end - at);
      field.erase(0, field.find_first_not_of(' '));
      at = end + 1;
    }
    one.reason = line.substr(at);
  }
  return all;
}

bool stands_for(const Open& open, const Case& one, const std::string& text) {
  const auto fits = [](const std::string& field, const std::string& value) { return field == "*" || field == value; };
  if (!fits(open.fields[0], one.law) || !fits(open.fields[1], one.op) || !fits(open.fields[2], one.system))
    return false;
  for (std::size_t at = 0; at < open.fields[3].size();) {
    const std::size_t end = std::min(open.fields[3].find(' ', at), open.fields[3].size());
    if (text.find(open.fields[3].substr(at, end - at)) == std::string::npos) return false;
    at = end + 1;
  }
  return true;
}

struct Count {
  std::array<std::size_t, kinds_found> found{};
  double beyond = 0;  // the largest Verdict::beyond of the reordered cases
  void add(const Verdict& verdict) {
    ++found[static_cast<std::size_t>(verdict.found)];
    if (verdict.found == Found::reordered) beyond = std::max(beyond, verdict.beyond);
  }
};
using Counts = std::map<std::string, Count>;

void print(const char* title, const Counts& counts) {
  std::cout << fmt::format("\n{:<24}{:>8}", title, "cases");
  for (const char* name : found_names) std::cout << fmt::format("{:>16}", name);
  std::cout << fmt::format("{:>16}\n", "reordered by");
  for (const auto& [name, count] : counts) {
    std::size_t all = 0;
    for (const std::size_t each : count.found) all += each;
    std::cout << fmt::format("{:<24}{:>8}", name, all);
    for (const std::size_t each : count.found) std::cout << fmt::format("{:>16}", each);
    std::cout << fmt::format("{:>14.2g} %\n", 100 * count.beyond);
  }
}

int run(const Arguments& arguments) {
  for (const std::string& wrong : undeclared()) std::cout << wrong << "\n";
  if (!undeclared().empty()) return 1;
  std::vector<Open> open = arguments.open.empty() ? std::vector<Open>{} : read_open(arguments.open);
  const std::vector<Stratum> all = strata(arguments);
  if (all.empty()) throw std::runtime_error("no law has cases for these options");
  Counts by_law, by_op, by_system, by_size;
  std::map<std::string, double> seconds;
  std::size_t broken = 0;
  const auto begin = Clock::now();
  const std::uint64_t first = arguments.only.value_or(0);
  std::uint64_t number = first;
  for (; number < arguments.only.value_or(arguments.cases - 1) + 1 && stopped == 0; ++number) {
    const Stratum& stratum = all[(number * stride(all.size()) + arguments.seed) % all.size()];
    Case one{.law = stratum.law->name,
             .op = stratum.op,
             .system = stratum.system,
             .size = stratum.size,
             .number = number,
             .seed = arguments.seed,
             .work = {}};
    const auto case_begin = Clock::now();
    Verdict verdict;
    // If a strict case cannot be judged, because it is refused, cut or not comparable, draws up to five other cases.
    Random random(arguments.seed, number);
    for (int attempt = 0; attempt < 6; ++attempt) {
      const std::int64_t most_ranks = stratum.law->draw == Draw::loose ? 512
                                      : random.one_in(8)               ? arguments.cost.most_ranks
                                                                       : std::min(few_ranks, arguments.cost.most_ranks);
      draw(one, random, stratum.law->draw, most_ranks);
      verdict = checked(*stratum.law, one, arguments.cost);
      const bool judged =
          verdict.found == Found::kept || verdict.found == Found::reordered || verdict.found == Found::broken;
      if (judged || stratum.law->draw == Draw::loose) break;
    }
    if (arguments.only)
      std::cout << report(one, verdict) << found_names[static_cast<std::size_t>(verdict.found)] << "\n";
    if (verdict.found == Found::broken) {
      shrink(*stratum.law, one, verdict, arguments.cost);
      const std::string text = report(one, verdict);
      const auto known =
          std::find_if(open.begin(), open.end(), [&](const Open& each) { return stands_for(each, one, text); });
      if (known != open.end()) {
        if (++known->met == 1) std::cout << "open:" << known->reason << "\n" << text;
      } else {
        ++broken;
        std::cout << text << std::flush;
      }
    }
    for (Count* count :
         {&by_law[one.law], &by_op[one.op], &by_system[one.system], &by_size[size_names[static_cast<int>(one.size)]]})
      count->add(verdict);
    if (arguments.beyond > 0 && verdict.found == Found::reordered && verdict.beyond > arguments.beyond)
      std::cout << fmt::format("case {}: {} of {} on {}, {} x {}: {}\n", number, one.law, one.op, one.system, one.nodes,
                               one.gpus, verdict.why);
    const double taken = std::chrono::duration<double>(Clock::now() - case_begin).count();
    seconds[one.law] += taken;
    if (arguments.times && taken > 2) std::cout << fmt::format("case {} takes {:.1f} s\n", number, taken) << std::flush;
  }
  std::cout << fmt::format("\n{} cases of seed {}, {} strata (law x operator x system x size), each {} to {} times\n",
                           number - first, arguments.seed, all.size(), (number - first) / all.size(),
                           (number - first + all.size() - 1) / all.size());
  print("law", by_law);
  print("operator", by_op);
  print("system", by_system);
  print("size", by_size);
  if (arguments.times) {
    for (const auto& [law, time] : seconds) std::cout << fmt::format("{:<24}{:>8.1f} s\n", law, time);
    std::cout << fmt::format("{:.0f} s in all\n", std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::cout << fmt::format("\n{} broken and not listed\n", broken);
  for (const Open& one : open) {
    if (one.met > 0) continue;
    std::cout << "open.txt lists a failure that no case has any more; remove the line: " << one.line << "\n";
    ++broken;
  }
  return broken == 0 ? 0 : 1;
}

Arguments read(int count, char** words) {
  Arguments arguments;
  int numbers = 0;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto next = [&]() -> std::string {
      if (i + 1 >= count) throw std::runtime_error(word + " needs a value");
      return words[++i];
    };
    if (word == "--law")
      arguments.law = next();
    else if (word == "--operator")
      arguments.op = next();
    else if (word == "--system")
      arguments.system = next();
    else if (word == "--only")
      arguments.only = std::stoull(next());
    else if (word == "--ci")
      arguments.open = next();
    else if (word == "--ranks")
      arguments.cost.most_ranks = std::stoll(next());
    else if (word == "--beyond")
      arguments.beyond = std::stod(next()) / 100;
    else if (word == "--times")
      arguments.times = true;
    else if (word[0] == '-')
      throw std::runtime_error("unknown option " + word);
    else
      (numbers++ == 0 ? arguments.cases : arguments.seed) = std::stoull(word);
  }
  if (arguments.cases == 0) throw std::runtime_error("the number of cases is 0; it must be at least 1");
  return arguments;
}

}  // namespace
}  // namespace moire::laws

int main(int count, char** words) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGVTALRM}) std::signal(signal, moire::laws::died);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, moire::laws::stop);
  try {
    return moire::laws::run(moire::laws::read(count, words));
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << "\n";
    return 2;
  }
}
