// libFuzzer: reads and checks any bytes as an execution plan of MSCCL++. A refused plan must have between
// 1 and 60 error messages.
#include <cstdlib>
#include <string>

#include "models/algorithms/mscclpp/check.hpp"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  moire::config::Diagnostics diagnostics;
  const std::string right = moire::mscclpp::check_plan_text("plan.json", text, diagnostics);
  require(right.empty() == !diagnostics.ok());
  require(diagnostics.size() <= 60);
  return 0;
}
