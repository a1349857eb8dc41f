// The Builder with which an operator turns its YAML mapping into operations of one queue of a program.
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

// Measurements on hardware of a kernel that is replayed from a WG trace (a file with the times of the kernel's
// workgroups), for comparison with the simulation.
struct RecordedKernel {
  std::string kernel;           // name of the operation that replays the trace
  Time duration;                // from the first start to the last end of a workgroup, over all ranks
  std::int64_t workgroups = 0;  // number of physical workgroups, over all ranks
  std::vector<program::PhaseTotal> phases;
};

// Consecutive operations of a queue that form one collective. Its bandwidth is reported as nccl-tests defines it.
struct Exchange {
  std::size_t queue = 0;
  std::size_t first = 0;  // index of the collective's first operation in the queue
  std::size_t operations = 0;
  Bytes size;          // bytes by which algbw is defined: algbw = size / time
  double on_wire = 1;  // busbw / algbw: bytes that a rank has to send per byte of size
  // The communicators that run the collective; null: one communicator of all ranks.
  std::shared_ptr<const std::vector<std::vector<program::Rank>>> communicators{};
  // Metrics that are known without simulation from the operator's keys: kind of metric, value.
  std::vector<std::pair<std::string, double>> stated{};
};

// The candidates (such as algorithms of a library) that a run would simulate to choose one of them: their number, and
// the number of steps of all their workgroups.
struct Untried {
  std::size_t candidates = 0;
  double steps = 0;
};

struct Builder {
  const libraries::EquippedSystem& system;
  program::Program& program;
  program::Queue& queue;
  std::string path{};                               // path of the operator's keys in the scenario, for messages
  program::WgTraceFiles* traces = nullptr;          // parsed traces, shared by all programs that replay them
  std::vector<RecordedKernel>* recorded = nullptr;  // replayed kernels; null if not wanted
  std::vector<std::string>* notes = nullptr;        // what operators decided and why, for reports; null if not wanted
  // Not null if the program is only checked. Then an operator that would simulate candidates to choose one of them adds
  // their numbers here, and takes any candidate without simulating. Null: the operator simulates the candidates.
  Untried* untried = nullptr;

  program::Rank ranks() const { return program.ranks(); }
  const machine::GpuSpec& gpu() const { return system.node.gpu; }
  part::Reach reach() const { return system.node.reach(); }
  // Returns the number of CUs that kernels of the queue may use. Persistent kernels size their grid by it.
  std::int64_t cus() const {
    return queue.cus.empty() ? gpu().compute.total_cus() : static_cast<std::int64_t>(queue.cus.size());
  }
  // Adds a stream, whose operations run concurrently with those of the queue. The stream starts with the program. Its
  // operations are not ordered relative to those of the queue, except by flags or by fork() and join().
  program::Queue& stream(const std::string& name) const;
  // fork() adds a stream that starts when the queue has finished all its operations so far. follow() makes an existing
  // stream wait for the same operations. join() makes the queue wait for the end of the stream, in an operation named
  // `name`.
  program::Queue& fork(const std::string& name) const;
  void follow(program::Queue& stream, const std::string& name) const;
  void join(program::Queue& stream, const std::string& name) const;
  // Returns a name that no operation of the program has yet: "embedding", then "embedding#2". Operations to which an
  // operator gives the same name are reported as one.
  std::string unique(const std::string& name) const;
};

// Types of the elements of matrices and vectors.
enum class DataType { fp32, fp16, bf16 };
double bytes_of(DataType type);

// Returns how many workgroups with these resources the CUs of the queue hold at once. A persistent kernel has a grid of
// this size.
std::int64_t resident_workgroups(const Builder& build, const program::WorkgroupResources& resources);
// The same for all CUs of a GPU.
std::int64_t resident_workgroups(const machine::GpuSpec& gpu, const program::WorkgroupResources& resources);

}  // namespace moire::builder
