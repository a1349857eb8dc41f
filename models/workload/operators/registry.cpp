#include "models/workload/operators/registry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/workload/collective/msccl.hpp"
#include "models/workload/collective/mscclpp.hpp"
#include "models/workload/collective/spec.hpp"
#include "models/workload/kernel/delay.hpp"
#include "models/workload/kernel/dlrm.hpp"
#include "models/workload/kernel/gemm.hpp"
#include "models/workload/kernel/stream.hpp"
#include "models/workload/kernel/wg_trace.hpp"
#include "models/workload/operators/program_spec.hpp"

namespace moire::operators {

namespace {

// An operator whose whole input is its spec: parse it, check it against the machine where it has to fit one, append.
template <class Spec>
Operator from_spec(std::string name, void (*append)(builder::Builder&, const Spec&),
                   std::optional<config::Problem> (*check)(const Spec&, const machine::SystemSpec&) = nullptr,
                   std::vector<Knob> knobs = {}) {
  return {std::move(name),
          [append, check](const config::Node& node, builder::Builder& build, config::Diagnostics& diagnostics) {
            const std::optional<Spec> spec = config::parse<Spec>(node, diagnostics, nullptr, build.path);
            if (!spec) return false;
            const std::optional<config::Problem> problem = check ? check(*spec, build.system) : std::nullopt;
            if (problem) {
              diagnostics.error(node.place, *problem);
              return false;
            }
            append(build, *spec);
            return true;
          },
          std::move(knobs)};
}

template <class Spec>
Operator collective_operator(std::string name) {
  return from_spec<Spec>(std::move(name), collective::append_collective<Spec>, collective::check_collective<Spec>,
                         {{"engine", {"cu", "dma"}, "cu", "", ""},
                          {"channels", {"4", "8", "16", "32"}, "", "engine", "cu"},
                          {"streams", {"1", "per_peer"}, "1", "engine", "dma"}});
}

bool append_wg_trace(const config::Node& node, builder::Builder& build, config::Diagnostics& diagnostics) {
  const std::optional<kernel::WgTraceSpec> spec =
      config::parse<kernel::WgTraceSpec>(node, diagnostics, nullptr, build.path);
  return spec && kernel::append_wg_trace(build, *spec, node, diagnostics);
}

bool append_msccl(const config::Node& node, builder::Builder& build, config::Diagnostics& diagnostics) {
  const std::optional<collective::MscclSpec> spec =
      config::parse<collective::MscclSpec>(node, diagnostics, nullptr, build.path);
  return spec && collective::append_msccl(build, *spec, node, diagnostics);
}

bool append_mscclpp(const config::Node& node, builder::Builder& build, config::Diagnostics& diagnostics) {
  const std::optional<collective::MscclppSpec> spec =
      config::parse<collective::MscclppSpec>(node, diagnostics, nullptr, build.path);
  return spec && collective::append_mscclpp(build, *spec, node, diagnostics);
}

}  // namespace

const std::vector<Operator>& all() {
  static const std::vector<Operator> operators = {
      from_spec<kernel::EmbeddingSpec>("embedding_all_to_all", kernel::append_embedding_all_to_all,
                                       kernel::check_embedding),
      from_spec<kernel::DlrmSpec>("dlrm_iteration", kernel::append_dlrm, kernel::check_dlrm),
      collective_operator<collective::AllGatherSpec>("all_gather"),
      collective_operator<collective::AllReduceSpec>("all_reduce"),
      collective_operator<collective::ReduceScatterSpec>("reduce_scatter"),
      collective_operator<collective::AllToAllSpec>("all_to_all"),
      collective_operator<collective::BroadcastSpec>("broadcast"),
      collective_operator<collective::SendRecvSpec>("send_recv"),
      from_spec<kernel::GemmSpec>("gemm", kernel::append_gemm, kernel::check_gemm),
      from_spec<kernel::StreamSpec>("stream", kernel::append_stream),
      from_spec<kernel::DelaySpec>("delay", kernel::append_delay),
      {"wg_trace", append_wg_trace},
      {"msccl", append_msccl},
      {"mscclpp", append_mscclpp},
  };
  return operators;
}

void describe(config::Catalogue& catalogue) {
  catalogue.add<ProgramSpec>();
  catalogue.add<QueueSpec>();
  catalogue.add<machine::SystemSpec>();
  catalogue.add<machine::NodeSpec>();
  catalogue.add<machine::NetworkSpec>();
  catalogue.add<machine::GpuSpec>();
  catalogue.add<cu::CuArraySpec>();
  catalogue.add<cu::CuGroupSpec>();
  catalogue.add<memory::CacheSpec>();
  catalogue.add<memory::HbmSpec>();
  catalogue.add<dma::DmaSpec>();
  catalogue.add<link::PortSpec>();
  catalogue.add<host::HostSpec>();
  catalogue.add<libraries::GemmLibrarySpec>();
  catalogue.add<libraries::TileSpec>();
  catalogue.add<libraries::ClusterSpec>();
  catalogue.add<libraries::ChoiceSpec>();
  catalogue.add<nic::NicSpec>();
  catalogue.add<fabric::FabricSpec>();
  catalogue.add<fabric::DirectSpec>();
  catalogue.add<fabric::StarSpec>();
  catalogue.add<fabric::FatTreeSpec>();
  catalogue.add<fabric::RailFatTreeSpec>();
  catalogue.add<fabric::TorusSpec>();
  catalogue.add<fabric::TorusLinkSpec>();
  catalogue.add<libraries::LibrarySpec>();
  catalogue.add<libraries::MessageSpec>();
  catalogue.add<libraries::LowLatencySpec>();
  catalogue.add<libraries::ChannelsSpec>();
  catalogue.add<libraries::ProtocolSpec>();
  catalogue.add<libraries::ExpectationSpec>();
  catalogue.add<libraries::PlanLibrarySpec>();
  catalogue.add<collective::AllGatherSpec>();
  catalogue.add<collective::AllReduceSpec>();
  catalogue.add<collective::ReduceScatterSpec>();
  catalogue.add<collective::AllToAllSpec>();
  catalogue.add<collective::BroadcastSpec>();
  catalogue.add<collective::SendRecvSpec>();
  catalogue.add<kernel::EmbeddingSpec>();
  catalogue.add<kernel::DlrmSpec>();
  catalogue.add<kernel::GemmSpec>();
  catalogue.add<kernel::StreamSpec>();
  catalogue.add<kernel::DelaySpec>();
  catalogue.add<kernel::WgTraceSpec>();
  catalogue.add<collective::MscclSpec>();
  catalogue.add<collective::MscclppSpec>();
}

}  // namespace moire::operators
