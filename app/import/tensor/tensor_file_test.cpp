#include "app/import/tensor/tensor_file.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "tests/support/example_tensor.hpp"

namespace moire::importing {
namespace {

using ::testing::HasSubstr;

std::vector<Tensor> tensors_in(const std::string& name, const std::string& bytes, std::string& errors,
                               std::optional<Float> words_of_two = {}) {
  std::istringstream in(bytes);
  const TensorFile file(name, in);
  config::Diagnostics diagnostics;
  const auto tensors =
      name == "w.npy" ? read_npy(file, words_of_two, diagnostics) : read_safetensors(file, diagnostics);
  EXPECT_EQ(tensors.has_value(), diagnostics.ok());
  errors = diagnostics.str();
  return tensors.value_or(std::vector<Tensor>{});
}

std::string npy_errors(const std::string& bytes) {
  std::string errors;
  tensors_in("w.npy", bytes, errors);
  return errors;
}

std::string safetensors_errors(const std::string& header, const std::string& data = "") {
  std::string errors;
  tensors_in("w.safetensors", safetensors(header, data), errors);
  return errors;
}

TEST(Npy, SaysWhereItsValuesLie) {
  const std::string data(24, 'x');
  for (const char version : {'\x01', '\x02', '\x03'}) {
    const std::string whole = npy("<f4", "(2, 3)", data, version);
    std::string errors;
    const auto tensors = tensors_in("w.npy", whole, errors);
    EXPECT_EQ(errors, "");
    ASSERT_EQ(tensors.size(), 1U);
    EXPECT_EQ(tensors[0].values, Float::fp32);
    EXPECT_EQ(tensors[0].begin, whole.size() - data.size());
    EXPECT_EQ(tensors[0].bytes, data.size());
  }
}

TEST(Npy, TakesWhatWritersWrite) {
  std::string errors;
  const auto values = [&errors](const std::string& bytes, std::optional<Float> words = {}) {
    const auto tensors = tensors_in("w.npy", bytes, errors, words);
    return tensors.size() == 1 ? tensors[0].values : std::nullopt;
  };
  EXPECT_EQ(values(npy("<f2", "(1,)", "ab")), Float::fp16);
  EXPECT_EQ(values(npy("<f8", "()", "abcdefgh")), Float::fp64) << "a scalar";
  EXPECT_EQ(values(npy("<V2", "(1,)", "ab"), Float::bf16), Float::bf16);
  EXPECT_EQ(values(npy("<f4", "(1,)", "abcd"), Float::bf16), Float::fp32) << "the type in the header counts";
  EXPECT_EQ(values(npy_with("{\"shape\": (2L, 1L), 'fortran_order' : True,'descr':'<f4'}", "abcdefgh")), Float::fp32)
      << "columns first, keys in another order, integers as Python 2 writes them";
}

TEST(Npy, RefusesWithTheByte) {
  EXPECT_EQ(npy_errors("no array"),
            "w.npy: byte 0: the file does not begin like a .npy file; give the whole file, as numpy wrote it\n");
  EXPECT_THAT(npy_errors("\x93NUMPY"), HasSubstr("byte 0: "));
  EXPECT_THAT(npy_errors(npy("<f4", "(1,)", "abcd", 9)), HasSubstr("byte 6: the version is 9.0"));
  EXPECT_THAT(npy_errors(npy("<f4", "(1,)", "abcd").substr(0, 30)),
              HasSubstr("byte 8: the length states a header of 58 bytes, but only 20 follow"));
  EXPECT_THAT(npy_errors(npy("<f4", "(2,)", "abcd")), HasSubstr("byte 60: the shape needs 8 bytes, but 4 follow"));
  EXPECT_THAT(npy_errors(npy("<f4", "(1,)", "abcdefgh")), HasSubstr("the shape needs 4 bytes, but 8 follow"));
  EXPECT_THAT(npy_errors(npy("<f4", "(4294967296, 4294967296)", "")), HasSubstr("more than 2^62 bytes"));
  EXPECT_THAT(npy_errors(npy("<f4", "(0,)", "")), HasSubstr("no value"));
  EXPECT_THAT(npy_errors(npy("<f4", "(-1,)", "")), HasSubstr("byte 61: a length of the shape"));
  EXPECT_THAT(npy_errors(npy(">f4", "(1,)", "abcd")), HasSubstr("byte 20: '>f4' is big-endian"));
  EXPECT_THAT(npy_errors(npy("|O", "(1,)", "abcd")), HasSubstr("Python objects"));
  EXPECT_THAT(npy_errors(npy("<i4", "(1,)", "abcd")), HasSubstr("'<i4' is not floating-point"));
  EXPECT_THAT(npy_errors(npy("<V2", "(1,)", "ab")), HasSubstr("--dtype bf16"));
  EXPECT_THAT(npy_errors(npy("", "(1,)", "ab")), HasSubstr("'' is not a type"));
  EXPECT_THAT(npy_errors(npy_with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "abcd")),
              HasSubstr("byte 20: the array has named fields"));
  EXPECT_THAT(npy_errors(npy_with("{'descr': '<f4', 'shape': (1,)}", "abcd")),
              HasSubstr("the header has no key fortran_order"));
  EXPECT_THAT(npy_errors(npy_with("{'descr': '<f4', 'descr': '<f4'}", "abcd")),
              HasSubstr("byte 27: the key 'descr' appears twice"));
  EXPECT_THAT(npy_errors(npy_with("{'type': '<f4'}", "abcd")), HasSubstr("byte 11: the key 'type' is not known"));
  EXPECT_THAT(npy_errors(npy_with("[]", "")), HasSubstr("byte 10: the header is not a dictionary"));
  EXPECT_THAT(npy_errors(npy_with("{'descr': '<f4'", "")), HasSubstr("neither a comma nor the end"));
  EXPECT_THAT(npy_errors(npy_with("{'descr'", "")), HasSubstr("a key and a colon are missing"));
  EXPECT_THAT(npy_errors(npy_with("{'fortran_order': 1}", "")), HasSubstr("neither True nor False"));
}

TEST(Safetensors, ListsTensorsInTheOrderOfTheirData) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[],"data_offsets":[6,10]},)"
      R"("a":{"dtype":"BF16","shape":[3,1],"data_offsets":[0,6]},"i":{"dtype":"I64","shape":[1],"data_offsets":[10,18]}}  )";
  std::string errors;
  const auto tensors = tensors_in("w.safetensors", safetensors(header, std::string(18, 'x')), errors);
  EXPECT_EQ(errors, "");
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].values, Float::bf16);
  EXPECT_EQ(tensors[0].begin, 8 + header.size());
  EXPECT_EQ(tensors[0].bytes, 6U);
  EXPECT_EQ(tensors[1].values, Float::fp32);
  EXPECT_EQ(tensors[2].values, std::nullopt);
  EXPECT_EQ(tensors[2].kind, "I64");
}

