#include "app/import/tensor/import_tensor.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <sstream>

#include "app/import/tensor/coders.hpp"
#include "sim/config/load.hpp"
#include "tests/support/example_tensor.hpp"

namespace moire::importing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Coded coded_by(const std::string& name, Float values, const std::string& bytes, double rate = 8) {
  for (const auto& coder : make_coders(rate))
    if (coder->name() == name) return coder->code(values, std::span(bytes.data(), bytes.size())).value_or(Coded{});
  return {};
}

struct Outcome {
  Imported made;
  std::string errors;
};

Outcome imported(const std::string& name, const std::string& bytes, const Given& given = {}) {
  std::istringstream in(bytes);
  config::Diagnostics diagnostics;
  auto made = import_tensor(name, in, given, diagnostics);
  EXPECT_EQ(made.has_value(), diagnostics.ok());
  return {made.value_or(Imported{}), diagnostics.str()};
}

// Returns the ratios of a result, as a scenario reads them.
std::vector<double> list_in(const std::string& yaml) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text("r.yaml", yaml, {}, diagnostics);
  EXPECT_EQ(diagnostics.str(), "");
  std::vector<double> values;
  for (const config::Node& item : root->find("value")->items) values.push_back(std::stod(item.text));
  return values;
}

TEST(Coders, AnsTakesTheEntropyOfExponents) {
  constexpr std::size_t count = 8192;  // two blocks of DietGPU's format
  constexpr double added = 16 + 32 + 512 + 2 * 136;
  std::vector<std::uint16_t> constant(count, bf16_of(1.5F)), sixteen;
  std::vector<float> wide;
  for (std::size_t i = 0; i < count; ++i) {
    const float value = std::ldexp(i % 32 < 16 ? 1.0F : -1.25F, static_cast<int>(i % 16));
    sixteen.push_back(bf16_of(value));
    wide.push_back(value);
  }
  EXPECT_EQ(coded_by("ans", Float::bf16, bytes_of_values(constant)).bytes, added + count)
      << "all exponents are equal, so they need no bits";
  EXPECT_EQ(coded_by("ans", Float::bf16, bytes_of_values(sixteen)).bytes, added + count * 1.5)
      << "16 exponents need 4 bits each; the sign does not count";
  EXPECT_EQ(coded_by("ans", Float::fp32, bytes_of_values(wide)).bytes, added + count * 3.5);
  std::vector<std::uint16_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint16_t>(i % 256 << 8 | (i * 7 % 256));
  EXPECT_EQ(coded_by("ans", Float::fp16, bytes_of_values(bytes)).bytes, added + count * 2)
      << "all 256 upper bytes are equally frequent, so they need 8 bits each";
}

TEST(Coders, AnsIsNearWhatDietGpuMeasured) {
  // DietGPU compressed normally distributed bf16 with a ratio of 1.48333 (validation/h200/codec_ans_facts.csv).
  std::vector<std::uint16_t> words;
  for (const float value : normal_values(1 << 20)) words.push_back(bf16_of(value));
  const std::string bytes = bytes_of_values(words);
  EXPECT_NEAR(static_cast<double>(bytes.size()) / coded_by("ans", Float::bf16, bytes).bytes, 1.48333, 0.01);
}

