#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/config/load.hpp"

namespace moire::config {
namespace {

namespace fs = std::filesystem;

class Include : public testing::Test {
 protected:
  void SetUp() override {
    home_ = fs::current_path();
    folder_ = fs::temp_directory_path() / fs::path("moire_include_XXXXXX");
    std::string name = folder_.string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::current_path(folder_);
  }
  void TearDown() override {
    fs::current_path(home_);
    fs::remove_all(folder_);
  }

  static void write(const fs::path& path, const std::string& text) {
    if (path.has_parent_path()) fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  std::optional<Node> read(const fs::path& path, const std::vector<std::string>& sets = {}) {
    return load(path, parse_sets(sets, diagnostics_), diagnostics_);
  }

  Diagnostics diagnostics_;
  fs::path home_, folder_;
};

TEST_F(Include, GraftsWithItsOwnPositionsRelativeToTheIncludingFile) {
  write("scenarios/s.yaml", "system: ../systems/two.yaml\n");
  write("systems/two.yaml", "gpus: [gpu.yaml, gpu.yaml]\n");
  write("systems/gpu.yaml", "\nname: h200\n");
  const auto root = read("scenarios/s.yaml");
  ASSERT_TRUE(diagnostics_.ok()) << diagnostics_.str();
  const Node& gpu = root->find("system")->find("gpus")->items[1];
  EXPECT_TRUE(gpu.top);
  EXPECT_EQ(gpu.find("name")->place.str(), "systems/gpu.yaml:2:7");
}

TEST_F(Include, QuotedNamesStayText) {
  write("s.yaml", "a: \"gpu.yaml\"\n");
  EXPECT_EQ(read("s.yaml")->find("a")->text, "gpu.yaml");
}

TEST_F(Include, MissingFileIsSuggestedAtTheIncludingPlace) {
  write("s.yaml", "a: h20.yaml\nb: gone/x.yaml\n");
  write("h200.yaml", "x: 1\n");
  const auto root = read("s.yaml");
  EXPECT_EQ(diagnostics_.str(),
            "s.yaml:1:4: no such file 'h20.yaml'; did you mean 'h200.yaml'?\n"
            "s.yaml:2:4: no such file 'gone/x.yaml'; its folder has no .yaml file\n");
  ASSERT_TRUE(root);
  EXPECT_TRUE(root->find("a")->broken);
}

TEST_F(Include, CyclesNameTheChain) {
  write("a.yaml", "next: b.yaml\n");
  write("b.yaml", "next: a.yaml\n");
  read("a.yaml");
  EXPECT_EQ(diagnostics_.str(),
            "b.yaml:1:7: 'a.yaml' includes itself: a.yaml -> b.yaml -> a.yaml; remove one of these includes\n");
}

TEST_F(Include, CannotBlowUp) {
  write("f0.yaml", "[a, a, a, a, a, a, a, a, a, a]\n");
  for (int i = 1; i < 6; ++i) {
    const std::string last = "f" + std::to_string(i - 1) + ".yaml";
    std::string text = "[" + last;
    for (int j = 0; j < 9; ++j) text += ", " + last;
    write("f" + std::to_string(i) + ".yaml", text + "]\n");
  }
  load("f5.yaml", {}, diagnostics_, {.nodes = 5000});
  EXPECT_NE(diagnostics_.str().find("the configuration has too many values"), std::string::npos);
}

TEST_F(Include, FoldersEmptyFilesAndMissingRoots) {
  fs::create_directory("dir.yaml");
  write("empty.yaml", "");
  write("s.yaml", "a: dir.yaml\nb: empty.yaml\n");
  read("s.yaml");
  read("none.txt");
  EXPECT_EQ(diagnostics_.str(),
            "s.yaml:1:4: 'dir.yaml' is a folder; name a file in it\n"
            "empty.yaml:1:1: the file is empty; write at least one key\n"
            "no such file 'none.txt'; files in its folder: dir.yaml, empty.yaml, s.yaml\n");
}

// Files that are not regular may have no size and no end.
TEST_F(Include, AFileWithoutEndIsRefused) {
  EXPECT_FALSE(load("/dev/zero", {}, diagnostics_, {.bytes = 1 << 20}));
  EXPECT_EQ(diagnostics_.str(), "'/dev/zero' is a device, not a file; name a file\n");
}

TEST_F(Include, OverridesIncludeToo) {
  write("conf/s.yaml", "gpu: a.yaml\nv: {gpu: other/b.yaml}\n");
  write("conf/a.yaml", "name: a\n");
  write("conf/other/b.yaml", "name: b\n");
  write("here.yaml", "name: here\n");
  auto root = read("conf/s.yaml", {"gpu=here.yaml"});
  ASSERT_TRUE(diagnostics_.ok()) << diagnostics_.str();
  EXPECT_EQ(root->find("gpu")->find("name")->text, "here");
  const Node::Entry variant = root->find("v")->entries[0];
  ASSERT_TRUE(apply(*make_override(variant.key, variant.value, diagnostics_), *root, diagnostics_));
  EXPECT_EQ(root->find("gpu")->find("name")->text, "b");
  EXPECT_EQ(root->find("gpu")->override_text, nullptr);
}

}  // namespace
}  // namespace moire::config
