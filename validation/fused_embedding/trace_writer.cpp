#include "trace_writer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <tuple>

namespace {

struct Span {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
};

int64_t corrected(uint64_t ns, double offset) { return int64_t(ns) - int64_t(std::llround(offset)); }

// Returns true for a record that no WG has written: no WG waits for its own rank.
bool unused(const WaitRecord& w) { return w.end_ns == 0; }

Span span_of(const std::vector<RankRecords>& ranks, const std::vector<double>& offset) {
  Span span;
  const auto add = [&](uint64_t start, uint64_t end, double o) {
    span.first = std::min(span.first, corrected(start, o));
    span.last = std::max(span.last, corrected(end, o));
  };
  for (size_t r = 0; r < ranks.size(); ++r) {
    for (const TaskRecord& t : ranks[r].tasks) add(t.start_ns, t.end_ns, offset[r]);
    for (const WaitRecord& w : ranks[r].waits)
      if (!unused(w)) add(w.start_ns, w.end_ns, offset[r]);
  }
  return span;
}

std::FILE* open_for_writing(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::perror(path.c_str());
    std::exit(1);
  }
  return file;
}

void close_checked(std::FILE* file, const std::string& path) {
  const bool failed = std::ferror(file) != 0;
  if (std::fclose(file) != 0 || failed) {
    std::fprintf(stderr, "%s: write failed\n", path.c_str());
    std::exit(1);
  }
}

}  // namespace

int64_t makespan_ns(const std::vector<RankRecords>& ranks, const std::vector<double>& offset_ns) {
  const Span span = span_of(ranks, offset_ns);
  return span.last - span.first;
}

AlignedRun align(std::vector<RankRecords> ranks, const std::vector<double>& offset_ns) {
  const Span span = span_of(ranks, offset_ns);
  for (size_t r = 0; r < ranks.size(); ++r) {
    const auto shift = [&](uint64_t& ns) { ns = uint64_t(corrected(ns, offset_ns[r]) - span.first); };
    for (TaskRecord& t : ranks[r].tasks) {
      shift(t.start_ns);
      shift(t.compute_end_ns);
      shift(t.end_ns);
    }
    for (WaitRecord& w : ranks[r].waits) {
      if (unused(w)) continue;
      shift(w.start_ns);
      shift(w.end_ns);
    }
    for (WgRecord& w : ranks[r].wgs) {
      shift(w.entry_ns);
      shift(w.released_ns);
      shift(w.last_end_ns);
      shift(w.end_ns);
    }
  }
  return {std::move(ranks), span.last - span.first};
}

void write_trace(const std::string& path, const AlignedRun& run, const Shape& shape, const Metadata& metadata) {
  struct Row {
    bool wait;
    int rank, wg, task, cu, peer;
    int64_t start, compute_end, end;
  };
  std::vector<Row> rows;
  for (int rank = 0; rank < int(run.ranks.size()); ++rank) {
    const RankRecords& records = run.ranks[rank];
    const int grid = int(records.wgs.size());
    for (int position = 0; position < shape.tasks(); ++position) {
      const Task task = shape.task_at(position, rank, Order::natural);
      const TaskRecord& t = records.tasks[task.id];
      rows.push_back({false, rank, int(t.wg), task.id, int(t.sm), records.exchanges ? task.destination : rank,
                      int64_t(t.start_ns), int64_t(t.compute_end_ns), int64_t(t.end_ns)});
    }
    for (int i = 0; i < int(records.waits.size()); ++i) {
      const WaitRecord& w = records.waits[i];
      if (i / grid == rank) continue;
      rows.push_back({true, rank, i % grid, -1, int(records.wgs[i % grid].sm), i / grid, int64_t(w.start_ns),
                      int64_t(w.end_ns), int64_t(w.end_ns)});
    }
  }
  // The peer is compared last. All waits of a WG have task -1 and may start at the same time, so that only the peer
  // tells them apart.
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.rank, a.start, a.wg, a.task, a.peer) < std::tie(b.rank, b.start, b.wg, b.task, b.peer);
  });

  std::FILE* file = open_for_writing(path);
  std::fprintf(file, "# moire-wgtrace 1\n");
  for (const auto& [key, value] : metadata) std::fprintf(file, "# %s: %s\n", key.c_str(), value.c_str());
  std::fprintf(file, "kind,rank,wg,task,cu,peer,start_ns,compute_end_ns,end_ns,read_bytes,flop,store_bytes\n");
  for (const Row& r : rows) {
    std::fprintf(file, "%s,%d,%d,%d,%d,%d,%lld,%lld,%lld,%lld,%lld,%lld\n", r.wait ? "wait" : "task", r.rank, r.wg,
                 r.task, r.cu, r.peer, static_cast<long long>(r.start), static_cast<long long>(r.compute_end),
                 static_cast<long long>(r.end), static_cast<long long>(r.wait ? 0 : shape.task_read_bytes()),
                 static_cast<long long>(r.wait ? 0 : shape.task_flop()),
                 static_cast<long long>(r.wait ? 0 : shape.task_store_bytes()));
  }
  close_checked(file, path);
}

void write_wgs(const std::string& path, const AlignedRun& run, const Metadata& metadata) {
  std::FILE* file = open_for_writing(path);
  for (const auto& [key, value] : metadata) std::fprintf(file, "# %s: %s\n", key.c_str(), value.c_str());
  std::fprintf(file, "rank,wg,cu,entry_ns,released_ns,last_end_ns,end_ns,tasks\n");
  for (size_t rank = 0; rank < run.ranks.size(); ++rank) {
    for (size_t wg = 0; wg < run.ranks[rank].wgs.size(); ++wg) {
      const WgRecord& w = run.ranks[rank].wgs[wg];
      std::fprintf(file, "%zu,%zu,%u,%lld,%lld,%lld,%lld,%u\n", rank, wg, w.sm, static_cast<long long>(w.entry_ns),
                   static_cast<long long>(w.released_ns), static_cast<long long>(w.last_end_ns),
                   static_cast<long long>(w.end_ns), w.tasks);
    }
  }
  close_checked(file, path);
}
