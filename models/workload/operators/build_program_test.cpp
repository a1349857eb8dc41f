#include <gmock/gmock.h>

#include <algorithm>

#include "models/workload/kernel/embedding_spec.hpp"
#include "models/workload/operators/registry.hpp"
#include "tests/support/example_equipped.hpp"

namespace moire::operators {
namespace {

using libraries::example_equipped;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Built {
  std::unique_ptr<program::Program> program;
  std::string errors;
};

Built build(const std::string& yaml, const libraries::EquippedSystem& system = example_equipped(2)) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text("program.yaml", yaml, {}, diagnostics);
  Built built;
  program::WgTraceFiles traces;
  if (root) built.program = build_program(*root, system, traces, diagnostics).program;
  built.errors = diagnostics.str();
  return built;
}

const std::string embedding =
    "{schedule: fused, tables_per_gpu: 4, global_batch: 64, pooling: 8, dim: 64, rows_per_table: 1000, in_flight: 8 "
    "KiB, "
    "fence: 700 ns}";

TEST(BuildProgram, QueuesAreListsOrMapsWithAPriority) {
  const Built built = build(
      "queues:\n  main: [{embedding_all_to_all: " + embedding + "}]\n  other:\n    priority: 2\n    operations:\n" +
      "      - embedding_all_to_all: " + embedding + "\n      - embedding_all_to_all: " + embedding + "\n");
  ASSERT_TRUE(built.program) << built.errors;
  EXPECT_EQ(built.errors, "");
  EXPECT_EQ(built.program->ranks(), 2);
  ASSERT_EQ(built.program->queues.size(), 2);
  EXPECT_EQ(built.program->queues[0].name, "main");
  EXPECT_EQ(built.program->queues[0].priority, 0);
  EXPECT_EQ(built.program->queues[1].priority, 2);
  std::vector<std::string> names;
  for (const program::Queue& queue : built.program->queues) {
    for (const program::Operation& operation : queue.operations) names.push_back(program::name_of(operation));
  }
  EXPECT_THAT(names, ElementsAre("fused_embedding", "fused_embedding#2", "fused_embedding#3"));
}

// The message about an unknown key lists the keys of the operator and those that every operation may have.
TEST(BuildProgram, AnUnknownKeyNamesAllThatAreKnown) {
  const auto error = [](const std::string& keys) { return build("queues: {main: [{" + keys + "}]}").errors; };
  EXPECT_THAT(error("delay: {time: 1 us, grup: tp}"), HasSubstr("unknown key 'grup' in delay; did you mean 'group'?"));
  EXPECT_THAT(error("delay: {time: 1 us, zzz: 1}"), HasSubstr("known keys: time, group, where\n"));
  EXPECT_THAT(error("delay: {tim: 1 us}"), AllOf(HasSubstr("did you mean 'time'?"), HasSubstr("missing key 'time'")));
}

std::string errors_of(const std::string& yaml, const libraries::EquippedSystem& system = example_equipped(2)) {
  const Built built = build(yaml, system);
  EXPECT_EQ(built.program, nullptr);
  return built.errors;
}

TEST(BuildProgram, AnUnknownOperatorIsNamedWhereItStands) {
  EXPECT_THAT(
      errors_of("queues:\n  main:\n    - embedding_all_to_al: {}\n"),
      AllOf(HasSubstr("program.yaml:3:7: unknown operator 'embedding_all_to_al'"), HasSubstr("embedding_all_to_all")));
}

TEST(BuildProgram, AnOperationIsOneOperator) {
  EXPECT_THAT(errors_of("queues:\n  main:\n    - embedding_all_to_all\n"),
              HasSubstr("program.yaml:3:7: an operation consists of one operator with its parameters"));
  EXPECT_THAT(errors_of("queues:\n  main:\n    - {a: 1, b: 2}\n"),
              HasSubstr("program.yaml:3:7: an operation consists of one operator"));
}

TEST(BuildProgram, AQueueNeedsOperations) {
  EXPECT_THAT(errors_of("queues:\n  main: []\n"), HasSubstr("program.yaml:2:9: queue 'main' has no operations"));
  EXPECT_THAT(errors_of("queues:\n  main: 3\n"),
              HasSubstr("program.yaml:2:9: queue 'main' has no operations, found '3'"));
  EXPECT_THAT(errors_of("queues:\n  main: {priority: 1}\n"), HasSubstr("missing key 'operations'"));
  EXPECT_THAT(errors_of("queues: {}\n"), HasSubstr("the program has no queues"));
  EXPECT_THAT(errors_of("queue: {main: []}\n"), HasSubstr("program.yaml:1:1: "));
}

TEST(BuildProgram, APriorityHasARange) {
  EXPECT_THAT(
      errors_of("queues:\n  main:\n    priority: 17\n    operations: [{embedding_all_to_all: " + embedding + "}]\n"),
      HasSubstr("program.yaml:3:15: "));
}

// --- Attributes of queues

const std::string one_stream = "[{stream: {read: 1 MB, write: 1 MB}}]";

std::unique_ptr<program::Program> two_queues(const std::string& a, const std::string& b, const std::string& rest = "",
                                             const libraries::EquippedSystem& system = example_equipped(2)) {
  Built built = build("queues:\n  a: {" + a + "operations: " + one_stream + "}\n  b: {" + b +
                          "operations: " + one_stream + "}\n" + rest,
                      system);
  EXPECT_TRUE(built.program) << built.errors;
  return std::move(built.program);
}

TEST(QueueAttributes, PrioritiesHaveNamesAndNumbers) {
  const auto named = two_queues("priority: low, ", "priority: high, ");
  EXPECT_LT(named->queues[0].priority, 0);
  EXPECT_EQ(named->queues[1].priority, 16);
  const auto numbered = two_queues("priority: normal, ", "priority: 3, ");
  EXPECT_EQ(numbered->queues[0].priority, 0);
  EXPECT_EQ(numbered->queues[1].priority, 3);
  EXPECT_THAT(errors_of("queues: {a: {priority: hihg, operations: " + one_stream + "}}\n"),
              HasSubstr("program.yaml:1:24: 'program.queues.a.priority': is 'hihg'; write low, normal or high, or a "
                        "number from 0 to 16"));
}

// The example GPU has two groups of four CUs, and a partition takes its CUs from all groups.
TEST(QueueAttributes, APartitionIsForItsQueueAlone) {
  const auto made = two_queues("", "cu_partition: 2, ");
  EXPECT_THAT(made->queues[0].cus, ElementsAre(1, 2, 3, 5, 6, 7));
  EXPECT_THAT(made->queues[1].cus, ElementsAre(0, 4));
}

TEST(QueueAttributes, ALimitKeepsNobodyAway) {
  const auto made = two_queues("", "cu_limit: 2, ");
  EXPECT_TRUE(made->queues[0].cus.empty());
  EXPECT_THAT(made->queues[1].cus, ElementsAre(0, 4));
}

TEST(QueueAttributes, WhatDoesNotFitIsToldAtItsKey) {
  const auto errors = [](const std::string& a, const std::string& b) {
    libraries::EquippedSystem system = example_equipped(2);
    system.node.gpu.compute.partition_step = 2;
    return errors_of(
        "queues:\n  a: {" + a + "operations: " + one_stream + "}\n  b: {" + b + "operations: " + one_stream + "}\n",
        system);
  };
  EXPECT_THAT(errors("cu_partition: 3, ", ""),
              HasSubstr("program.yaml:2:21: cu_partition 3: example reserves CUs in steps of 2; write 2 or 4"));
  EXPECT_THAT(errors("cu_partition: 1, ", ""), HasSubstr("in steps of 2; write 2\n"));
  EXPECT_THAT(errors("cu_partition: 6, ", "cu_partition: 4, "),
              HasSubstr("program.yaml:3:21: the reservations so far need 10 CUs, but example has 8"));
  EXPECT_THAT(errors("cu_partition: 8, ", ""),
              HasSubstr("program.yaml:3:6: all 8 CUs are reserved, so that none is left for queue 'b'"));
  EXPECT_THAT(errors("cu_partition: 4, ", "cu_limit: 5, "),
              HasSubstr("program.yaml:3:17: cu_limit is 5, but only 4 CUs are not reserved; write 4 or less"));
  EXPECT_THAT(errors("cu_partition: 4, cu_limit: 2, ", ""),
              HasSubstr("program.yaml:2:34: 'program.queues.a.cu_limit': is given together with cu_partition"));
}

TEST(ProgramOrder, LaunchNamesQueuesAndTheOthersFollow) {
  EXPECT_TRUE(two_queues("", "")->launch.empty());
  EXPECT_THAT(two_queues("", "", "launch: [b]\norder: serial\n")->launch, ElementsAre(1, 0));
  EXPECT_EQ(two_queues("", "", "order: serial\n")->order, program::Order::serial);
  const std::string errors =
      errors_of("queues: {a: " + one_stream + ", b: " + one_stream + "}\nlaunch: [b, b, com]\norder: seriel\n");
  EXPECT_THAT(errors, HasSubstr("program.yaml:3:8: 'program.order' is 'seriel'; did you mean 'serial'?"));
  EXPECT_THAT(errors_of("queues: {a: " + one_stream + ", b: " + one_stream + "}\nlaunch: [b, b, com]\n"),
              AllOf(HasSubstr("program.yaml:2:13: 'program.launch' has queue 'b' twice"),
                    HasSubstr("program.yaml:2:16: 'program.launch' names no queue: 'com'; queues: a, b")));
}

TEST(BuildProgram, AnOperatorsOwnErrorsKeepTheirPlaces) {
  EXPECT_THAT(errors_of("queues:\n  main:\n    - embedding_all_to_all:\n        dim: 64 B\n        poling: 3\n"),
              AllOf(HasSubstr("program.yaml:4:14: "), HasSubstr("program.yaml:5:9: unknown key 'poling'"),
                    HasSubstr("missing key 'tables_per_gpu'")));
}

// Errors about sizes are reported at the operator, after all its parameters were read.
TEST(BuildProgram, ChecksAgainstTheMachineComeWithTheRemedy) {
  std::string odd = embedding;
  odd.replace(odd.find("64"), 2, "63");
  EXPECT_THAT(errors_of("queues:\n  main:\n    - embedding_all_to_all: " + odd + "\n"),
              HasSubstr("program.yaml:3:29: global_batch 63 cannot be divided evenly among 2 ranks; use 64"));
  std::string exchange = embedding;
  exchange.replace(exchange.find("fused"), 5, "all_to_all");
  EXPECT_THAT(errors_of("queues:\n  main:\n    - embedding_all_to_all: " + exchange + "\n", example_equipped(1)),
              HasSubstr("program.yaml:3:29: an All-to-All needs at least 2 ranks"));
}

TEST(BuildProgram, AllErrorsAreToldAtOnce) {
  const std::string errors =
      errors_of("queues:\n  a: []\n  b:\n    - nonsense: {}\n  c:\n    - embedding_all_to_all: {dim: 0}\n");
  EXPECT_THAT(errors, AllOf(HasSubstr("program.yaml:2:6: "), HasSubstr("program.yaml:4:7: "),
                            HasSubstr("program.yaml:6:35: ")));
}

TEST(Registry, EveryOperatorHasItsOwnName) {
  std::vector<std::string> names;
  for (const builder::Operator& op : all()) names.push_back(op.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(Registry, EveryComponentCanBeExplained) {
  config::Catalogue catalogue;
  describe(catalogue);
  for (const std::string& name : catalogue.names()) {
    config::Diagnostics diagnostics;
    EXPECT_TRUE(catalogue.explain(name, diagnostics)) << name << ": " << diagnostics.str();
  }
  for (const builder::Operator& op : all()) EXPECT_NE(catalogue.find(op.name), nullptr) << op.name;
}

}  // namespace
}  // namespace moire::operators
