// What laws allow beyond rounding, with the reason and the largest case that was seen. docs/explanation/laws.md, "How
// exact".
#pragma once

#include "tests/laws/workload.hpp"

namespace moire::laws {

// If ranks or workgroups wait for each other and share resources, a step that becomes faster can change the order of
// others, and the whole can end later: Graham's anomaly (Bounds on multiprocessing timing anomalies, 1969, allows up to
// a factor of 2 for any work-conserving order). Real machines show it too. Up to this share a case counts as reordered,
// beyond it as broken. Kernels that share nothing have no such tolerance.
inline constexpr double most_reordered = 0.02;

// Between nodes, ranks that send to each other directly share the receivers' ports, and who meets whom depends on the
// order. Observed: 4.7 % (copies of a fused product on 4 nodes whose 4 GPUs share a NIC; fair flows instead of queues
// do not show it), 3.9 % (a tree on two nodes of 8 L20, where a rank adds up for one peer and forwards to others
// through one PCIe port; at ten speeds of a CU's loads its time scatters by 6 %). Rings and broadcasts have one sender
// per receiver and only most_reordered. In a node: 2.3 % (an All-to-All of 4 V100 with more CUs).
inline constexpr double most_collided = 0.06;
inline constexpr double most_collided_in_a_node = 0.03;

// All blocks of an MSCCL++ plan store to the peers in the same order. Blocks that begin together therefore compete for
// one port at a time; blocks that begin at different times use several ports at once and can end sooner, by this share.
// Observed: 8.5 % from 20 MB on, on 8 H100 where the ports of two GPUs have 90 % of their bandwidth; 9.5 % for 49 KB on
// 8 L20 that begin up to 1 us apart, 11.1 % (88 us) up to 20 us.
inline constexpr double most_convoyed = 0.12;

// Channels that begin together copy together and send together. A temporary disturbance of some of them (contention for
// memory, a slower clock) brings them out of step, so that copies of some overlap transfers of others. Observed: 2.2 %
// beside a stream of 35 MB, 2.1 % with one clock at 99 % (send_recv of 64 and 128 MiB on 4 H200). It can also cost
// time: 2.3 % if one of 3 A100 is 0.3 ms late or more (reduce-scatter of 841 MB). Between nodes a channel copies and
// then waits for a NIC that all channels share, which matters more: 6.1 % (LL128 by two channels on 3 nodes of one
// A100, with fair flows as well).
inline constexpr double most_out_of_step = 0.03;
inline constexpr double most_out_of_step_between_nodes = 0.07;

// Largest difference between a network of queues and max-min fair flows. Ports of queues serve whole messages of up to
// 4 KiB and, where much data waits, 16 KiB. Observed: 19.1 % (messages of 30 KB among 16 nodes). Fair flows can also
// keep channels in step that the turns of ports separate: -20.7 % (LL with two channels on 2 nodes).
inline constexpr double most_unfair = 0.25;

// One host thread of a rank handles the calls of several streams in order of arrival. A chunk that arrives sooner is
// decompressed before a chunk is sent for which others wait, and all following ranks of the ring wait. Observed: 16.4 %
// (1 B in 16 chunks).
inline constexpr double most_hosted = 0.25;

// True if every rank receives from one other rank and forwards what it has received: rings, broadcasts.
bool in_a_row(const Case& one);

// How much later a run may end, as a fraction of its time, if something in it is faster.
double most_reordered_of(const Case& one);

// How much sooner a run may end, as a fraction of its time, if parts of it are late, slow or disturbed. If all ranks of
// a fused product store to one owner after the other, in the same order, they share its port while others are idle;
// ranks that are out of step use several ports. This holds for tiles whose rows have several owners, and for blocks in
// the order `in_order`. Observed: 28 % (8 L20, m = 128).
double most_apart(const Case& one);

// Tolerance for polling, in picoseconds. Waits of kernels for copy engines, and of copies for kernels, poll with this
// period from the beginning of the wait. If a wait begins sooner, the awaited event can fall just after a poll instead
// of before it: up to a period later.
double period(const Case& one);

// Numerical tolerance between two runs, in picoseconds: each event rounds its time to a picosecond, and the sharing law
// is solved to 1e-9.
double rounding(const Outcome& a, const Outcome& b);

// Tolerance for ties, in picoseconds: of messages that reach a port at the same time one is served first, and the
// others wait for its chunk, so ranks that do the same can end at different times.
double ties(const Case& one);

}  // namespace moire::laws
