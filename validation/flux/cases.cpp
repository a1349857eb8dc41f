#include "cases.hpp"

#include <cstdio>
#include <cstdlib>

#include "csv_rows.hpp"
#include "tile_order.hpp"

std::vector<Case> read_cases(const std::string& path, const std::string& modes, int gpus) {
  std::vector<Case> cases;
  read_csv_rows(path, kCaseColumns, [&](CsvRow& row) {
    Case c;
    c.mode = Mode(row.one_of(0, kModeNames));
    c.m = row.whole(1, 64, 1 << 20);
    c.n = row.whole(2, kTileColumns, 1 << 20);
    c.k = row.whole(3, 512, 1 << 20);
    c.chunks = row.whole(4, 1, 64);
    c.swizzle = row.one_of(5, {"off", "on"}) == 1;
    c.traced = row.whole(6, 0, 1) == 1;
    if (!row.good()) return;
    if (c.m % 64 != 0 || c.n % kTileColumns != 0 || c.k % kTileDepth != 0)
      row.fail("multiples of 64, 256 and 64 would be right for m, n and k");
    if (c.m / gpus % (8 * c.chunks) != 0)
      row.fail("a rank's rows, m / " + std::to_string(gpus) + ", are no multiple of 8 times the chunks");
    if (gpus == 1 && !is_gemm(c.mode)) return;
    if (!modes.empty() && ("," + modes + ",").find("," + row.text(0) + ",") == std::string::npos) return;
    cases.push_back(c);
  });
  if (cases.empty()) {
    std::fprintf(stderr, "%s: none of its cases was asked for and fits %d GPUs\n", path.c_str(), gpus);
    std::exit(2);
  }
  return cases;
}
