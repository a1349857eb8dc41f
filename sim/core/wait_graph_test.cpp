#include "sim/core/wait_graph.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

namespace moire::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Node = WaitGraph::Node;

// A graph with nodes n0 to n(n-1).
WaitGraph graph(Node n) {
  WaitGraph g;
  for (Node i = 0; i < n; ++i) g.node(fmt::format("n{}", i));
  return g;
}

TEST(WaitGraph, OneNameIsOneNode) {
  WaitGraph g;
  EXPECT_EQ(g.node("rank 0"), 0);
  EXPECT_EQ(g.node("rank 1"), 1);
  EXPECT_EQ(g.node("rank 0"), 0);
}

TEST(WaitGraph, AChainHasNoCycle) {
  WaitGraph g = graph(4);
  g.edge(0, 1, "a");
  g.edge(1, 2, "b");
  g.edge(0, 2, "c");
  EXPECT_THAT(g.cycle(), IsEmpty());
  EXPECT_EQ(g.report(),
            "waits (no cycle: something waits for an event that will never happen):\n"
            "  n0: a; so it waits for n1\n"
            "  n1: b; so it waits for n2\n"
            "  n0: c; so it waits for n2\n");
}

TEST(WaitGraph, FindsATwoPartyDeadlockAndQuotesItsReasons) {
  WaitGraph g;
  const Node a = g.node("rank 0 queue main");
  const Node b = g.node("rank 1 queue main");
  const Node c = g.node("rank 2 queue main");
  g.edge(c, a, "WG 4 waits for flag done[0] >= 1, is 0");
  g.edge(a, b, "WG 17 waits for flag ready[2] >= 4, is 3");
  g.edge(a, b, "another reason");
  g.edge(b, a, "recv posted");
  EXPECT_THAT(g.cycle(), ElementsAre(a, b, a));
  EXPECT_EQ(g.report(1),
            "cycle:\n"
            "  rank 0 queue main: WG 17 waits for flag ready[2] >= 4, is 3; so it waits for rank 1 queue main\n"
            "  rank 1 queue main: recv posted; so it waits for rank 0 queue main\n"
            "all waits:\n"
            "  rank 2 queue main: WG 4 waits for flag done[0] >= 1, is 0; so it waits for rank 0 queue main\n"
            "  and 3 more\n");
}

TEST(WaitGraph, PrefersTheShortestCycleAndThenTheLowestNode) {
  WaitGraph g = graph(9);
  for (Node i = 0; i < 4; ++i) g.edge(i, (i + 1) % 4, "ring of four");
  g.edge(7, 8, "pair");
  g.edge(8, 7, "pair");
  g.edge(5, 6, "pair");
  g.edge(6, 5, "pair");
  g.edge(3, 5, "bridge");
  EXPECT_THAT(g.cycle(), ElementsAre(5, 6, 5));
}

TEST(WaitGraph, ANodeBetweenTwoCyclesIsOnNone) {
  WaitGraph g = graph(7);
  g.edge(0, 1, "into the first cycle");
  g.edge(1, 2, "");
  g.edge(2, 3, "");
  g.edge(3, 1, "");
  g.edge(3, 4, "between");
  g.edge(4, 5, "between");
  g.edge(5, 6, "");
  g.edge(6, 5, "");
  EXPECT_THAT(g.cycle(), ElementsAre(5, 6, 5));
}

TEST(WaitGraph, WaitingForOneselfIsACycle) {
  WaitGraph g = graph(4);
  g.edge(0, 1, "");
  g.edge(1, 0, "");
  g.edge(3, 3, "flag nobody else raises");
  EXPECT_THAT(g.cycle(), ElementsAre(3, 3));
  WaitGraph two = graph(3);
  two.edge(2, 2, "");
  two.edge(1, 1, "");
  two.edge(0, 2, "");
  EXPECT_THAT(two.cycle(), ElementsAre(1, 1));
}

TEST(WaitGraph, AnEmptyGraphReportsNothingToWaitFor) {
  WaitGraph g;
  EXPECT_THAT(g.cycle(), IsEmpty());
  EXPECT_THAT(g.report(), Not(HasSubstr("cycle:\n")));
}

TEST(WaitGraph, TheReportKeepsToItsLimit) {
  WaitGraph g = graph(101);
  for (Node i = 0; i < 100; ++i) g.edge(i, i + 1, "waits");
  EXPECT_THAT(g.report(), HasSubstr("  and 88 more\n"));
  EXPECT_THAT(g.report(100), Not(HasSubstr("more")));
}

// A ring and a large graph without cycles, each of a hundred thousand waits. The search must end at once, not after
// minutes.
TEST(WaitGraph, ScalesToAHundredThousandWaits) {
  constexpr Node n = 100'000;
  WaitGraph ring = graph(n);
  for (Node i = 0; i < n; ++i) ring.edge(i, (i + 1) % n, "ring");
  EXPECT_EQ(ring.cycle().size(), n + 1);
  EXPECT_THAT(ring.report(), HasSubstr("n99999: ring; so it waits for n0\n"));

  WaitGraph thicket = graph(n);
  for (Node i = 0; i + 1 < n; ++i) thicket.edge(i, static_cast<Node>(i + 1 + (i * 7919ULL) % (n - i - 1)), "forward");
  EXPECT_THAT(thicket.cycle(), IsEmpty());
  thicket.edge(n - 1, n - 2, "back");
  thicket.edge(n - 2, n - 1, "forward");
  EXPECT_THAT(thicket.cycle(), ElementsAre(n - 2, n - 1, n - 2));
}

}  // namespace
}  // namespace moire::core
