#include "models/algorithms/mscclpp/goal.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace moire::mscclpp {

using ir::Collective;

bool Goal::has_input(std::size_t gpu) const {
  return plan_.collective != Collective::broadcast || gpu == 0;  // the format names no root
}

std::uint32_t Goal::outputs(std::size_t gpu) const {
  const auto ranks = static_cast<std::uint32_t>(plan_.gpus.size());
  switch (plan_.collective) {
    case Collective::all_reduce:
    case Collective::all_to_all:
    case Collective::broadcast:
      return layout_.input_chunks();
    case Collective::reduce:
      return gpu == 0 ? layout_.input_chunks() : 0;
    case Collective::all_gather:
      return layout_.input_chunks() * ranks;
    case Collective::reduce_scatter:
      return layout_.input_chunks() / ranks;
    default:
      return 0;
  }
}

std::vector<std::uint32_t> Goal::expected(std::size_t gpu, std::uint32_t chunk, std::uint32_t slice) const {
  const auto ranks = static_cast<std::uint32_t>(plan_.gpus.size());
  const auto input = [&](std::size_t rank, std::uint32_t of) {
    return static_cast<std::uint32_t>(layout_.input_cell(rank, of, slice));
  };
  const std::uint32_t part = std::max(1U, layout_.input_chunks() / ranks);
  std::vector<std::uint32_t> sum;
  switch (plan_.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
      for (std::uint32_t rank = 0; rank < ranks; ++rank) sum.push_back(input(rank, chunk));
      break;
    case Collective::reduce_scatter:
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        sum.push_back(input(rank, static_cast<std::uint32_t>(gpu) * part + chunk));
      }
      break;
    case Collective::all_gather:
      sum.push_back(input(chunk / layout_.input_chunks(), chunk % layout_.input_chunks()));
      break;
    case Collective::all_to_all:
      sum.push_back(input(chunk / part, static_cast<std::uint32_t>(gpu) * part + chunk % part));
      break;
    case Collective::broadcast:
      sum.push_back(input(0, chunk));
      break;
    default:
      break;
  }
  std::sort(sum.begin(), sum.end());
  return sum;
}

std::string misfit(const Plan& plan) {
  const Gpu& gpu = plan.gpus.front();
  const auto ranks = static_cast<std::uint32_t>(plan.gpus.size());
  const std::string shown =
      fmt::format("{} input and {} output chunks for {} gpus", gpu.input_chunks, gpu.output_chunks, ranks);
  const std::uint64_t in = gpu.input_chunks;
  const std::uint64_t out = gpu.output_chunks;
  const bool both = in > 0 && out > 0;
  const bool lacks_one = !both && !plan.in_place;
  switch (plan.collective) {
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::reduce:
      return lacks_one || (both && in != out) ? shown : "";
    case Collective::all_to_all:
      return lacks_one || (both && in != out) || std::max(in, out) % ranks != 0 ? shown : "";
    case Collective::all_gather:
      return lacks_one || (both && out != in * ranks) || (in == 0 && out % ranks != 0) ? shown : "";
    case Collective::reduce_scatter:
      return lacks_one || (both && in != out * ranks) || (out == 0 && in % ranks != 0) ? shown : "";
    default:
      return "";
  }
}

}  // namespace moire::mscclpp
