// libFuzzer: the bytes choose the operations of a program in the language for collectives (mscclang). The program
// must compile to an algorithm without deadlocks and races. This algorithm must compute the same as the operations one
// after the other, and its XML must stay the same when it is read and written again.
#include <cstdlib>
#include <string_view>

#include "models/algorithms/msccl/xml_reader.hpp"
#include "models/algorithms/msccl/xml_writer.hpp"
#include "tests/laws/random.hpp"
#include "tests/support/random_program.hpp"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace moire;
  laws::Random random(std::string_view(reinterpret_cast<const char*>(data), size));
  mscclang::testing::RandomProgram made([&](std::uint32_t n) { return static_cast<std::uint32_t>(random.below(n)); });
  const msccl::Algorithm algorithm = mscclang::compile(made.program());
  require(mscclang::testing::compare(made.program(), algorithm).empty());
  config::Diagnostics diagnostics;
  const std::string text = msccl::to_xml(algorithm);
  const auto again = msccl::read_xml_text("input", text, diagnostics);
  require(again.has_value() && msccl::to_xml(*again) == text);
  return 0;
}
