#include "sim/formats/file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "sim/formats/zstd_stream.hpp"

namespace moire::formats {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& bytes) {
    const fs::path path = fs::path(::testing::TempDir()) / (std::to_string(getpid()) + "_" + name);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string refusal(const FileAsked& asked, std::uintmax_t most = 100) {
    config::Diagnostics diagnostics;
    EXPECT_FALSE(read_file(asked, most, diagnostics));
    return diagnostics.str();
  }
};

TEST_F(FileTest, IsReadAsItIsOrDecompressed) {
  config::Diagnostics diagnostics;
  const std::string bytes("a\r\n\0b", 5);
  EXPECT_EQ(read_file({.file = write("file_test.txt", bytes)}, 5, diagnostics), bytes);
  std::ostringstream packed;
  ZstdEncoder encoder(packed);
  encoder.write(bytes);
  encoder.finish();
  EXPECT_EQ(read_file({.file = write("file_test.txt.zst", packed.str())}, 5, diagnostics), bytes);
  EXPECT_TRUE(diagnostics.ok());
}

TEST_F(FileTest, SaysWhyItCannotBeRead) {
  const fs::path file = write("file_test.txt", "123456");
  EXPECT_EQ(refusal({.file = file}, 5), file.string() + ": is larger than 0 MiB; no file of this kind is that large\n");
  EXPECT_EQ(refusal({.file = "/nowhere/a"}), "/nowhere/a: does not exist; name an existing file\n");
  EXPECT_EQ(refusal({.file = "/nowhere/a", .remedy = "name an algorithm"}),
            "/nowhere/a: does not exist; name an algorithm\n");
  EXPECT_EQ(refusal({.file = "/"}), "/: is a folder; name a file in it\n");
  const fs::path packed = write("file_test.zst", "123456");
  EXPECT_EQ(refusal({.file = packed}),
            packed.string() + ": is not a complete zstd file; compress it again, or give the plain file\n");
}

TEST_F(FileTest, IsAFileAndNoPipeDeviceOrLinkToItself) {
  const fs::path pipe = fs::path(::testing::TempDir()) / "file_test.pipe";
  fs::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refusal({.file = pipe}), pipe.string() + ": is a pipe, not a file; write it to a file first\n");
  EXPECT_EQ(refusal({.file = "/dev/zero"}), "/dev/zero: is a device, not a file; name a file\n");
  const fs::path link = fs::path(::testing::TempDir()) / "file_test.link";
  fs::remove(link);
  fs::create_symlink(link, link);
  EXPECT_EQ(refusal({.file = link}),
            link.string() + ": is a symbolic link that leads back to itself; let it lead to a file\n");
  fs::remove(link);
  fs::create_symlink("/dev/zero", link);
  EXPECT_EQ(refusal({.file = link}), link.string() + ": is a device, not a file; name a file\n");
}

TEST_F(FileTest, IsUtf8) {
  const fs::path file = write("file_test.txt", "a\nb \xc2\xb5 \xff");
  EXPECT_EQ(refusal({.file = file}),
            file.string() + ":2:6: the byte '\\xff' is not valid UTF-8; save the file as UTF-8\n");
}

TEST_F(FileTest, IsBlamedWhereItsNameIsWritten) {
  const auto source = std::make_shared<const config::Source>(config::Source{"s.yaml", {}, true, {}});
  EXPECT_EQ(refusal({.file = "gone.csv", .place = config::Place{source, 3, 7}}),
            "s.yaml:3:7: no such file 'gone.csv'; a path is relative to the file it is written in\n");
}

}  // namespace
}  // namespace moire::formats
