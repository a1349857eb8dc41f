// libFuzzer: reads any bytes as a quantity of each dimension, and as a path of --set. An accepted value must be within
// the bounds of its dimension. If Moire writes the value as text, it must accept this text and write the same text
// again.
#include <cmath>
#include <cstdlib>
#include <string>

#include "sim/config/override.hpp"
#include "sim/config/units.hpp"

namespace {

using namespace moire;

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using config::Dimension;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto dimension :
       {Dimension::time, Dimension::bytes, Dimension::bytes_per_second, Dimension::flop, Dimension::power,
        Dimension::energy, Dimension::flop_per_second, Dimension::per_second, Dimension::ratio}) {
    double value = 0;
    if (const auto problem = config::parse_quantity(text, dimension, value)) {
      require(!problem->what.empty());
      continue;
    }
    require(std::isfinite(value));
    const auto [least, most] = config::bounds_of(dimension);
    require(value == 0 || (std::abs(value) >= least && std::abs(value) <= most));
    const std::string written = config::format_quantity(value, dimension);
    double again = 0;
    // Only about four digits are written, so the text of a value near a bound may exceed the bound.
    if (std::abs(value) > most / 1.01 || std::abs(value) < least * 1.01) continue;
    require(!config::parse_quantity(written, dimension, again));
    require(std::abs(again - value) <= 0.01 * std::abs(value));
    require(config::format_quantity(again, dimension) == written);
  }
  config::Diagnostics diagnostics;
  const auto path = config::parse_path(text, {}, diagnostics);
  require(path.has_value() == diagnostics.ok());
  if (path) require(!path->empty());
  return 0;
}