TEST(Coders, ZfpHasItsRateAndLosesLess) {
  const std::string bytes = bytes_of_values(normal_values(1 << 16));
  const auto size = static_cast<double>(bytes.size());
  double before = 10;
  for (const double rate : {4, 8, 16, 24}) {
    const Coded coded = coded_by("zfp", Float::fp32, bytes, rate);
    EXPECT_EQ(size / coded.bytes, 32 / rate);
    EXPECT_GT(coded.error, 0);
    EXPECT_LT(coded.error / coded.largest, before / 4) << rate;
    before = coded.error / coded.largest;
  }
  EXPECT_LT(coded_by("zfp", Float::fp32, bytes, 8).error / coded_by("zfp", Float::fp32, bytes, 8).largest, 0.12)
      << "the error bound of configs/codecs/zfp.yaml, measured on a GPU";
  const std::string constant = bytes_of_values(std::vector<float>(4096, 0.75F));
  EXPECT_EQ(coded_by("zfp", Float::fp32, constant).bytes, 4096) << "the ratio is 4 for any data";
  EXPECT_EQ(coded_by("zfp", Float::fp32, constant).error, 0)
      << "a constant block has one coefficient, which gets all bits";
  EXPECT_EQ(coded_by("zfp", Float::fp64, bytes_of_values(std::vector<double>(4096, 0.75))).bytes, 4096) << "ratio 8";
  EXPECT_TRUE(is_zfp_rate(2.25, Float::fp32));
  EXPECT_FALSE(is_zfp_rate(2, Float::fp32))
      << "a block of 8 bits is too short for an exponent and a sign, which take 9";
}

TEST(Coders, BytesThatRepeatShrinkAndOthersDoNot) {
  const std::string constant = bytes_of_values(std::vector<float>(1 << 18, 1.0F));
  const std::string random = bytes_of_values(normal_values(1 << 16));
  for (const char* name : {"zstd", "lz4"}) {
    EXPECT_GT(static_cast<double>(constant.size()) / coded_by(name, Float::fp32, constant).bytes, 200) << name;
    EXPECT_GT(coded_by(name, Float::fp32, random).bytes, static_cast<double>(random.size()) * 0.9) << name;
  }
}

TEST(ImportTensor, TabulatesTheCodecsThatTakeTheValues) {
  const std::string fp32 = imported("w.npy", npy("<f4", normal_values(4096))).made.table;
  EXPECT_THAT(fp32,
              AllOf(HasSubstr("1 tensor of fp32, 16 KiB, in chunks of 2 MiB"), HasSubstr("\nzfp         1       4.000"),
                    HasSubstr("\nans  "), HasSubstr("\nzstd "), HasSubstr("\nlz4  ")));
  const std::string fp64 = imported("w.npy", npy("<f8", std::vector<double>(512, 1))).made.table;
  EXPECT_THAT(fp64, AllOf(HasSubstr("\nzfp  "), Not(HasSubstr("\nans  ")), Not(HasSubstr("largest error"))));
  const Outcome words = imported("w.npy", npy("<u2", std::vector<std::uint16_t>(512, 1)), {{"--dtype", "bf16"}});
  EXPECT_THAT(words.made.table, AllOf(HasSubstr("of bf16"), Not(HasSubstr("\nzfp  "))));
  EXPECT_EQ(words.made.yaml, "") << "without --codec there is no list";
}

TEST(ImportTensor, WritesOneRatioAChunk) {
  // The values fill 2.5 chunks. All exponents of the first chunk are equal; the other chunks have two different
  // exponents.
  std::vector<std::uint16_t> words(2560 * 2, bf16_of(1));
  for (std::size_t i = 2048; i < words.size(); i += 2) words[i] = bf16_of(2);
  const Outcome out =
      imported("w.npy", npy("<V2", words), {{"--dtype", "bf16"}, {"--codec", "ans"}, {"--chunk", "4 KiB"}});
  EXPECT_EQ(out.errors, "");
  const double added = 16 + 32 + 512 + 136;
  const std::vector<double> ratios = list_in(out.made.yaml);
  ASSERT_EQ(ratios.size(), 3U);
  EXPECT_NEAR(ratios[0], 4096 / (2048 + added), 1e-4);
  EXPECT_NEAR(ratios[1], 4096 / (2048 + 256 + added), 1e-4);
  EXPECT_NEAR(ratios[2], 2048 / (1024 + 128 + added), 1e-4);
}

