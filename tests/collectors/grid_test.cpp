// Tests the readers of the grids, the files that list the points that the collectors of validation/ measure. The
// readers need no GPU.
#include "validation/c3/grid.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "validation/fused_embedding/grid.hpp"

namespace {

using testing::ExitedWithCode;

const std::string validation = std::string(MOIRE_SOURCE_DIR) + "/validation/";

std::string file_of(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

TEST(EmbeddingGrid, ReadsWhatWeShip) {
  const std::vector<Point> all = read_grid(validation + "h200/grid.csv", 4);
  const std::vector<Point> marked = read_grid(validation + "h200/grid.csv", 2);
  EXPECT_EQ(all.size(), 26);
  EXPECT_EQ(marked.size(), 26);
  EXPECT_EQ(read_grid(validation + "h200/grid_held_out.csv", 4).size(), 14);
  for (const Point& point : all) EXPECT_EQ(point.shape.problem(), "") << point.name;
  EXPECT_EQ(all[0].shape.ranks, 4);
  EXPECT_EQ(marked[0].shape.ranks, 2);
}

TEST(EmbeddingGrid, TellsEveryErrorWithItsLine) {
  const std::string grid = file_of("points.csv", std::string(kGridColumns) +
                                                     "\n"
                                                     "# a comment\n"
                                                     "one,16,8192,16,128,fp32,0,1000000,16,1\n"
                                                     "one,16,8192,16,128,fp8,0,1000000,16,1\n"
                                                     "Two,0,8192,16,128,fp16,0,1000000,16,1\n"
                                                     "three,16\n");
  EXPECT_EXIT(read_grid(grid, 4), ExitedWithCode(2),
              "points.csv:4: a second point of the name one\n"
              "[^\n]*points.csv:4: 'fp8' in column 6; fp32, fp16 or bf16 would be right\n"
              "[^\n]*points.csv:5: name 'Two'; lower-case letters, digits and _ would be right[^\n]*\n"
              "[^\n]*points.csv:5: '0' in column 2; a number from 1[.0]* to 1024[.0]* would be right\n"
              "[^\n]*points.csv:6: 2 cells; 10 would be right\n$");
}

TEST(EmbeddingGrid, AGridWithoutAPointForTwoGpusIsAnError) {
  const std::string grid =
      file_of("four.csv", std::string(kGridColumns) + "\none,16,8192,16,128,fp32,0,1000000,16,0\n");
  EXPECT_EQ(read_grid(grid, 4).size(), 1);
  EXPECT_EXIT(read_grid(grid, 2), ExitedWithCode(2), "four.csv: no point for 2 GPUs");
}

TEST(PairGrid, ReadsWhatWeShip) {
  EXPECT_GT(read_pairs(validation + "h200x4/c3_grid.csv").size(), 24);
  EXPECT_GT(read_pairs(validation + "h200x4/c3_grid_held_out.csv").size(), 20);
  EXPECT_EQ(read_strategies(validation + "h200x4/c3_strategies.csv").size(), 9);
  EXPECT_EQ(read_pairs(validation + "c3/codec_grid.csv").size(), 20);
  EXPECT_EQ(read_strategies(validation + "c3/codec_strategies.csv").size(), 4);
}

TEST(PairGrid, TellsEveryErrorWithItsLine) {
  const std::string pairs = file_of("pairs.csv", std::string(kPairColumns) +
                                                     "\n"
                                                     "a,8192,8192,8192,bf16,0,none,all_gather,1048576\n"
                                                     "a,8192,8192,8192,bf16,0,none,all_gather,1048576\n"
                                                     "a,4096,8192,8192,bf16,0,none,none,0\n"
                                                     "b,8191,8192,8192,bf16,0,none,none,65536\n"
                                                     "d,8,8,8,bf16,0,compress,none,0\n"
                                                     "c,0,0,0,fp32,65537,none,gather,0\n");
  EXPECT_EXIT(
      read_pairs(pairs), ExitedWithCode(2),
      "pairs.csv:3: a second row of this pair\n"
      "[^\n]*pairs.csv:4: another shape of the name a\n"
      "[^\n]*pairs.csv:5: multiples of 8 would be right[^\n]*\n"
      "[^\n]*pairs.csv:5: bytes_per_rank is 0 exactly where collective is none\n"
      "[^\n]*pairs.csv:6: a GEMM needs m, n, k and bf16, a stream or a codec needs stream_bytes and fp32[^\n]*\n"
      "[^\n]*pairs.csv:7: 'gather' in column 8; all_gather, all_to_all, all_reduce, reduce_scatter or none would "
      "be right\n$");
  const std::string strategies = file_of("strategies.csv", std::string(kStrategyColumns) +
                                                               "\n"
                                                               "serial,nccl,0,1,0,compute,0\n"
                                                               "serial,copy,8,1,0,comm,0\n");
  EXPECT_EXIT(read_strategies(strategies), ExitedWithCode(2),
              "strategies.csv:3: a second strategy of the name serial\n"
              "[^\n]*strategies.csv:3: max_ctas is for nccl");
}

TEST(Grids, HaveTheColumnsOfTheirKind) {
  EXPECT_EXIT(read_strategies(validation + "h200x4/c3_grid.csv"), ExitedWithCode(2), "the columns are not strategy,");
  EXPECT_EXIT(read_grid("nowhere.csv", 4), ExitedWithCode(2), "nowhere.csv: No such file");
  EXPECT_EXIT(read_grid(file_of("empty.csv", std::string(kGridColumns) + "\n"), 4), ExitedWithCode(2), "it has no row");
}

}  // namespace
