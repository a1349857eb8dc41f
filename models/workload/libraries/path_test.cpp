#include "models/workload/libraries/path.hpp"

#include <gtest/gtest.h>

namespace moire::libraries {
namespace {

TEST(LibraryPath, NamesAFieldOfASection) {
  const config::Field* field = field_at(split_path("channels.ll.step_overhead"));
  ASSERT_NE(field, nullptr);
  EXPECT_EQ(field->key, "step_overhead");
  EXPECT_EQ(field->type.shape.form, config::Shape::Form::quantity);
  ASSERT_NE(field_at(split_path("setup")), nullptr);
}

TEST(LibraryPath, NothingForWhatIsNotThere) {
  EXPECT_EQ(field_at(split_path("channels.ll.overhead")), nullptr);
  EXPECT_EQ(field_at(split_path("channels.l1.step_overhead")), nullptr);
  EXPECT_EQ(field_at(split_path("setup.more")), nullptr);
  EXPECT_EQ(field_at(split_path("channels..setup")), nullptr);
  EXPECT_EQ(field_at(split_path("")), nullptr);
  EXPECT_EQ(section_spec("channels.setup"), nullptr);
}

}  // namespace
}  // namespace moire::libraries
