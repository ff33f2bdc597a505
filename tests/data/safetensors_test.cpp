// Safetensors: what is written is read, in the public format, and files that are not of it are refused.
#include "src/data/safetensors.h"

#include <cstring>

#include <gtest/gtest.h>

#include "support/data_files.h"

namespace epochbench {
namespace {

using test::expect_data_error;
using test::TemporaryFolder;

std::string file_of(const std::string& header, std::size_t data_bytes, std::uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data_bytes, '\1');
}
std::string file_of(const std::string& header, std::size_t data_bytes) { return file_of(header, data_bytes, header.size()); }

class SafetensorsTest : public testing::Test {
 protected:
  SafetensorsFile open(const std::string& bytes) const {
    folder.write("file", bytes);
    return SafetensorsFile(folder.path() / "file");
  }
  void expect_refused(const std::string& bytes, const std::string& why) const {
    expect_data_error([&] { open(bytes); }, {"file'", why, "name an intact safetensors file"});
  }
  TemporaryFolder folder;
};

TEST_F(SafetensorsTest, ReadsWhatItWrites) {
  const std::vector<float> weights{1, -2, 3.5f, 0, 1e-30f, 6};
  const std::vector<std::int32_t> ids{7, -8};
  SafetensorsWriter writer(
      folder.path() / "file",
      {{"fc.weight", {{2, 3}, DType::f32}}, {"a \"quoted\" name", {{2}, DType::i32}}, {"empty", {{0, 4}, DType::f32}}});
  writer.write(std::as_bytes(std::span(weights)));
  writer.write(std::as_bytes(std::span(ids)));
  writer.write({});
  writer.finish();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);  // nothing is left beside it

  SafetensorsFile file(folder.path() / "file");
  ASSERT_EQ(file.tensors().size(), 3u);
  const SafetensorsTensor& fc = file.tensors().at("fc.weight");
  EXPECT_EQ(fc.dtype, "F32");
  EXPECT_EQ(fc.shape, (Shape{2, 3}));
  std::vector<float> read(6);
  file.read(fc, std::as_writable_bytes(std::span(read)));
  EXPECT_EQ(read, weights);
  const SafetensorsTensor& quoted = file.tensors().at("a \"quoted\" name");
  EXPECT_EQ(quoted.dtype, "I32");
  std::vector<std::int32_t> read_ids(2);
  file.read(quoted, std::as_writable_bytes(std::span(read_ids)));
  EXPECT_EQ(read_ids, ids);
  EXPECT_EQ(file.tensors().at("empty").shape, (Shape{0, 4}));
  EXPECT_EQ(folder.read("file").size() % 4, 0u);
}

TEST_F(SafetensorsTest, AcceptsTheFormatOfOthers) {
  // Metadata, spaces behind the header, a scalar, and an order of names that is not the order of the data.
  const SafetensorsFile file = open(file_of(
      R"({"__metadata__":{"format":"pt","format2":""},"b":{"data_offsets":[8,12],"shape":[],"dtype":"F32"},"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}   )",
      12));
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors().at("b").shape, Shape{});
  EXPECT_EQ(file.tensors().at("a").dtype, "I64");
  EXPECT_EQ(open(file_of("{}", 0)).tensors().size(), 0u);
  EXPECT_EQ(open(file_of(R"({"__metadata__":null})", 0)).tensors().size(), 0u);
  expect_refused(file_of(R"({"__metadata__":{"format":null}})", 0), "wrong value for '__metadata__'");
}

// 640 bytes look like a pickle: 0x80 0x02.
TEST_F(SafetensorsTest, ReadsHeadersOfEveryLength) {
  std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  for (; header.size() <= 2000; header += ' ') EXPECT_NO_THROW(open(file_of(header, 4))) << header.size();
}

TEST_F(SafetensorsTest, RefusesHeadersThatCannotBe) {
  expect_refused("", "it has 0 bytes");
  expect_refused("short", "it has 5 bytes");
  expect_refused(file_of("{}", 0, 3), "header would have 3 bytes");
  expect_refused(file_of("{}", 0, std::uint64_t{1} << 63), "header would have 9223372036854775808 bytes");
  expect_refused(file_of("{}", 0, ~std::uint64_t{0}), "header would have 18446744073709551615 bytes");
  expect_refused(file_of("", 0), "not a JSON object");
  expect_refused(file_of("[]", 0), "not a JSON object");
  expect_refused(file_of(" {}", 0), "not a JSON object");
  expect_refused(file_of("{\"a\":", 0), "is not JSON");
  expect_refused(file_of("{} x", 0), "is not JSON");
  expect_refused(file_of(std::string("{\"a\":\"\xff\"}"), 0), "is not JSON");
  std::string deep = "{\"a\":";
  for (int i = 0; i < 1'000'000; ++i) deep += "{\"dtype\":";
  expect_refused(file_of(deep, 0), "an object where none belongs");
  expect_refused(file_of("{\"a\":" + std::string(1'000'000, '['), 0), "a list where none belongs");
}

