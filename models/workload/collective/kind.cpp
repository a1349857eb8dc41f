#include "models/workload/collective/kind.hpp"

namespace moire::collective {

const char* name_of(Kind kind) {
  constexpr const char* names[] = {"all_reduce", "all_gather", "reduce_scatter",
                                   "all_to_all", "broadcast",  "send_recv"};
  return names[static_cast<int>(kind)];
}

const char* name_of(Protocol protocol) {
  constexpr const char* names[] = {"auto", "simple", "ll", "ll128"};
  return names[static_cast<int>(protocol)];
}

}  // namespace moire::collective
