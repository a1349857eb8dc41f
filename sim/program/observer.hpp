// What a replay tells those who watch it (timeline, statistics). Observers never change timing; without one the cost
// is a branch.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/program/program.hpp"

namespace moire::program {

// Why a workgroup or queue does not progress.
enum class WaitReason : std::uint8_t { none, cu_slot, flag, fence, delay };
const char* to_string(WaitReason reason);

inline constexpr std::uint32_t no_cu = UINT32_MAX;  // of a put that a host thread posts

struct WorkgroupSpan {
  Rank rank;
  std::uint32_t queue;
  std::uint32_t cu;
  std::string_view kernel;
  std::int64_t workgroup;
  std::string_view phase;  // shape name, "wait", "put", "delay"
  WaitReason reason;
  FlagRef flag;  // that it waits for, else no_flag; named by Program::name_of_flag
  Time begin;
  Time end;
  // Of a work phase, or of a delay that stands for one:
  bool work = false;
  bool posted = false;       // it goes on beside the workgroup's next phases
  Rank peer = 0;             // that its stores go to
  Bytes peer_bytes{};        // stored to the peer; what is stored to the own memory is not among them
  std::uint32_t strand = 0;  // of the workgroup: spans of one strand never overlap
};

struct OperationSpan {
  Rank rank;
  std::uint32_t queue;
  std::string_view name;
  WaitReason reason;  // flag for a Wait, cu_slot for a kernel until its first workgroup has a place, else none
  Time begin;
  Time end;
};

struct CopySpan {
  Rank rank;
  std::uint32_t engine;
  Rank peer;
  Bytes bytes;
  std::string_view name;
  Time begin;  // first byte; the command before it is the engine's
  Time end;
};

// A put or signal from its issue to the moment its flag rises at the peer.
struct PutSpan {
  Rank source;
  Rank destination;
  std::uint32_t cu;  // of the issuing workgroup, no_cu for proxied puts
  Bytes bytes;       // 0 for a signal
  FlagRef flag;
  std::string_view path;  // "NIC 3", "scale-up" or "local"
  Time begin;
  Time end;
  Rank relay = no_rank;  // the GPU of the source's node that has it in its memory and whose NIC sends it
};

// Spans that happen on hardware.
enum class SpanKind : std::uint8_t { workgroup, copy, put };

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void operation(const OperationSpan&) {}
  virtual void workgroup(const WorkgroupSpan&) {}
  virtual void put(const PutSpan&) {}
  virtual void copy(const CopySpan&) {}
  // Load of a named capacity (link, HBM) from now on, in units per second of `rate`.
  virtual void load(std::string_view /*capacity*/, Rank /*rank*/, Time /*now*/, double /*units_per_second*/,
                    double /*rate*/) {}
};

}  // namespace moire::program
