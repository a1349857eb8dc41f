#include <cstdio>
#include <utility>

#include "cuda_check.hpp"
#include "nccl_exchange.hpp"

#ifdef MOIRE_HAVE_NCCL
#include "nccl_communicators.hpp"

namespace {

bool fine(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return true;
  std::fprintf(stderr, "NCCL: %s: %s\n", what, ncclGetErrorString(result));
  return false;
}

class Exchange : public NcclExchange {
 public:
  explicit Exchange(std::vector<ncclComm_t> comms) : comms_(std::move(comms)) {}
  ~Exchange() override {
    for (ncclComm_t comm : comms_) ncclCommDestroy(comm);
  }

  bool all_to_all(const std::vector<const void*>& send, const std::vector<void*>& receive, size_t share_bytes,
                  const std::vector<cudaStream_t>& streams) override {
    const int ranks = int(comms_.size());
    bool good = fine(ncclGroupStart(), "group start");
    for (int r = 0; r < ranks; ++r) {
      for (int p = 0; p < ranks; ++p) {
        good &= fine(ncclSend(static_cast<const char*>(send[r]) + size_t(p) * share_bytes, share_bytes, ncclInt8, p,
                              comms_[r], streams[r]),
                     "send");
        good &= fine(ncclRecv(static_cast<char*>(receive[r]) + size_t(p) * share_bytes, share_bytes, ncclInt8, p,
                              comms_[r], streams[r]),
                     "receive");
      }
    }
    return fine(ncclGroupEnd(), "group end") && good;
  }

 private:
  std::vector<ncclComm_t> comms_;
};

}  // namespace

std::unique_ptr<NcclExchange> NcclExchange::create(int ranks) {
  nccl_without_multicast();
  std::vector<ncclComm_t> comms(ranks);
  std::vector<int> devices(ranks);
  for (int r = 0; r < ranks; ++r) devices[r] = r;
  if (!fine(ncclCommInitAll(comms.data(), ranks, devices.data()), "start")) {
    std::fprintf(stderr, "the columns of NCCL stay empty\n");
    return nullptr;
  }
  return std::make_unique<Exchange>(std::move(comms));
}

std::string NcclExchange::version() { return nccl_version(); }

#else

std::unique_ptr<NcclExchange> NcclExchange::create(int) {
  std::fprintf(stderr, "built without NCCL: its columns stay empty\n");
  return nullptr;
}

std::string NcclExchange::version() { return "none"; }

#endif