TEST(Safetensors, TakesThousandsOfTensors) {
  std::string header = "{", errors;
  for (int i = 0; i < 2000; ++i)
    header += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" +
              std::to_string(i) + "," + std::to_string(i + 1) + "]}";
  EXPECT_EQ(tensors_in("w.safetensors", safetensors(header + "}", std::string(2000, 'x')), errors).size(), 2000U);
  EXPECT_EQ(errors, "");
}

TEST(Safetensors, RefusesWithTheByte) {
  const auto one = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return safetensors_errors(
        R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}", "abcd");
  };
  std::string errors;
  EXPECT_EQ(one("F32", "[1]", "[0,4]"), "");
  EXPECT_THAT(one("F31", "[1]", "[0,4]"), HasSubstr("w.safetensors: byte 22: tensor 'a' has the unknown type 'F31'"));
  EXPECT_THAT(one("F32", "[1]", "[0,5]"), HasSubstr("are not within the 4 bytes after the header"));
  EXPECT_THAT(one("F32", "[1]", "[4,0]"), HasSubstr("are not within"));
  EXPECT_THAT(one("F32", "[1]", "[0]"), HasSubstr("are not within"));
  EXPECT_THAT(one("F16", "[1]", "[0,4]"), HasSubstr("4 bytes by its data_offsets, but 16 bits by its type and shape"));
  EXPECT_THAT(one("F32", "[-1]", "[0,4]"), HasSubstr("a length that is -1"));
  EXPECT_THAT(one("F32", "[4294967296,4294967296]", "[0,4]"), HasSubstr("more than 2^62 bits"));
  EXPECT_THAT(one("F16", "[1]", "[2,4]"), HasSubstr("2 bytes after the end of the previous tensor"));
  EXPECT_THAT(one("F16", "[1]", "[0,2]"), HasSubstr("2 bytes belong to no tensor"));
  EXPECT_THAT(safetensors_errors(R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
                                 R"("b":{"dtype":"F16","shape":[1],"data_offsets":[2,4]}})",
                                 "abcd"),
              HasSubstr("tensor 'b' begins 2 bytes before"));
  EXPECT_THAT(safetensors_errors(R"({"a":{"dtype":"F16"}})"), HasSubstr("byte 13: tensor 'a' has no shape"));
  EXPECT_THAT(safetensors_errors(R"({"a":7})"), HasSubstr("byte 13: tensor 'a' has no dtype"));
  EXPECT_THAT(safetensors_errors("[]"), HasSubstr("byte 8: the header is a list"));
  EXPECT_THAT(safetensors_errors("{\n\"a\": nul}"), HasSubstr("w.safetensors: byte 18: not JSON"));
  EXPECT_THAT(safetensors_errors(R"({"a":1,"a":2})"), HasSubstr("byte 15: the key 'a' appears twice"));
  tensors_in("w.safetensors", "abc", errors);
  EXPECT_THAT(errors, HasSubstr("byte 0: a header begins with its length in 8 bytes, but the file has only 3"));
  tensors_in("w.safetensors", little_endian(1000, 8) + "{}", errors);
  EXPECT_THAT(errors, HasSubstr("byte 0: the length states a header of 1000 bytes, but only 2 follow"));
  tensors_in("w.safetensors", std::string(8, '\xff') + "{}", errors);
  EXPECT_THAT(errors, HasSubstr("a header of 18446744073709551615 bytes"));
}

}  // namespace
}  // namespace moire::importing
