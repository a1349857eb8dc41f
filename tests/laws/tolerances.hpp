// The tolerances of the laws beyond rounding, each with its reason and the largest observed case. The section "How
// exact" of docs/explanation/laws.md has the details.
#pragma once

#include "tests/laws/workload.hpp"

namespace moire::laws {

// If ranks or workgroups wait for each other and share resources, a step that becomes faster can change the order of
// other steps, and the run can end later. This is Graham's anomaly (Bounds on multiprocessing timing anomalies, 1969).
// It can double the time of a run in any work-conserving order, and real machines show it, too. A run that ends later
// by at most this share of its time counts as reordered, and otherwise as broken. Kernels that share nothing have no
// such tolerance.
inline constexpr double most_reordered = 0.02;

// Larger tolerances for ranks that send to each other directly, between nodes and within a node. Such ranks share the
// ports of the receivers, and the order of sending determines which messages meet there. Observed between nodes: 4.7 %
// for copies of a fused product on 4 nodes whose 4 GPUs share a NIC, and 3.9 % for a tree on two nodes of 8 L20. (The
// first case shows no such effect with max-min fair flows as the network model.) In this tree a rank adds up for one
// peer and forwards to others through one PCIe port. Over ten different rates of a CU's loads, the time of the run
// varies by 6 %. Observed within a node: 2.3 % for an All-to-All of 4 V100 with more CUs. Rings and broadcasts have one
// sender per receiver, so only most_reordered holds for them.
inline constexpr double most_collided = 0.06;
inline constexpr double most_collided_in_a_node = 0.03;

// All thread blocks of an MSCCL++ plan store to the peers in the same order. Blocks that begin together therefore
// compete for one port at a time. Blocks that begin at different times use several ports at once, and the run can end
// sooner by this share. Observed: 8.5 % for 20 MB and more on 8 H100 where the ports of two GPUs have 90 % of their
// bandwidth. On 8 L20: 9.5 % for 49 KB if ranks begin up to 1 us apart, and 11.1 % (88 us) if ranks begin up to 20 us
// apart.
inline constexpr double most_convoyed = 0.12;

// All channels of a collective begin together, so all of them copy at one time and send at another. If a disturbance
// delays some channels for a while (contention for memory, a slower clock), copies of some channels overlap transfers
// of others, and the run can end sooner by this share. Observed: 2.2 % beside a stream of 35 MB, 2.1 % with one clock
// at 99 % (send_recv of 64 and 128 MiB on 4 H200). A disturbance can also cost time: 2.3 % if one of 3 A100 is 0.3 ms
// late or more (reduce-scatter of 841 MB). Between nodes the effect is larger, because a channel copies and then waits
// for a NIC that all channels share. Observed: 6.1 % (LL128 by two channels on 3 nodes of one A100, with both network
// models).
inline constexpr double most_out_of_step = 0.03;
inline constexpr double most_out_of_step_between_nodes = 0.07;

// Largest difference between the times of a run in the two network models, queues and max-min fair flows. In the queue
// model a port serves up to 4 KiB of a message at a time, and up to 16 KiB if much data waits; this can make the run
// slower. Observed: 19.1 % (messages of 30 KB among 16 nodes). The queue model can also be faster: its ports serve
// channels in turn and so bring them out of step, but fair flows keep them in step. Observed: -20.7 % (LL with two
// channels on 2 nodes).
inline constexpr double most_unfair = 0.25;

// Tolerance for chunked collectives with several streams. One host thread of a rank handles the calls of its streams in
// order of arrival. If a chunk arrives sooner than before, the thread may decompress it before it sends a chunk for
// which another rank waits. All following ranks of the ring then wait, too. Observed: 16.4 % (16 chunks of 1 B).
inline constexpr double most_hosted = 0.25;

// True if every rank receives from one other rank and forwards the received data: rings, broadcasts.
bool in_a_row(const Case& one);

// Returns how much later a run may end, as a fraction of its time, if a part of the machine becomes faster.
double most_reordered_of(const Case& one);

// Returns how much sooner a run may end, as a fraction of its time, if a part of the machine becomes late, slow or
// disturbed. The largest value is for fused products, whose tiles are stored to the ranks that own their rows. If all
// ranks store to these owners in the same order, they share the port of one owner while the ports of other owners are
// idle. Ranks that are out of step use several ports. This occurs if the rows of a tile have several owners, or with
// the order `in_order`. Observed: 28 % (8 L20, m = 128).
double most_apart(const Case& one);

// Returns the tolerance for looks, in picoseconds: the interval between them, or 0 if the case uses no copy engines. An
// engine that reads a command after the kernels before it have ended sees their end at once. If it reads the command
// earlier, it looks before their end, and then has to look again.
double looks(const Case& one);

// Returns the numerical tolerance between the times of two runs, in picoseconds: each event rounds its time to a
// picosecond, and the rates of activities that share resources are computed to 1e-9.
double rounding(const Outcome& a, const Outcome& b);

// Returns the tolerance for ties, in picoseconds. If messages reach a port of the network at the same time, one is
// served first, and the others wait until its chunk is sent. Ranks that do the same can therefore end at different
// times. With copy engines, ranks also take turns in how long they wait for the end of an operation (poll_interval).
double ties(const Case& one);

}  // namespace moire::laws
