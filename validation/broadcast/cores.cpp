#include "cores.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "harness.hpp"

namespace {

std::vector<int> find_allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    std::perror("sched_getaffinity");
    std::exit(1);
  }
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

const std::vector<int> kAllowed = find_allowed();  // before any thread is bound

}  // namespace

double loop_us() {
  const double begin = now_seconds();
  // Independent additions, which a second thread on the same core slows down.
  uint64_t a = 1, b = 2, c = 3, d = 4;
  for (uint64_t i = 0; i < 16000; ++i) {
    a += b ^ i;
    b += c;
    c += d * 3;
    d ^= a;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
  }
  return (now_seconds() - begin) * 1e6;
}

void bind_to(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0) return;
  std::fprintf(stderr, "a thread cannot be bound to CPU %d\n", cpu);
  std::exit(1);
}

std::vector<int> fastest_cpus(int count) {
  if (int(kAllowed.size()) < count) {
    std::fprintf(stderr, "%zu CPUs may be used, and %d are needed; --any-core yes runs on fewer\n", kAllowed.size(),
                 count);
    std::exit(1);
  }
  std::vector<std::pair<double, int>> all;
  for (const int cpu : kAllowed) {
    bind_to(cpu);
    loop_us();
    all.emplace_back(std::min(loop_us(), loop_us()), cpu);
  }
  std::partial_sort(all.begin(), all.begin() + count, all.end());
  std::vector<int> fastest;
  for (int i = 0; i < count; ++i) fastest.push_back(all[size_t(i)].second);
  return fastest;
}
