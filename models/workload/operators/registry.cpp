#include "models/workload/operators/registry.hpp"

#include <algorithm>

#include "models/workload/chunked/operators.hpp"
#include "models/workload/codec/operators.hpp"
#include "models/workload/collective/operators.hpp"
#include "models/workload/kernel/operators.hpp"
#include "models/workload/libraries/plan_library.hpp"
#include "models/workload/operators/program_spec.hpp"
#include "models/workload/own/operators.hpp"
#include "models/workload/tensor_parallel/operators.hpp"
#include "models/workload/transformer/operators.hpp"

namespace moire::operators {

const std::vector<builder::Operator>& all() {
  static const std::vector<builder::Operator> operators = {
      kernel::embedding_operator(),
      kernel::dlrm_operator(),
      collective::all_gather_operator(),
      collective::all_reduce_operator(),
      collective::reduce_scatter_operator(),
      collective::all_to_all_operator(),
      collective::broadcast_operator(),
      collective::send_recv_operator(),
      chunked::chunked_broadcast_operator(),
      chunked::chunked_all_gather_operator(),
      chunked::chunked_reduce_scatter_operator(),
      chunked::chunked_all_reduce_operator(),
      codec::compress_operator(),
      codec::decompress_operator(),
      codec::decompress_reduce_compress_operator(),
      kernel::gemm_operator(),
      tensor_parallel::gemm_reduce_scatter_operator(),
      tensor_parallel::all_gather_gemm_operator(),
      transformer::transformer_operator(),
      transformer::data_parallel_step_operator(),
      kernel::stream_operator(),
      kernel::delay_operator(),
      kernel::wg_trace_operator(),
      own::kernel_operator(),
      collective::msccl_operator(),
      collective::mscclpp_operator(),
  };
  return operators;
}

const builder::Operator* find(std::string_view name) {
  const auto found =
      std::find_if(all().begin(), all().end(), [name](const builder::Operator& op) { return op.name == name; });
  return found == all().end() ? nullptr : &*found;
}

void describe(config::Catalogue& catalogue) {
  catalogue.add<ProgramSpec>();
  catalogue.add<QueueSpec>();
  catalogue.add<groups::MembersSpec>();
  catalogue.add<machine::SystemSpec>();
  catalogue.add<libraries::GemmLibrarySpec>();
  catalogue.add<libraries::LibrarySpec>();
  catalogue.add<libraries::PlanLibrarySpec>();
  for (const builder::Operator& op : all()) op.describe(catalogue);
}

}  // namespace moire::operators
