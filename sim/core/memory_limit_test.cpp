#include "sim/core/memory_limit.hpp"

#include <gmock/gmock.h>

#include "sim/core/failure.hpp"

namespace moire::core {
namespace {

using ::testing::ThrowsMessage;

TEST(MemoryLimit, IsWhatTheMachineHasToSpareUntilItIsSet) {
  EXPECT_GT(memory_limit(), 1e6);
  EXPECT_NO_THROW(need_memory(1, "a byte", "none"));
  EXPECT_THROW(need_memory(1e18, "all", "less"), TooLarge);
  set_memory_limit(2e9);
  EXPECT_NO_THROW(need_memory(2e9, "flags", "fewer"));
  EXPECT_THAT([] { need_memory(3e9, "flags", "take fewer"); },
              ThrowsMessage<TooLarge>(
                  "flags need about 3 GB of memory, but only 2 GB may be used (--memory-limit); take fewer"));
}

}  // namespace
}  // namespace moire::core
