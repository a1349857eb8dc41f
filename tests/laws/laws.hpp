// What must hold for every machine and every program. Each law draws a case of its own and says whether it is kept.
#pragma once

#include <string>
#include <vector>

#include "tests/laws/workload.hpp"

namespace moire::laws {

enum class Found { kept, reordered, refused, cut, incomparable, broken };
inline constexpr const char* found_names[] = {"kept", "reordered", "refused", "cut", "not comparable", "broken"};
inline constexpr std::size_t kinds_found = std::size(found_names);

struct Verdict {
  Found found = Found::kept;
  std::string detail{};  // of what kind the case is: the parameter that was changed
  std::string why{};     // what was found
  std::vector<Scenario> runs{};
};

// Where ranks or workgroups wait for each other and meet on the way, what is sooner by itself may come in another
// order, and the whole end later: Graham's anomaly (Bounds on multiprocessing timing anomalies, 1969, allows up to a
// factor of 2 for any work-conserving order). A machine has it as the model has. At most this much is called reordered
// and counted by itself; more is broken. Kernels that meet nobody have no such room.
inline constexpr double most_reordered = 0.02;

// All blocks of an MSCCL++ plan store to the peers in the same order. Blocks that begin together therefore meet at one
// port after the other; blocks that begin at different times use several ports at once and can end sooner, by this
// share.
inline constexpr double most_convoyed = 0.07;

// What the chunks of the network, which are larger than packets, may move a run between nodes by.
inline constexpr double most_unresolved = 0.1;
// Channels that began together copy together and send together. What disturbs some of them for a while (a neighbour in the
// memory, a slower clock) brings them out of step, so that copies of some overlap transfers of others: 2.2 % was found
// beside a stream of 35 MB, 2.1 % with one clock at 99 % (send_recv of 64 and 128 MiB on 4 H200).
inline constexpr double most_out_of_step = 0.03;

// How much a case may cost.
struct Cost {
  std::int64_t most_ranks = 64;  // of laws of time; few cases have more than few_ranks
  std::size_t most_spans = 60'000;
};

struct Law {
  const char* name;
  const char* meaning;
  int share;  // of the cases: how many parameters it draws from
  Draw draw;
  bool (*applies)(const std::string& op);
  Verdict (*check)(const Case& one, Random random, const Cost& cost);
};

const std::vector<Law>& all_laws();

// Of a case that could not be judged, or that broke by itself.
Verdict not_run(const Case& one, const Outcome& outcome, const Scenario& scenario);

// Simulations round times to picoseconds, once an event, and the sharing law is solved to 1e-9: what two runs may
// differ by without a reason, in picoseconds.
double rounding(const Outcome& a, const Outcome& b);

// Of messages that come to a port at once one is first, and the others wait for its chunk: what may decide who ends
// last among ranks that are alike, in picoseconds.
double ties(const Case& one);

// Between nodes a port serves network.chunk at a time, one queue pair after the other, so that the end of a message may
// be a round of chunks off, once for each message that waits for another. A NIC takes turns by the packet. One channel
// alone shares its NIC with nobody.
double resolution(const Case& one, const Outcome& outcome);

}  // namespace moire::laws
