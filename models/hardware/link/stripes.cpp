#include "models/hardware/link/stripes.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace moire::link {

namespace {

std::int64_t turn_of(const PortSpec& port) { return static_cast<std::int64_t>(port.stripe.value) * port.stripe_ways; }

}  // namespace

double strided_cost(const PortSpec& port, std::int64_t offset, std::int64_t run, std::int64_t stride) {
  if (port.stripe_ways < 2) return 1;
  const auto stripe = static_cast<std::int64_t>(port.stripe.value);
  const std::int64_t turn = turn_of(port);
  if (stripe % std::gcd(stride, turn) == 0) return 1;  // rows begin in the same places of every stripe
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(port.stripe_ways), run / turn * stripe);
  const std::int64_t rows = turn / std::gcd(stride, turn);  // then the rows begin in the same places again
  for (auto& of_group : bytes) of_group *= rows;
  std::int64_t begin = offset % turn;
  for (std::int64_t row = 0; row < rows; ++row, begin = (begin + stride % turn) % turn) {
    std::int64_t at = begin;
    for (std::int64_t left = run % turn; left > 0;) {
      const std::int64_t piece = std::min(left, stripe - at % stripe);
      bytes[static_cast<std::size_t>(at / stripe)] += piece;
      at = (at + piece) % turn;
      left -= piece;
    }
  }
  const auto busiest = static_cast<double>(*std::max_element(bytes.begin(), bytes.end()));
  return 1 + port.stripe_cost * (busiest / static_cast<double>(run * rows) - 1 / static_cast<double>(port.stripe_ways));
}

double strided_cost_of_columns(const PortSpec& port, std::int64_t column, std::int64_t run, std::int64_t stride) {
  if (port.stripe_ways < 2) return 1;
  const std::int64_t places = turn_of(port) / std::gcd(column, turn_of(port));
  double sum = 0;
  for (std::int64_t place = 0; place < places; ++place) sum += strided_cost(port, place * column, run, stride);
  return sum / static_cast<double>(places);
}

}  // namespace moire::link