TEST(ImportTensor, OfAFixedRateWritesTheRatioAndTheErrorMade) {
  const Outcome out =
      imported("w.npy", npy("<f4", normal_values(4096)), {{"--codec", "zfp"}, {"--rate", "16"}, {"--chunk", "4 KiB"}});
  EXPECT_THAT(out.made.yaml,
              AllOf(HasSubstr("The rate determines the ratio"), HasSubstr("`error_bound` of these values is 0.000"),
                    ::testing::EndsWith("\nvalue: 2\n")));
}

TEST(ImportTensor, TellsWhatItLeavesOut) {
  const std::string header = R"({"w":{"dtype":"BF16","shape":[1024],"data_offsets":[0,2048]},)"
                             R"("n":{"dtype":"F32","shape":[2048],"data_offsets":[2048,10240]},)"
                             R"("i":{"dtype":"I64","shape":[1],"data_offsets":[10240,10248]}})";
  std::vector<float> norm(2048, 1);
  norm[0] = std::numeric_limits<float>::quiet_NaN();
  const std::string file = safetensors(header, std::string(2048, '\0') + bytes_of_values(norm) + std::string(8, '\0'));
  const Outcome all = imported("w.safetensors", file, {{"--chunk", "4 KiB"}});
  EXPECT_EQ(all.made.notes.size(), 3U);
  EXPECT_THAT(all.made.notes[0], HasSubstr("1 tensor of I64"));
  EXPECT_EQ(all.made.notes[1], "zfp leaves out 1 tensor: it compresses only fp32 and fp64");
  EXPECT_THAT(all.made.notes[2], HasSubstr("1 chunk with values that are not finite"));
  EXPECT_THAT(all.made.table, AllOf(HasSubstr("2 tensors of bf16, fp32"), HasSubstr("\nans         3")));
  const Outcome one = imported("w.safetensors", file, {{"--tensor", "w"}});
  EXPECT_THAT(one.made.table, HasSubstr("1 tensor of bf16 ('w')"));
  const Outcome constant = imported("w.safetensors", file, {{"--tensor", "w"}, {"--codec", "zstd"}});
  EXPECT_EQ(list_in(constant.made.yaml), std::vector<double>{64}) << "the largest ratio that a codec accepts";
  EXPECT_THAT(constant.made.notes.back(), HasSubstr("outside 0.5 to 64"));
}

TEST(ImportTensor, RefusesOptionsThatDoNotFit) {
  const std::string file = npy("<f4", normal_values(1024));
  const auto errors = [&file](const Given& given, const std::string& name = "w.npy") {
    return imported(name, file, given).errors;
  };
  EXPECT_THAT(errors({}, "w.txt"), HasSubstr("neither a .npy nor a .safetensors"));
  EXPECT_THAT(errors({{"--out", "r.yaml"}}), HasSubstr("add --codec"));
  EXPECT_THAT(errors({{"--chunk", "5001 B"}}), HasSubstr("a multiple of 8 B from 4 KiB"));
  EXPECT_THAT(errors({{"--chunk", "8 B"}}), HasSubstr("from 4 KiB to 1 GiB"));
  EXPECT_THAT(errors({{"--chunk", "many"}}), HasSubstr("--chunk"));
  EXPECT_THAT(errors({{"--rate", "8.1"}}), HasSubstr("steps of 0.25"));
  EXPECT_THAT(errors({{"--rate", "2"}}), HasSubstr("2.25 or more"));
  EXPECT_THAT(errors({{"--tensor", "w"}}), HasSubstr("leave --tensor out"));
  EXPECT_THAT(errors({{"--dtype", "bf16"}}, "w.safetensors"), HasSubstr("leave --dtype out"));
  EXPECT_THAT(imported("w.npy", npy("<f8", std::vector<double>(8, 1)), {{"--codec", "ans"}}).errors,
              HasSubstr("no values that ans compresses; give a tensor of fp16, bf16 and fp32"));
  EXPECT_THAT(imported("w.npy", npy("<f4", std::vector<float>(8, INFINITY)), {{"--codec", "zfp"}}).errors,
              HasSubstr("not finite"));
}

}  // namespace
}  // namespace moire::importing
