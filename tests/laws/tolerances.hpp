// The tolerances of the laws beyond rounding, each with its reason and the largest observed case. The section "How
// exact" of docs/explanation/laws.md has the details.
#pragma once

#include "tests/laws/workload.hpp"

namespace moire::laws {

// If ranks or workgroups wait for each other and share resources, a step that becomes faster can change the order of
// other steps, and the run can end later. This is Graham's anomaly (Bounds on multiprocessing timing anomalies, 1969),
// which can cost up to a factor of 2 for any work-conserving order. Real machines show it too. A case that is later by
// up to this share counts as reordered, and beyond it as broken. Kernels that share nothing have no such tolerance.
inline constexpr double most_reordered = 0.02;

// Between nodes, ranks that send to each other directly share the receivers' ports, and the order of sending determines
// which messages meet there. Observed: 4.7 % for copies of a fused product on 4 nodes whose 4 GPUs share a NIC (but not
// with fair flows instead of queues), and 3.9 % for a tree on two nodes of 8 L20. In this tree a rank adds up for one
// peer and forwards to others through one PCIe port, and its time scatters by 6 % over ten speeds of a CU's loads.
// Rings and broadcasts have one sender per receiver, so only most_reordered holds for them. In a node, 2.3 % was
// observed for an All-to-All of 4 V100 with more CUs.
inline constexpr double most_collided = 0.06;
inline constexpr double most_collided_in_a_node = 0.03;

// All blocks of an MSCCL++ plan store to the peers in the same order. Blocks that begin together therefore compete for
// one port at a time. Blocks that begin at different times use several ports at once and can end sooner, by this share.
// Observed: 8.5 % from 20 MB on, on 8 H100 where the ports of two GPUs have 90 % of their bandwidth; 9.5 % for 49 KB on
// 8 L20 that begin up to 1 us apart, and 11.1 % (88 us) if they begin up to 20 us apart.
inline constexpr double most_convoyed = 0.12;

// Channels that begin together copy together and send together. A temporary disturbance of some channels (contention
// for memory, a slower clock) brings them out of step, so that copies of some overlap transfers of others and the run
// ends sooner. Observed: 2.2 % beside a stream of 35 MB, 2.1 % with one clock at 99 % (send_recv of 64 and 128 MiB on 4
// H200). A disturbance can also cost time: 2.3 % if one of 3 A100 is 0.3 ms late or more (reduce-scatter of 841 MB).
// Between nodes the effect is larger, because a channel copies and then waits for a NIC that all channels share: 6.1 %
// (LL128 by two channels on 3 nodes of one A100, with fair flows as well).
inline constexpr double most_out_of_step = 0.03;
inline constexpr double most_out_of_step_between_nodes = 0.07;

// Largest difference between the two network models, queues and max-min fair flows. In the queue model a port serves up
// to 4 KiB of a message at a time, and up to 16 KiB if much data waits. Observed: 19.1 % (messages of 30 KB among 16
// nodes). Queues can also be faster, because fair flows keep channels in step that ports serve in turn: -20.7 % (LL
// with two channels on 2 nodes).
inline constexpr double most_unfair = 0.25;

// One host thread of a rank handles the calls of several streams in order of arrival. If a chunk arrives sooner, the
// thread may decompress it before it sends a chunk for which another rank waits. All following ranks of the ring then
// wait, too. Observed: 16.4 % (1 B in 16 chunks).
inline constexpr double most_hosted = 0.25;

// True if every rank receives from one other rank and forwards the received data: rings, broadcasts.
bool in_a_row(const Case& one);

// Returns how much later a run may end, as a fraction of its time, if a part of the machine is faster.
double most_reordered_of(const Case& one);

// Returns how much sooner a run may end, as a fraction of its time, if a part is late, slow or disturbed. If all ranks
// of a fused product store to one owner after the other, in the same order, they share its port while others are idle.
// Ranks that are out of step use several ports. This holds for tiles whose rows have several owners, and for blocks in
// the order `in_order`. Observed: 28 % (8 L20, m = 128).
double most_apart(const Case& one);

// Tolerance for polling, in picoseconds. A kernel that waits for a copy engine, or a copy that waits for a kernel,
// polls with this period from the beginning of the wait. If a wait begins sooner, the awaited event can fall just after
// a poll instead of just before it, so that the wait ends up to one period later.
double period(const Case& one);

// Numerical tolerance between two runs, in picoseconds: each event rounds its time to a picosecond, and the sharing law
// is solved to 1e-9.
double rounding(const Outcome& a, const Outcome& b);

// Tolerance for ties, in picoseconds. If messages reach a port at the same time, one is served first and the others
// wait for its chunk. Ranks that do the same can therefore end at different times.
double ties(const Case& one);

}  // namespace moire::laws
