// Tests with random systems: shares must be feasible, max-min fair, and equal to those of a second, simple solver
// (reference() below).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "sim/core/sharing.hpp"

namespace moire::core {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

struct Random {
  explicit Random(std::uint64_t seed) : engine(seed) {}
  // The std distributions are not used, because they differ between standard libraries.
  double unit() { return static_cast<double>(engine() >> 11) * 0x1p-53; }
  double log_uniform(double low, double high) { return low * std::pow(high / low, unit()); }
  std::uint64_t below(std::uint64_t n) { return engine() % n; }
  std::mt19937_64 engine;
};

struct System {
  std::vector<CapacitySpec> capacities;
  std::vector<ClassSpec> classes;
  std::vector<std::uint32_t> members;
};

System draw(Random& random, bool loaded_latency) {
  System s;
  const std::uint64_t capacities = 1 + random.below(8);
  const std::uint64_t classes = 1 + random.below(12);
  for (std::uint64_t k = 0; k < capacities; ++k) {
    s.capacities.push_back({.name = "c", .rate = random.log_uniform(1e9, 1e13)});
    if (!loaded_latency) continue;
    s.capacities.back().latency_growth = random.log_uniform(0.05, 4);
    s.capacities.back().latency_exponent = random.log_uniform(0.5, 8);
  }
  for (std::uint64_t i = 0; i < classes; ++i) {
    ClassSpec spec;
    for (CapacityId k = 0; k < capacities; ++k) {
      if (random.below(3) == 0) spec.demands.push_back({k, random.below(2) == 0 ? 1.0 : random.log_uniform(0.1, 8)});
    }
    if (spec.demands.empty()) spec.demands.push_back({static_cast<CapacityId>(random.below(capacities)), 1});
    spec.weight = random.below(3) == 0 ? 8192 : random.log_uniform(64, 1e6);
    if (random.below(2) == 0) spec.bound = random.below(2) == 0 ? 48.7e9 : random.log_uniform(1e8, 1e12);
    if (random.below(2) == 0) {
      spec.window = spec.weight;
      spec.latency = random.log_uniform(1e-9, 2e-6);
      if (random.below(2) == 0) spec.delay = random.log_uniform(1e-8, 2e-6);
      // The latency grows with the load of a demanded capacity (6 of 8 classes), of any capacity (1 of 8), or of none.
      const std::uint64_t kind = random.below(8);
      if (kind >= 2) spec.latency_capacity = spec.demands[random.below(spec.demands.size())].capacity;
      if (kind == 1) spec.latency_capacity = static_cast<CapacityId>(random.below(capacities));
    }
    s.classes.push_back(spec);
    s.members.push_back(static_cast<std::uint32_t>(random.below(5) == 0 ? 0 : 1 + random.below(300)));
  }
  return s;
}

struct Deaf : EventSink {
  void fire(std::uint64_t) override {}
};

// A system with its members started and its rates settled.
struct Running : EventSink {
  explicit Running(const System& system, std::uint64_t shuffle = 0) {
    for (const CapacitySpec& spec : system.capacities) sharing.add_capacity(spec);
    std::vector<std::pair<ClassId, std::uint64_t>> wanted;
    for (const ClassSpec& spec : system.classes) {
      const ClassId id = sharing.add_class(spec);
      for (std::uint32_t m = 0; m < system.members[id]; ++m) wanted.emplace_back(id, wanted.size());
    }
    ends.resize(wanted.size());
    if (shuffle != 0) {
      Random random(shuffle);
      for (std::size_t i = wanted.size(); i > 1; --i) std::swap(wanted[i - 1], wanted[random.below(i)]);
    }
    for (const auto& [id, payload] : wanted)
      sharing.start(id, 1e5 + 37.0 * static_cast<double>(payload), *this, payload);
    loop.settle();
  }
  void fire(std::uint64_t payload) override { ends[payload] = loop.now(); }
  RunLoop loop;
  Sharing sharing{loop};
  std::vector<Time> ends;
};

// Returns the limit of the rate of one member of class `i`, with the latency at the present load.
double limit(const System& s, std::size_t i, const Sharing& sharing) {
  const ClassSpec& spec = s.classes[i];
  if (spec.window <= 0) return spec.bound;
  double stretch = 1;
  if (spec.latency_capacity != no_id) {
    const CapacitySpec& k = s.capacities[spec.latency_capacity];
    stretch +=
        k.latency_growth * std::pow(std::min(1.0, sharing.load(spec.latency_capacity) / k.rate), k.latency_exponent);
  }
  return std::min(spec.bound, spec.window / (spec.latency * stretch + spec.delay));
}

// rate_at() returns the rate of one member at a filling level, and level_of() is the inverse function. weight x level
// is the rate that the member would have without its delay.
double rate_at(const ClassSpec& spec, double level) {
  if (spec.delay == 0) return spec.weight * level;
  return 1 / (1 / (spec.weight * level) + spec.delay / spec.window);
}
double level_of(const ClassSpec& spec, double rate) {
  if (spec.delay == 0) return rate / spec.weight;
  return 1 / (spec.weight * (1 / rate - spec.delay / spec.window));
}

std::vector<double> loads(const System& s, const std::vector<double>& rates) {
  std::vector<double> used(s.capacities.size(), 0);
  for (std::size_t i = 0; i < s.classes.size(); ++i) {
    for (const Demand& d : s.classes[i].demands) used[d.capacity] += d.per_work * s.members[i] * rates[i];
  }
  return used;
}

// Progressive filling as in textbooks: raise the common level until a class stops, sum up all demands again, continue.
std::vector<double> reference(const System& s, const std::vector<double>& limits) {
  const std::size_t n = s.classes.size();
  std::vector<double> rates(n, 0);
  std::vector<bool> fixed(n);
  for (std::size_t i = 0; i < n; ++i) fixed[i] = s.members[i] == 0;
  while (true) {
    double level = inf;
    std::size_t full = s.capacities.size();
    std::size_t stopped = n;
    for (std::size_t k = 0; k < s.capacities.size(); ++k) {
      const auto taken = [&](double at) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
          for (const Demand& d : s.classes[i].demands) {
            if (d.capacity == k) sum += d.per_work * s.members[i] * (fixed[i] ? rates[i] : rate_at(s.classes[i], at));
          }
        }
        return sum;
      };
      // Finds the level by bisection, at first with geometric means, and with arithmetic means when the interval is
      // narrow.
      double low = 1e-30;
      double high = 1e30;
      if (taken(high) <= s.capacities[k].rate * (1 + 1e-12)) continue;
      for (int step = 0; step < 200; ++step) {
        const double middle = high > 2 * low ? std::sqrt(low * high) : (low + high) / 2;
        (taken(middle) < s.capacities[k].rate ? low : high) = middle;
      }
      if (low < level) {
        level = low;
        full = k;
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (!fixed[i] && level_of(s.classes[i], limits[i]) <= level) {
        level = level_of(s.classes[i], limits[i]);
        stopped = i;
      }
    }
    if (stopped < n) {
      rates[stopped] = limits[stopped];
      fixed[stopped] = true;
      continue;
    }
    if (full == s.capacities.size()) return rates;
    for (std::size_t i = 0; i < n; ++i) {
      for (const Demand& d : s.classes[i].demands) {
        if (fixed[i] || d.capacity != full) continue;
        rates[i] = rate_at(s.classes[i], level);
        fixed[i] = true;
      }
    }
  }
}

