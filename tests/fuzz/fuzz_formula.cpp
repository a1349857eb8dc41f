// libFuzzer: reads any bytes as a formula over three names. An accepted formula must have the same value each time that
// it is computed. A refused formula must have an error message.
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string>

#include "models/workload/formula/formula.hpp"

namespace {

using namespace moire;

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  formula::Names names;
  std::string why;
  double* rank = names.add("rank", 0, why);
  double* m = names.add("m", 4096, why);
  names.add("ranks", 8, why);
  require(rank != nullptr && m != nullptr);
  config::Diagnostics diagnostics;
  const auto compiled = formula::Formula::compile({text, {}}, "work", names, diagnostics);
  require(compiled.has_value() == diagnostics.ok());
  if (!compiled) return 0;
  for (const double value : {0., 1., 7., 1e18}) {
    *rank = value;
    const double first = compiled->value();
    const double again = compiled->value();
    require(std::bit_cast<std::uint64_t>(first) == std::bit_cast<std::uint64_t>(again) ||
            (std::isnan(first) && std::isnan(again)));
    if (!compiled->uses(rank)) break;
  }
  return 0;
}
