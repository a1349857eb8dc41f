// The reports of a replay to its observer, such as the timeline. An observer never changes simulated times. Without an
// observer, each place in the code that would report costs one branch.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/program/program.hpp"

namespace moire::program {

// Why a workgroup or queue makes no progress.
enum class WaitReason : std::uint8_t { none, cu_slot, flag, fence, delay };
const char* to_string(WaitReason reason);

inline constexpr std::uint32_t no_cu = UINT32_MAX;  // the CU of a put that a host thread posts

struct WorkgroupSpan {
  Rank rank;
  std::uint32_t queue;
  std::uint32_t cu;
  std::string_view kernel;
  std::int64_t workgroup;
  std::string_view phase;  // name of the shape, or "wait", "put", "delay"
  WaitReason reason;
  FlagRef flag;  // the flag that the workgroup waits for, else no_flag; Program::name_of_flag gives its name
  Time begin;
  Time end;
  // The next five fields are for a work phase, and for a delay that replays a work phase.
  bool work = false;
  bool loads = false;        // true: the phase loads or computes; false: the phase only stores
  bool posted = false;       // runs concurrently with the workgroup's next phases
  Rank peer = 0;             // destination of the phase's stores
  Bytes peer_bytes{};        // bytes stored to the peer's memory
  std::uint32_t strand = 0;  // spans of one strand of a workgroup never overlap
};

struct OperationSpan {
  Rank rank;
  std::uint32_t queue;
  std::string_view name;
  WaitReason reason;  // `flag` for a Wait; `cu_slot` for a kernel until its first workgroup is placed; else `none`
  Time begin;
  Time end;
};

struct CopySpan {
  Rank rank;
  std::uint32_t engine;
  Rank peer;
  Bytes bytes;
  std::string_view name;
  Time begin;  // when the first byte moves, after the engine has processed the command
  Time end;
};

// A put or signal, from its issue until its flag rises at the peer.
struct PutSpan {
  Rank source;
  Rank destination;
  std::uint32_t cu;  // CU of the issuing workgroup; no_cu for proxied puts
  Bytes bytes;       // 0 for a signal
  FlagRef flag;
  std::string_view path;  // "NIC 3", "scale-up" or "local"
  Time begin;
  Time end;
  Rank relay = no_rank;  // GPU of the source's node whose memory has the data and whose NIC sends them
};

// Kinds of spans that occupy hardware.
enum class SpanKind : std::uint8_t { workgroup, copy, put };

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void operation(const OperationSpan&) {}
  virtual void workgroup(const WorkgroupSpan&) {}
  virtual void put(const PutSpan&) {}
  virtual void copy(const CopySpan&) {}
  // Reports the new load of a capacity (link, HBM), in units per second, and its `rate`, which the load cannot exceed.
  // For power and clock, which are meters, reports the new level, and as `rate` the power cap or the highest clock.
  virtual void load(std::string_view /*capacity*/, Rank /*rank*/, Time /*now*/, double /*units_per_second*/,
                    double /*rate*/) {}
};

}  // namespace moire::program
