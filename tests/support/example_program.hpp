// Small programs for tests: kernels whose workgroups are lists of phases, and an observer that records all spans.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/hardware/replay/replay.hpp"
#include "tests/support/example_system.hpp"

namespace moire::replay {

using Steps = std::vector<program::Phase>;

class ListBody final : public program::KernelBody {
 public:
  using Answer = std::function<Steps(Rank, std::int64_t)>;
  ListBody(std::int64_t workgroups, Answer answer) : workgroups_(workgroups), answer_(std::move(answer)) {}
  std::int64_t workgroups(Rank) const override { return workgroups_; }
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, program::Phase& phase) const override {
    const Steps steps = answer_(rank, workgroup);
    if (step >= steps.size()) return false;
    phase = steps[step];
    return true;
  }

 private:
  std::int64_t workgroups_;
  Answer answer_;
};

// A kernel whose workgroups have several strands. Each strand is a list of phases.
class StrandBody final : public program::KernelBody {
 public:
  using Answer = std::function<Steps(Rank, std::int64_t, std::uint32_t)>;
  StrandBody(std::int64_t workgroups, std::uint32_t strands, Answer answer)
      : workgroups_(workgroups), strands_(strands), answer_(std::move(answer)) {}
  std::int64_t workgroups(Rank) const override { return workgroups_; }
  std::uint32_t strands(Rank) const override { return strands_; }
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, program::Phase& phase) const override {
    return strand_phase(rank, workgroup, 0, step, phase);
  }
  bool strand_phase(Rank rank, std::int64_t workgroup, std::uint32_t strand, std::uint32_t step,
                    program::Phase& phase) const override {
    const Steps steps = answer_(rank, workgroup, strand);
    if (step >= steps.size()) return false;
    phase = steps[step];
    return true;
  }

 private:
  std::int64_t workgroups_;
  std::uint32_t strands_;
  Answer answer_;
};

inline program::Phase delay(Time time) {
  program::Phase phase;
  phase.kind = program::Phase::Kind::delay;
  phase.duration = time;
  return phase;
}
inline program::Phase work(double amount, Rank peer = 0, std::uint16_t shape = 0) {
  program::Phase phase;
  phase.kind = program::Phase::Kind::work;
  phase.amount = amount;
  phase.peer = peer;
  phase.shape = shape;
  return phase;
}
inline program::Phase fence(Time time) {
  program::Phase phase;
  phase.kind = program::Phase::Kind::fence;
  phase.duration = time;
  return phase;
}
inline program::Phase wait(program::FlagRef flag, std::int64_t target = 1) {
  program::Phase phase;
  phase.kind = program::Phase::Kind::wait;
  phase.flag = flag;
  phase.target = target;
  return phase;
}
inline program::Phase signal(Rank peer, program::FlagRef flag) {
  program::Phase phase;
  phase.kind = program::Phase::Kind::signal;
  phase.peer = peer;
  phase.flag = flag;
  return phase;
}
inline program::Phase put(Rank peer, double bytes, program::FlagRef flag) {
  program::Phase phase;
  phase.kind = program::Phase::Kind::put;
  phase.peer = peer;
  phase.bytes = {bytes};
  phase.flag = flag;
  return phase;
}

// Returns a kernel. With 1,024 threads a workgroup fills a CU of the example machine. A phase of shape 0 then reads
// memory at 100 B/ns (40 kB in flight), and a phase of shape 1 stores to a peer at 50 B/ns (limited by the store
// window).
inline program::Kernel kernel(std::string name, std::int64_t workgroups, ListBody::Answer answer,
                              std::int64_t threads = 1024) {
  program::Kernel made;
  made.name = std::move(name);
  made.resources.threads = threads;
  made.shapes = {{.name = "read", .read = 1, .in_flight = {40e3}},
                 {.name = "store", .peer_write = 1, .in_flight = {40e3}}};
  made.body = std::make_shared<ListBody>(workgroups, std::move(answer));
  return made;
}

inline program::Copy copy(std::string name, double bytes, std::function<Rank(Rank)> peer,
                          program::FlagBlock flags = {}) {
  return {std::move(name), [=](Rank rank) {
            const Rank to = peer(rank);
            return program::Transfer{to, {bytes}, flags.first == program::no_flag ? program::no_flag : flags.at(to, 0)};
          }};
}

inline program::Queue queue(std::string name, std::vector<program::Operation> operations, int priority = 0) {
  return {std::move(name), priority, std::move(operations)};
}

inline Result run(const machine::SystemSpec& system, const program::Program& program,
                  program::Observer* observer = nullptr) {
  core::RunLoop loop;
  const auto machine = machine::build_or_throw(system, loop);
  return Replay(*machine, program, observer).run();
}

struct Watcher final : program::Observer {
  struct Workgroup {
    Rank rank;
    std::string kernel;
    std::int64_t workgroup;
    std::string phase;
    std::uint32_t cu;
    Time begin, end;
    std::uint32_t strand;
  };
  struct Put {
    Rank source, destination;
    std::uint32_t cu;
    double bytes;
    program::FlagRef flag;
    std::string path;
    Time begin, end;
  };
  struct Copy {
    Rank rank, peer;
    std::string name;
    Time begin, end;
  };
  struct Operation {
    Rank rank;
    std::string name;
    Time begin, end;
  };
  std::vector<Workgroup> workgroups;
  std::vector<Put> puts;
  std::vector<Copy> copies;
  std::vector<Operation> operations;
  std::size_t loads = 0;

  void operation(const program::OperationSpan& s) override {
    operations.push_back({s.rank, std::string(s.name), s.begin, s.end});
  }
  void workgroup(const program::WorkgroupSpan& s) override {
    workgroups.push_back(
        {s.rank, std::string(s.kernel), s.workgroup, std::string(s.phase), s.cu, s.begin, s.end, s.strand});
  }
  void put(const program::PutSpan& s) override {
    puts.push_back({s.source, s.destination, s.cu, s.bytes.value, s.flag, std::string(s.path), s.begin, s.end});
  }
  void copy(const program::CopySpan& s) override {
    copies.push_back({s.rank, s.peer, std::string(s.name), s.begin, s.end});
  }
  void load(std::string_view, Rank, Time, double, double) override { ++loads; }
};

}  // namespace moire::replay
