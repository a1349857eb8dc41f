#include "grid.hpp"

#include <map>
#include <set>
#include <tuple>

#include "csv_rows.hpp"

namespace {

constexpr double kMostBytes = 4.0 * (1 << 30);

}  // namespace

std::vector<Pair> read_pairs(const std::string& path) {
  std::vector<Pair> pairs;
  std::map<std::string, std::tuple<int, int, int, int64_t, std::string>> shapes;
  std::set<std::tuple<std::string, int, int64_t>> seen;
  std::vector<std::string> collectives = kKindNames;
  collectives.push_back("none");
  read_csv_rows(path, kPairColumns, [&](CsvRow& row) {
    Pair p;
    ComputeShape& c = p.compute;
    c.name = row.text(0);
    c.m = row.whole(1, 0, 1 << 20);
    c.n = row.whole(2, 0, 1 << 20);
    c.k = row.whole(3, 0, 1 << 20);
    const bool stream = row.one_of(4, {"bf16", "fp32"}) == 1;
    c.stream_bytes = int64_t(row.number(5, 0, kMostBytes));
    const int codec = row.one_of(6, {"none", "compress", "decompress"});
    if (codec > 0) c.codec = row.text(6);
    const int collective = row.one_of(7, collectives);
    p.has_collective = collective < int(kKindNames.size());
    if (p.has_collective) p.kind = Kind(collective);
    p.bytes_per_rank = int64_t(row.number(8, 0, kMostBytes));
    if (!row.good()) return;
    if (stream != (c.stream_bytes > 0) || stream == (c.m > 0) || (c.is_codec() && !stream))
      row.fail(
          "a GEMM needs m, n, k and bf16, a stream or a codec needs stream_bytes and fp32; write 0 for the others");
    if (!stream && (c.m % 8 != 0 || c.n % 8 != 0 || c.k % 8 != 0 || c.n == 0 || c.k == 0))
      row.fail("multiples of 8 would be right for m, n and k: rows of 16 bytes");
    if (stream && c.stream_bytes % 65536 != 0) row.fail("a multiple of 65536 would be right for stream_bytes");
    if (p.has_collective != (p.bytes_per_rank > 0)) row.fail("bytes_per_rank is 0 exactly where collective is none");
    if (p.bytes_per_rank % 65536 != 0) row.fail("a multiple of 65536 would be right for bytes_per_rank");
    const auto shape = std::make_tuple(c.m, c.n, c.k, c.stream_bytes, c.codec);
    if (shapes.emplace(c.name, shape).first->second != shape) row.fail("another shape of the name " + c.name);
    if (!seen.emplace(c.name, collective, p.bytes_per_rank).second) row.fail("a second row of this pair");
    pairs.push_back(p);
  });
  return pairs;
}

std::vector<Strategy> read_strategies(const std::string& path) {
  std::vector<Strategy> strategies;
  std::set<std::string> names;
  read_csv_rows(path, kStrategyColumns, [&](CsvRow& row) {
    Strategy s;
    s.name = row.text(0);
    s.copy_engine = row.one_of(1, {"nccl", "copy"}) == 1;
    s.max_ctas = row.whole(2, 0, 64);
    s.streams = row.whole(3, 0, 1);
    s.priority = row.whole(4, 0, 1) == 1;
    s.first = First(row.one_of(5, {"compute", "comm"}));
    s.compute_sms = row.whole(6, 0, 1024);
    row.unique(0, "strategy", names);
    if (s.copy_engine ? s.max_ctas != 0 : s.streams != 1)
      row.fail("max_ctas is for nccl (else 0), streams for copy (else 1)");
    strategies.push_back(s);
  });
  return strategies;
}
