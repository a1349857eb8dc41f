#include "app/study/packed.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace moire::study {
namespace {

struct Inner {
  std::string name;
  double value = 0;
  bool operator==(const Inner&) const = default;
};
template <MaybeConst<Inner> T, class Each>
void each_field(T& inner, const Each& each) {
  each(inner.name);
  each(inner.value);
}

struct Outer {
  std::vector<Inner> list;
  std::vector<int> plain;
  std::string text;
  bool operator==(const Outer&) const = default;
};
template <MaybeConst<Outer> T, class Each>
void each_field(T& outer, const Each& each) {
  each(outer.list);
  each(outer.plain);
  each(outer.text);
}

TEST(Packed, ComesBackBitForBit) {
  const Outer value{{{"a", 0.1}, {std::string("\0 \n", 3), -0.0}, {"", 1e-300}}, {1, 2, 3}, ""};
  EXPECT_EQ(unpacked<Outer>(packed(value)), value);
  EXPECT_TRUE(std::isnan(unpacked<double>(packed(std::nan("")))));
}

TEST(Packed, APartIsOurBug) {
  const std::string bytes = packed(Outer{{{"name", 2}}, {4}, "text"});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_ANY_THROW(unpacked<Outer>(bytes.substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace moire::study
