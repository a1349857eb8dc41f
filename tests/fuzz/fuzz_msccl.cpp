// libFuzzer: reads and checks any bytes as an MSCCL algorithm. An invalid file must have an error message. A valid file
// must keep the rules of the format, its verdict must agree with the messages, and it must get the same verdict after
// it is written and read again.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "models/algorithms/msccl/check.hpp"
#include "models/algorithms/msccl/lower.hpp"
#include "models/algorithms/msccl/rules.hpp"
#include "models/algorithms/msccl/xml_reader.hpp"
#include "models/algorithms/msccl/xml_writer.hpp"

namespace {

using namespace moire;
using namespace moire;

void require(bool condition) {
  if (!condition) std::abort();
}

std::string verdict_on(const msccl::Algorithm& algorithm, config::Diagnostics& diagnostics) {
  const msccl::Verdict verdict = msccl::check(algorithm, {{std::uint64_t{1} << 30}, {}});
  report(algorithm, verdict, diagnostics);
  require(verdict.accepted(algorithm) == diagnostics.ok());
  require(verdict.deadlock.never() == verdict.deadlock.cycle.empty());
  return diagnostics.str();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  config::Diagnostics diagnostics;
  const auto algorithm = msccl::read_xml_text("input", bytes, diagnostics);
  require(algorithm.has_value() == diagnostics.ok());
  require(diagnostics.size() <= 21);
  if (!algorithm) return 0;
  config::Diagnostics rules;
  require(msccl::check_rules(*algorithm, rules));
  // A few digits in the file can define an algorithm with a gigabyte of chunks. Such algorithms are skipped here; other
  // tests check the limit of the checker.
  if (msccl::cells_of(*algorithm) > 100'000) return 0;
  const std::string told = verdict_on(*algorithm, diagnostics);
  const auto again = msccl::read_xml_text("input", msccl::to_xml(*algorithm), rules);
  require(again.has_value());
  config::Diagnostics told_again;
  require(verdict_on(*again, told_again).empty() == told.empty());
  return 0;
}
