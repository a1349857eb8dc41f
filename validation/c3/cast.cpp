#include "cast.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "coding.hpp"
#include "stream.hpp"

Cast::Cast(int gpus, int sms, const std::vector<ComputeShape>& shapes, int64_t most_bytes_per_rank)
    : gpus_(gpus),
      sms_(sms),
      stage_(gpus, sms),
      lanes_(gpus),
      operands_(gpus, shapes),
      memory_(gpus, most_bytes_per_rank) {}

Work& Cast::compute(const ComputeShape& shape, int compute_sms) {
  std::unique_ptr<Work>& made = computes_[{shape.name, compute_sms}];
  if (made != nullptr) return *made;
  if (shape.is_stream()) {
    StreamShape s;
    s.bytes = shape.stream_bytes;
    s.sms = compute_sms > 0 ? std::min(compute_sms, sms_) : sms_;
    made = make_stream(operands_, s);
  } else if (shape.is_codec()) {
    if (compute_sms > 0) {
      std::fprintf(stderr, "c3: ZFP's grids have no limit of SMs; compute_sms 0 would be right for %s\n",
                   shape.name.c_str());
      std::exit(2);
    }
    made = make_coding(operands_, shape);
  } else {
    std::unique_ptr<Gemm> gemm = Gemm::create(operands_, shape, compute_sms);
    gemm->check();
    made = std::move(gemm);
  }
  stage_.warm(*made);
  return *made;
}

Collective& Cast::checked(std::unique_ptr<Collective>& made, const std::string& engine) {
  made->poison();
  stage_.warm(*made);
  made->verify(engine);
  return *made;
}

Collective& Cast::nccl(Kind kind, int64_t bytes_per_rank, int max_ctas) {
  std::unique_ptr<Collective>& made = collectives_[{kind, bytes_per_rank, max_ctas}];
  if (made != nullptr) return *made;
  std::unique_ptr<NcclGroup>& group = groups_[max_ctas];
  if (group == nullptr) group = NcclGroup::create(gpus_, max_ctas);
  made = group->collective(memory_, kind, bytes_per_rank);
  return checked(made, "NCCL");
}

Collective& Cast::copies(Kind kind, int64_t bytes_per_rank, int streams) {
  std::unique_ptr<Collective>& made = collectives_[{kind, bytes_per_rank, -1 - streams}];
  if (made != nullptr) return *made;
  made = make_copies(memory_, lanes_, {kind, bytes_per_rank, gpus_}, streams);
  return checked(made, "copy engines");
}

Collective& Cast::collective(const Pair& pair, const Strategy& strategy) {
  return strategy.copy_engine ? copies(pair.kind, pair.bytes_per_rank, strategy.streams)
                              : nccl(pair.kind, pair.bytes_per_rank, strategy.max_ctas);
}

void require_even_shares(int gpus) {
  if (gpus == 2 || gpus == 4 || gpus == 8) return;
  std::fprintf(stderr, "%d GPUs; --gpus 2, 4 or 8 would be right\n", gpus);
  std::exit(2);
}

std::vector<ComputeShape> distinct_shapes(const std::vector<Pair>& pairs) {
  std::vector<ComputeShape> shapes;
  for (const Pair& p : pairs) {
    const auto same = [&](const ComputeShape& s) { return s.name == p.compute.name; };
    if (std::none_of(shapes.begin(), shapes.end(), same)) shapes.push_back(p.compute);
  }
  return shapes;
}

int64_t most_bytes_per_rank(const std::vector<Pair>& pairs) {
  int64_t most = int64_t{1} << 20;
  for (const Pair& p : pairs) most = std::max(most, p.bytes_per_rank);
  return most;
}