void expect_fair(const System& s, const Sharing& sharing, const std::vector<double>& limits) {
  std::vector<double> rates;
  for (ClassId i = 0; i < s.classes.size(); ++i) rates.push_back(sharing.rate_of(i));
  const std::vector<double> used = loads(s, rates);
  for (std::size_t k = 0; k < used.size(); ++k) {
    EXPECT_LE(used[k], s.capacities[k].rate * (1 + 1e-9));
    EXPECT_NEAR(sharing.load(static_cast<CapacityId>(k)), used[k], 1e-9 * s.capacities[k].rate);
  }
  const auto level = [&](std::size_t i) { return level_of(s.classes[i], rates[i]); };
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (s.members[i] == 0) {
      EXPECT_EQ(rates[i], 0);
      continue;
    }
    EXPECT_GT(rates[i], 0);
    EXPECT_LE(rates[i], limits[i] * (1 + 1e-7));
    if (rates[i] >= limits[i] * (1 - 1e-7)) continue;
    bool justified = false;  // true if a full capacity exists on which no class has a higher level
    for (const Demand& d : s.classes[i].demands) {
      if (used[d.capacity] < s.capacities[d.capacity].rate * (1 - 1e-9)) continue;
      bool highest = true;
      for (std::size_t j = 0; j < rates.size(); ++j) {
        const bool shares = std::any_of(s.classes[j].demands.begin(), s.classes[j].demands.end(),
                                        [&](const Demand& other) { return other.capacity == d.capacity; });
        if (s.members[j] > 0 && shares && level(j) > level(i) * (1 + 1e-7)) highest = false;
      }
      justified = justified || highest;
    }
    EXPECT_TRUE(justified) << "class " << i << " could have more";
  }
}

