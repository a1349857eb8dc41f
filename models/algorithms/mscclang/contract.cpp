#include "models/algorithms/mscclang/contract.hpp"

#include <fmt/format.h>

namespace moire::mscclang {

namespace {

using ir::Collective;

}  // namespace

Aliasing aliasing(const Options& options) {
  if (!options.stated || !options.in_place) return Aliasing::none;
  switch (options.collective) {
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::all_to_all:
      return Aliasing::same;
    case Collective::all_gather:
      return Aliasing::input_in_output;
    case Collective::reduce_scatter:
      return Aliasing::output_in_input;
    default:
      return Aliasing::none;
  }
}

bool places_matter(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::reduce_scatter ||
         collective == Collective::all_to_all;
}

InitialBuffers initial_buffers(const Options& options, std::int32_t rank) {
  const auto part = static_cast<std::size_t>(options.chunk_factor);
  const std::size_t whole = part * static_cast<std::size_t>(options.ranks);
  const auto buffers = [](std::size_t in, std::size_t out) {
    return InitialBuffers{std::vector<bool>(in, true), std::vector<bool>(out, false)};
  };
  switch (options.collective) {
    case Collective::all_gather:
      return buffers(part, whole);
    case Collective::reduce_scatter:
      return buffers(whole, part);
    case Collective::all_to_all:
      return buffers(whole, whole);
    case Collective::broadcast:
      return {std::vector<bool>(part, rank == options.root), std::vector<bool>(part, false)};
    default:
      return buffers(part, part);
  }
}

std::vector<Range> results(const Options& options, std::int32_t rank, std::size_t input_chunks,
                           std::size_t output_chunks) {
  const auto in = static_cast<std::int32_t>(input_chunks);
  const auto out = static_cast<std::int32_t>(output_chunks);
  const std::int32_t k = options.chunk_factor;
  if (!options.stated) return {{input, 0, in}, {output, 0, out}};
  switch (options.collective) {
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::all_to_all:
      return {options.in_place ? Range{input, 0, in} : Range{output, 0, out}};
    case Collective::reduce:
      if (rank != options.root) return {};
      return {options.in_place ? Range{input, 0, in} : Range{output, 0, out}};
    case Collective::all_gather:
      return {{output, 0, out}};
    case Collective::reduce_scatter:
      return {options.in_place ? Range{input, rank * k, rank * k + k} : Range{output, 0, out}};
    default:
      return {{input, 0, in}, {output, 0, out}};
  }
}

std::optional<std::vector<std::pair<std::int32_t, std::int32_t>>> wanted(const Options& options, std::int32_t rank,
                                                                         std::int32_t index) {
  if (!options.stated) return std::nullopt;
  const std::int32_t k = options.chunk_factor;
  const auto from_all = [&](std::int32_t of) {
    std::vector<std::pair<std::int32_t, std::int32_t>> all;
    for (std::int32_t r = 0; r < options.ranks; ++r) all.emplace_back(r, of);
    return all;
  };
  using One = std::vector<std::pair<std::int32_t, std::int32_t>>;
  switch (options.collective) {
    case Collective::all_reduce:
      return from_all(index);
    case Collective::reduce:
      return rank == options.root ? std::optional(from_all(index)) : std::nullopt;
    case Collective::reduce_scatter:
      return from_all(rank * k + index);
    case Collective::broadcast:
      return One{{options.root, index}};
    case Collective::all_gather:
      return One{{index / k, index % k}};
    case Collective::all_to_all:
      return One{{index / k, rank * k + index % k}};
    default:
      return std::nullopt;
  }
}

std::optional<std::string> unmet(const Program& program) {
  const Options& options = program.options();
  for (std::int32_t r = 0; r < options.ranks; ++r) {
    for (std::int32_t i = 0; i < program.length(r, output); ++i) {
      const auto sum = wanted(options, r, i);
      if (!sum) continue;
      std::uint64_t fingerprint = 0;
      for (const auto& [rank, index] : *sum) fingerprint += Values::fingerprint_of(rank, index);
      const ValueId value = program.value({r, output, i});
      if (value != no_value && program.values().fingerprint(value) == fingerprint) {
        if (!program.is_encoded({r, output, i})) continue;
        return fmt::format("rank {} output[{}] is encoded", r, i);
      }
      const auto [rank, index] = sum->front();
      const std::string what = sum->size() == 1 ? fmt::format("rank {} [{}]", rank, index)
                                                : fmt::format("the sum of [{}] over all ranks", index);
      return fmt::format("rank {} output[{}] holds {} instead of {}", r, i, program.values().text(value), what);
    }
  }
  return std::nullopt;
}

}  // namespace moire::mscclang
