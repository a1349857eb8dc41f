// Where operators put what they generate: an operator turns its YAML mapping into operations of one queue.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/workload/libraries/software.hpp"
#include "sim/program/phase_total.hpp"
#include "sim/program/program.hpp"
#include "sim/program/wg_trace_files.hpp"

namespace moire::builder {

// What was measured on hardware of a kernel that is replayed from a record, to stand beside the simulation.
struct RecordedKernel {
  std::string kernel;           // name of the operation that replays it
  Time duration;                // first workgroup's start to last workgroup's end, over all ranks
  std::int64_t workgroups = 0;  // physical, over all ranks
  std::vector<program::PhaseTotal> phases;
};

// Operations of a queue that are one collective, whose bandwidth is told as nccl-tests does.
struct Exchange {
  std::size_t queue = 0;
  std::size_t first = 0;  // of its operations, in the queue
  std::size_t operations = 0;
  Bytes size;          // what algbw is reckoned with
  double on_wire = 1;  // busbw over algbw: what a rank has to send of each byte of it
  // Who communicates with whom; null: all ranks.
  std::shared_ptr<const std::vector<std::vector<program::Rank>>> communicators{};
  // Figures that follow from its keys: kind of metric, value.
  std::vector<std::pair<std::string, double>> stated{};
};

struct Builder {
  const libraries::EquippedSystem& system;
  program::Program& program;
  program::Queue& queue;
  std::string path{};                               // of the operator in the scenario, for messages
  program::WgTraceFiles* traces = nullptr;          // that other programs may replay too
  std::vector<RecordedKernel>* recorded = nullptr;  // of its operations; null where nobody asks
  std::vector<std::string>* notes = nullptr;        // what operators decided and why, for people; the same
  // Where nothing will run: candidates that a decision would simulate are counted here, and any of them is taken.
  std::size_t* untried = nullptr;

  program::Rank ranks() const { return program.ranks(); }
  const machine::GpuSpec& gpu() const { return system.node.gpu; }
  part::Reach reach() const { return system.node.reach(); }
  // CUs that kernels of the queue may be placed on: what a persistent kernel sizes itself for.
  std::int64_t cus() const {
    return queue.cus.empty() ? gpu().compute.total_cus() : static_cast<std::int64_t>(queue.cus.size());
  }
  // A new stream of the queue, for operations beside its own. It begins with the program: what comes behind operations
  // of the queue waits for a flag that the queue signals, and the queue for one that the stream raises.
  program::Queue& stream(const std::string& name) const;
  // A stream that begins when the queue comes to here; and the queue waits, in an operation of this name, for the end
  // of such a stream.
  program::Queue& fork(const std::string& name) const;
  void join(program::Queue& stream, const std::string& name) const;
  // A name that no other operation of the program has: "embedding", then "embedding#2". Parts of one operation that an
  // operator gives one name are told as one.
  std::string unique(const std::string& name) const;
};

// Element types by their size.
enum class DataType { fp32, fp16, bf16 };
double bytes_of(DataType type);

// Physical workgroups of a persistent kernel: as many as the CUs of its queue can hold at once.
std::int64_t resident_workgroups(const Builder& build, const program::WorkgroupResources& resources);

}  // namespace moire::builder
