#include "models/hardware/cu/cus.hpp"

#include <gmock/gmock.h>

#include "tests/support/example_system.hpp"

namespace moire::cu {
namespace {

using ::testing::HasSubstr;

std::optional<config::Problem> refusal(const std::string& name, std::int64_t threads, std::int64_t cluster = 1) {
  program::Kernel kernel;
  kernel.name = name;
  kernel.resources.threads = threads;
  kernel.resources.cluster = cluster;
  program::Program program(1);
  program.queues.resize(1);
  program.queues[0].operations.emplace_back(kernel);
  return does_not_fit(program, machine::example_gpu().compute, "example");
}

TEST(DoesNotFit, NamesKernelAndResource) {
  EXPECT_FALSE(refusal("small", 1024));
  EXPECT_THAT(
      refusal("large", 1025)->str(),
      HasSubstr("kernel 'large' does not fit on a CU of example because of its threads; use smaller workgroups"));
  EXPECT_THAT(refusal("clustered", 128, 8)->str(),
              HasSubstr("kernel 'clustered' asks for clusters of 8 workgroups; example places at most 4"));
}

}  // namespace
}  // namespace moire::cu
