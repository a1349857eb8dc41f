#include "broadcast_grid.hpp"

#include <cstdio>
#include <cstdlib>

#include "csv_rows.hpp"

std::vector<Case> read_grid(const std::string& path, const std::string& use, int gpus) {
  std::vector<Case> cases;
  read_csv_rows(path, kGridColumns, [&](CsvRow& row) {
    Case c;
    Broadcast& b = c.broadcast;
    b.link = Link(row.one_of(0, kLinkNames));
    b.compression = Compression(row.one_of(1, kCompressionNames));
    b.rate = 32 / row.whole(2, 1, 8);
    b.ranks = row.whole(3, 2, 8);
    b.bytes = row.whole(4, 1 << 10, int(Chain::kMost));
    b.chunks = row.whole(5, 1, Chain::kMostChunks);
    b.streams = row.whole(6, 1, Chain::kMostStreams);
    row.one_of(7, {"test", "calibration"});
    c.use = row.text(7);
    if (!row.good()) return;
    if (b.bytes % (int64_t{4096} * b.chunks) != 0) row.fail("chunks of multiples of 4 KiB would be right");
    if ((b.compression == Compression::off) != (b.rate == 32)) row.fail("ratio 1 goes with compression off, alone");
    if (b.rate != 4 && b.rate != 8 && b.rate != 16 && b.rate != 32) row.fail("ratio 1, 2, 4 or 8 would be right");
    if (b.ranks > gpus + 1 || (!use.empty() && c.use != use)) return;
    cases.push_back(c);
  });
  if (cases.empty()) {
    std::fprintf(stderr, "%s: none of its cases was asked for and fits %d GPUs\n", path.c_str(), gpus);
    std::exit(2);
  }
  return cases;
}