TEST(SharingProperty, SharesAreFairAndThoseOfTheReference) {
  Random random(20260101);
  double worst = 0;
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(round);
    const System s = draw(random, false);
    const Running running(s);
    std::vector<double> limits;
    for (std::size_t i = 0; i < s.classes.size(); ++i) limits.push_back(limit(s, i, running.sharing));
    expect_fair(s, running.sharing, limits);
    const std::vector<double> expected = reference(s, limits);
    for (ClassId i = 0; i < s.classes.size(); ++i) {
      if (s.members[i] > 0) worst = std::max(worst, std::abs(running.sharing.rate_of(i) / expected[i] - 1));
    }
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_LT(worst, 1e-9);
  ::testing::Test::RecordProperty("worst_relative_difference", std::to_string(worst));
}

TEST(SharingProperty, LoadedLatencyReachesItsFixedPoint) {
  Random random(7);
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(round);
    const System s = draw(random, true);
    const Running running(s);
    std::vector<double> limits;
    for (std::size_t i = 0; i < s.classes.size(); ++i) limits.push_back(limit(s, i, running.sharing));
    expect_fair(s, running.sharing, limits);
    if (::testing::Test::HasFailure()) break;
  }
}

TEST(SharingProperty, AllWorkIsDoneAndNoMoreInWhateverOrderItCame) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const System s = draw(random, round % 2 == 0);
    Running one(s);
    Running other(s, 1 + static_cast<std::uint64_t>(round));
    for (ClassId i = 0; i < s.classes.size(); ++i) EXPECT_EQ(one.sharing.rate_of(i), other.sharing.rate_of(i));
    for (Running* running : {&one, &other}) {
      while (!running->loop.idle()) {
        running->loop.run_instant();
        if (running->loop.instants() % 64 == 0) running->sharing.check_conservation();
      }
      running->sharing.check_conservation();
    }
    EXPECT_EQ(one.ends, other.ends);
    double given = 0;
    std::uint64_t payload = 0;
    for (std::size_t i = 0; i < s.classes.size(); ++i) {
      for (std::uint32_t m = 0; m < s.members[i]; ++m, ++payload) {
        for (const Demand& d : s.classes[i].demands) given += d.per_work * (1e5 + 37.0 * static_cast<double>(payload));
      }
    }
    double served = 0;
    for (CapacityId k = 0; k < s.capacities.size(); ++k) served += one.sharing.served(k);
    EXPECT_NEAR(served, given, 1e-9 * given);
  }
}

TEST(SharingProperty, MoreCapacityNeverLowersTheLowestLevel) {
  Random random(13);
  const auto lowest = [](const System& s) {
    const Running running(s);
    double level = inf;
    for (ClassId i = 0; i < s.classes.size(); ++i) {
      if (s.members[i] > 0) level = std::min(level, level_of(s.classes[i], running.sharing.rate_of(i)));
    }
    return level;
  };
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(round);
    System s = draw(random, false);
    const double before = lowest(s);
    s.capacities[random.below(s.capacities.size())].rate *= random.log_uniform(1, 10);
    EXPECT_GE(lowest(s), before * (1 - 1e-12));
  }
}

// Returns a class with other numbers and the same demands.
ClassSpec changed(Random& random, ClassSpec spec) {
  spec.weight *= random.log_uniform(0.5, 2);
  spec.bound *= random.log_uniform(0.5, 2);
  spec.window *= random.log_uniform(0.5, 2);
  spec.delay *= random.log_uniform(0.5, 2);
  return spec;
}