TEST_F(SafetensorsTest, RefusesEntriesThatAreNoTensors) {
  const auto entry = [](const std::string& fields) { return file_of("{\"a\":{" + fields + "}}", 4); };
  const std::string dtype = R"("dtype":"F32")", shape = R"("shape":[1])", offsets = R"("data_offsets":[0,4])";
  EXPECT_EQ(open(entry(dtype + "," + shape + "," + offsets)).tensors().size(), 1u);
  expect_refused(entry(dtype + "," + shape), "two data_offsets for tensor 'a'");
  expect_refused(entry(dtype + "," + offsets), "no dtype, shape");
  expect_refused(entry(shape + "," + offsets), "no dtype, shape");
  expect_refused(entry(dtype + "," + shape + R"(,"data_offsets":[0])"), "two data_offsets");
  expect_refused(entry(dtype + "," + shape + R"(,"data_offsets":[0,2,4])"), "two data_offsets");
  expect_refused(entry(dtype + "," + shape + "," + offsets + R"(,"stride":[1])"), "unknown key 'stride'");
  expect_refused(entry(dtype + "," + shape + "," + shape + "," + offsets), "shape twice");
  expect_refused(entry(dtype + "," + dtype + "," + shape + "," + offsets), "dtype twice");
  expect_refused(entry(R"("dtype":4,)" + shape + "," + offsets), "wrong value for 'a', 'dtype'");
  expect_refused(entry(dtype + R"(,"shape":1,)" + offsets), "wrong value for 'a', 'shape'");
  expect_refused(entry(dtype + R"(,"shape":[-1],)" + offsets), "wrong value for 'a', 'shape'");
  expect_refused(entry(dtype + R"(,"shape":[1.0],)" + offsets), "wrong value for 'a', 'shape'");
  expect_refused(entry(dtype + R"(,"shape":[[1]],)" + offsets), "a list where none belongs");
  expect_refused(entry(dtype + R"(,"shape":[{}],)" + offsets), "an object where none belongs");
  for (const std::string dtype_of_others : {"F31", "F4", "F8_E8M0", "C64"})  // the last three are of newer writers: no damage
    expect_data_error([&] { open(entry("\"dtype\":\"" + dtype_of_others + "\"," + shape + "," + offsets)); },
                      {"file' has tensor 'a' of dtype '" + dtype_of_others + "', which is not read: convert it to F32"});
  expect_refused(file_of("{\"a\":3}", 0), "wrong value for 'a'");
  expect_refused(file_of("{\"a\":\"F32\"}", 0), "wrong value for 'a'");
  expect_refused(file_of(R"({"__metadata__":{"a":3}})", 0), "wrong value for '__metadata__'");
  expect_refused(file_of(R"({"__metadata__":{},"__metadata__":{}})", 0), "'__metadata__' twice");
}

TEST_F(SafetensorsTest, RefusesTensorsThatOverlapOrLeaveHoles) {
  const auto two = [](const std::string& a, const std::string& b, std::size_t data_bytes, const std::string& second = "b") {
    return file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + a + "},\"" + second +
                       R"(":{"dtype":"F32","shape":[1],"data_offsets":)" + b + "}}",
                   data_bytes);
  };
  EXPECT_EQ(open(two("[0,4]", "[4,8]", 8)).tensors().size(), 2u);
  expect_refused(two("[0,4]", "[0,4]", 4), "overlapping tensors before tensor 'b' at byte 0");
  expect_refused(two("[0,4]", "[2,6]", 6), "overlapping tensors before tensor 'b' at byte 2");
  expect_refused(two("[0,4]", "[5,9]", 9), "a hole before tensor 'b' at byte 5");
  expect_refused(two("[4,8]", "[8,12]", 12), "a hole before tensor 'a' at byte 4");
  expect_refused(two("[0,4]", "[4,8]", 7), "states 8 bytes of data, and the file has 7");
  expect_refused(two("[0,4]", "[4,8]", 9), "states 8 bytes of data, and the file has 9");
  expect_refused(two("[0,4]", "[8,4]", 8), "do not fit its shape");
  expect_refused(two("[0,4]", "[4,9]", 9), "the bytes 4 to 9, which do not fit its shape");
  expect_refused(two("[0,4]", "[4,8]", 8, "a"), "has 'a' twice");
  // Sizes that overflow.
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0),
                 "do not fit its shape");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", 4),
                 "impossible shape");
  expect_refused(file_of(R"({"a":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,4]}})", 4), "wrong value");
}

TEST_F(SafetensorsTest, UnreadableAndUnwritablePathsAreExplained) {
  expect_data_error([&] { SafetensorsFile(folder.path() / "missing"); }, {"missing'", "cannot be found"});
  expect_data_error([&] { SafetensorsFile(folder.path().string()); }, {"not a regular file"});
  expect_data_error([&] { SafetensorsWriter(folder.path() / "no" / "file", {}); }, {"cannot be written", "No such file"});
  expect_data_error([&] { SafetensorsWriter("/dev/full/file", {}); }, {"cannot be written"});
}

TEST_F(SafetensorsTest, UnfinishedFilesLeaveNothingBehind) {
  folder.write("file", "older");
  {
    SafetensorsWriter writer(folder.path() / "file", {{"a", {{2}, DType::f32}}});
    EXPECT_THROW(writer.write({}), std::logic_error);
    EXPECT_THROW(writer.finish(), std::logic_error);
  }
  EXPECT_EQ(folder.read("file"), "older");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

}  // namespace
}  // namespace epochbench
