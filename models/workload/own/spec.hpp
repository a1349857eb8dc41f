// A custom kernel as written in a scenario: its grid, the resources of a workgroup, and the steps of each workgroup.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/workload/formula/formula.hpp"
#include "sim/program/program.hpp"

namespace moire::own {

using formula::FormulaText;

enum class Unit { vector, matrix };
enum class Element { fp32, fp16, bf16 };

struct LoadSpec {
  std::string name = "load";
  FormulaText bytes;
  std::optional<FormulaText> from;  // rank of the same node; absent: local memory
  double cache_miss = 1;
  std::optional<Bytes> row;  // bytes of one random access
  std::optional<Bytes> in_flight;
  bool pipelined = false;
  static void describe(config::Describer<LoadSpec>& d);
};

struct StoreSpec {
  std::string name = "store";
  FormulaText bytes;
  std::optional<FormulaText> to;
  double cache_miss = 1;
  std::optional<Bytes> in_flight;
  bool posted = true;
  static void describe(config::Describer<StoreSpec>& d);
};

struct MathSpec {
  std::string name = "math";
  FormulaText flop;
  Unit unit = Unit::vector;
  Element dtype = Element::fp32;
  static void describe(config::Describer<MathSpec>& d);
};

struct ReduceSpec {
  std::string name = "reduce";
  FormulaText bytes;    // size of the sum
  FormulaText sources;  // number of buffers in local memory that are added
  Element dtype = Element::fp32;
  double cache_miss = 1;
  std::optional<Bytes> in_flight;
  static void describe(config::Describer<ReduceSpec>& d);
};

// Overlapping loads, stores and arithmetic. The demands are stated per unit of work and are the same for all
// workgroups. `amount` (the number of units) and the peer may differ between workgroups.
struct WorkSpec {
  std::string name = "work";
  std::optional<FormulaText> amount;  // number of units; absent: 1
  std::optional<FormulaText> read, write, flop, instructions;
  std::optional<FormulaText> peer, peer_read, peer_write;
  Unit unit = Unit::vector;
  Element dtype = Element::fp32;
  double read_miss = 1;
  double write_miss = 1;
  std::optional<Bytes> row = std::nullopt;
  std::optional<double> mixed_stores;
  double dependent_loads = 0;
  Bytes dependent_read{0};
  Time pause;
  Time held;
  bool random_rows = false;
  program::Walk walk = program::Walk::apart;
  bool pipelined = true;
  bool posted = false;
  std::optional<Bytes> in_flight;
  static void describe(config::Describer<WorkSpec>& d);
};

// Lets only the last of several workgroups send: each of them increments a counter, and only the workgroup that raises
// the counter to `of` continues and sends.
struct LastSpec {
  std::string counter;  // name of the kernel's flags; the counter is a flag of the sending rank
  std::optional<FormulaText> index;
  FormulaText of;
  static void describe(config::Describer<LastSpec>& d);
};

struct PutSpec {
  FormulaText to;
  FormulaText bytes;
  std::string flag;
  std::optional<FormulaText> index;
  std::optional<FormulaText> queue_pair;
  bool proxied = false;
  std::optional<LastSpec> last;
  static void describe(config::Describer<PutSpec>& d);
};

struct CopySpec {
  FormulaText to;
  FormulaText bytes;
  std::string flag;
  std::optional<FormulaText> index;
  static void describe(config::Describer<CopySpec>& d);
};

struct SignalSpec {
  FormulaText to;
  std::string flag;
  std::optional<FormulaText> index;
  std::optional<LastSpec> last;
  static void describe(config::Describer<SignalSpec>& d);
};

struct WaitSpec {
  std::string flag;
  std::optional<FormulaText> index;
  FormulaText count;
  static void describe(config::Describer<WaitSpec>& d);
};

struct FenceSpec {
  std::optional<Time> time;
  static void describe(config::Describer<FenceSpec>& d);
};

struct PauseSpec {
  Time time;
  std::optional<FormulaText> times;
  static void describe(config::Describer<PauseSpec>& d);
};

struct StepSpec;

struct ForSpec {
  std::string each;
  std::optional<FormulaText> from;
  FormulaText below;
  std::optional<FormulaText> step;
  std::vector<StepSpec> steps;
  static void describe(config::Describer<ForSpec>& d);
};

enum class Peers { node, others, all };
struct ForPeersSpec {
  std::string each;
  Peers of = Peers::all;
  std::vector<StepSpec> steps;
  static void describe(config::Describer<ForPeersSpec>& d);
};

struct TakeSpec {
  std::string each;
  FormulaText below;
  std::vector<StepSpec> steps;
  static void describe(config::Describer<TakeSpec>& d);
};

struct IfSpec {
  FormulaText when;
  std::vector<StepSpec> steps;
  std::vector<StepSpec> otherwise;
  static void describe(config::Describer<IfSpec>& d);
};

// Exactly one member is set.
struct StepSpec {
  std::optional<LoadSpec> load;
  std::optional<StoreSpec> store;
  std::optional<MathSpec> math;
  std::optional<ReduceSpec> reduce;
  std::optional<WorkSpec> work;
  std::optional<PutSpec> put;
  std::optional<CopySpec> copy;
  std::optional<SignalSpec> signal;
  std::optional<WaitSpec> wait;
  std::optional<FenceSpec> fence;
  std::optional<PauseSpec> pause;
  std::optional<std::vector<std::pair<std::string, FormulaText>>> let;
  std::optional<ForSpec> loop;
  std::optional<ForPeersSpec> peers;
  std::optional<TakeSpec> take;
  std::optional<IfSpec> branch;
  static void describe(config::Describer<StepSpec>& d);
};

struct OwnKernelSpec {
  std::string name = "kernel";
  std::vector<std::pair<std::string, FormulaText>> let;
  FormulaText workgroups;
  std::int64_t threads = 256;
  std::int64_t registers_per_thread = 32;
  Bytes lds;
  std::int64_t cluster = 1;
  std::optional<Bytes> in_flight;
  std::vector<std::pair<std::string, FormulaText>> flags;
  std::vector<StepSpec> steps;
  static void describe(config::Describer<OwnKernelSpec>& d);

  Bytes loads_in_flight() const;
};

}  // namespace moire::own