// Rates after arrivals, departures, moves and changes of classes equal those of a system that was built in the final
// state.
TEST(SharingProperty, HistoryLeavesNoTrace) {
  Random random(17);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const bool loaded = round % 2 == 0;
    System s = draw(random, loaded);
    RunLoop loop;
    Sharing sharing(loop);
    Deaf deaf;
    for (const CapacitySpec& spec : s.capacities) sharing.add_capacity(spec);
    std::vector<std::pair<ActivityId, std::size_t>> activities;
    for (std::size_t i = 0; i < s.classes.size(); ++i) {
      const ClassId id = sharing.add_class(s.classes[i]);
      for (std::uint32_t m = 0; m < s.members[i]; ++m) activities.emplace_back(sharing.start(id, 1e9, deaf, 0), i);
    }
    loop.settle();
    for (int change = 0; change < 20 && !activities.empty(); ++change) {
      for (std::uint64_t moved = 1 + random.below(20); moved > 0; --moved) {
        auto& [activity, in] = activities[random.below(activities.size())];
        const std::size_t into = random.below(s.classes.size());
        --s.members[in];
        ++s.members[into];
        sharing.move(activity, static_cast<ClassId>(into));
        in = into;
      }
      if (const std::size_t one = random.below(2 * s.classes.size()); one < s.classes.size()) {
        s.classes[one] = changed(random, s.classes[one]);
        sharing.change_class(static_cast<ClassId>(one), s.classes[one]);
      }
      loop.settle();
      const Running fresh(s);
      for (ClassId i = 0; i < s.classes.size(); ++i) {
        const double expected = fresh.sharing.rate_of(i);
        EXPECT_NEAR(sharing.rate_of(i), expected, (loaded ? 1e-7 : 1e-12) * expected);
      }
    }
    if (::testing::Test::HasFailure()) break;
  }
}

// Returns the same class in a copy of its system, whose capacities begin at `first`.
ClassSpec in_copy(ClassSpec spec, std::size_t first) {
  for (Demand& demand : spec.demands) demand.capacity += static_cast<CapacityId>(first);
  if (spec.latency_capacity != no_id) spec.latency_capacity += static_cast<CapacityId>(first);
  return spec;
}

// A system exists three times. Members move and classes change at random; in most cases the same happens in all three
// copies at the same time.
// The memo of earlier
// solves must not change a bit of any rate or load. In every fiftieth system the copies differ, so that few look-ups
// succeed; these rounds are so long that the memo switches itself off and on again.
TEST(SharingProperty, WhatIsRememberedIsWhatIsSolved) {
  constexpr std::size_t copies = 3;
  Random random(19);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const bool differ = round % 50 == 0;
    const System s = draw(random, round % 2 == 0);
    const auto classes = static_cast<ClassId>(s.classes.size());
    const auto capacities = static_cast<CapacityId>(s.capacities.size());
    Deaf deaf;
    RunLoop loop;
    Sharing remembering(loop);
    Sharing forgetful(loop, 0, false);
    std::vector<std::vector<std::pair<ActivityId, ClassId>>> activities(copies);
    for (std::size_t copy = 0; copy < copies; ++copy) {
      for (Sharing* sharing : {&remembering, &forgetful}) {
        for (const CapacitySpec& spec : s.capacities) sharing->add_capacity(spec);
        for (const ClassSpec& spec : s.classes) sharing->add_class(in_copy(spec, copy * capacities));
      }
      for (ClassId i = 0; i < classes; ++i) {
        for (std::uint32_t m = 0; m < s.members[i] % (differ ? 40 : 5); ++m) {
          const ActivityId id = remembering.start(i + static_cast<ClassId>(copy) * classes, 1e9, deaf, 0);
          ASSERT_EQ(forgetful.start(i + static_cast<ClassId>(copy) * classes, 1e9, deaf, 0), id);
          activities[copy].emplace_back(id, i);
        }
      }
    }
    for (int change = 0; change < (differ ? 40000 : 40); ++change) {
      loop.settle();
      for (ClassId i = 0; i < remembering.classes(); ++i) EXPECT_EQ(remembering.rate_of(i), forgetful.rate_of(i));
      for (CapacityId k = 0; k < remembering.capacities(); ++k) EXPECT_EQ(remembering.load(k), forgetful.load(k));
      if (activities[0].empty() || ::testing::Test::HasFailure()) break;
      const bool alike = !differ && random.below(4) > 0;
      const std::uint64_t which = random.below(activities[0].size());
      const auto into = static_cast<ClassId>(random.below(classes));
      for (std::size_t copy = 0; copy < (alike ? copies : 1); ++copy) {
        auto& [id, in] = activities[copy][which];
        for (Sharing* sharing : {&remembering, &forgetful})
          sharing->move(id, into + static_cast<ClassId>(copy) * classes);
        in = into;
      }
      if (random.below(8) > 0) continue;
      const auto one = static_cast<ClassId>(random.below(classes));
      const ClassSpec spec = changed(random, s.classes[one]);
      for (std::size_t copy = 0; copy < (alike ? copies : 1); ++copy) {
        for (Sharing* sharing : {&remembering, &forgetful})
          sharing->change_class(one + static_cast<ClassId>(copy) * classes, in_copy(spec, copy * capacities));
      }
    }
    EXPECT_EQ(remembering.solves(), forgetful.solves());
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace moire::core
