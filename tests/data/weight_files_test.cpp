// Weights in several files, and in 16 bits.
#include "src/data/weight_files.h"

#include <bit>
#include <cmath>

#include <gmock/gmock.h>

#include "support/data_files.h"

namespace epochbench {
namespace {

using test::expect_data_error;
using testing::ElementsAre;

class WeightFilesTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::vector<std::pair<std::string, TensorDesc>>& tensors,
             const std::vector<std::vector<std::uint16_t>>& values = {}) {
    SafetensorsWriter writer(folder_.path() / name, tensors);
    for (std::size_t i = 0; i < tensors.size(); ++i)
      i < values.size() ? writer.write(std::as_bytes(std::span(values[i])))
                        : writer.write(std::vector<std::byte>(tensors[i].second.bytes()));
    writer.finish();
  }
  std::vector<float> read(WeightFiles& files, const std::string& name) {
    const auto& place = files.tensors().at(name);
    std::vector<float> values(static_cast<std::size_t>(element_count(place.tensor.shape)));
    files.read(place, values);
    return values;
  }
  void expect_error(const std::string& name, const std::vector<std::string>& parts) {
    expect_data_error([&] { WeightFiles(folder_.path() / name); }, parts);
  }
  test::TemporaryFolder folder_;
};

TEST_F(WeightFilesTest, SixteenBitsAreWidenedWithoutLoss) {
  write("w.safetensors", {{"half", {{8}, DType::f16}}, {"brain", {{4}, DType::bf16}}},
        {{0x3c00, 0xc000, 0x7bff, 0x0001, 0x8000, 0x03ff, 0x7c00, 0x7e00}, {0x3f80, 0xc000, 0x0001, 0xff80}});
  WeightFiles files(folder_.path() / "w.safetensors");
  std::vector<float> half = read(files, "half");
  EXPECT_TRUE(std::isnan(half.back()));
  half.pop_back();
  EXPECT_THAT(half, ElementsAre(1, -2, 65504, 0x1p-24f, 0, 0x3ffp-24f, INFINITY));
  EXPECT_TRUE(std::signbit(half[4]));
  EXPECT_THAT(read(files, "brain"), ElementsAre(1, -2, std::bit_cast<float>(0x10000), -INFINITY));
}

TEST_F(WeightFilesTest, AnIndexNamesItsFiles) {
  write("a-1.safetensors", {{"one", {{2}, DType::bf16}}}, {{0x3f80, 0x4000}});
  write("a-2.safetensors", {{"two", {{1}, DType::bf16}}}, {{0x4040}});
  folder_.write("a.safetensors.index.json",
                R"({"metadata": {}, "weight_map": {"one": "a-1.safetensors", "two": "a-2.safetensors"}})");
  for (const char* name : {"a.safetensors.index.json", ""}) {
    WeightFiles files(folder_.path() / name);
    EXPECT_THAT(read(files, "one"), ElementsAre(1, 2));
    EXPECT_THAT(read(files, "two"), ElementsAre(3));
  }
  write("model.safetensors", {{"three", {{1}, DType::f32}}});
  EXPECT_TRUE(WeightFiles(folder_.path()).tensors().contains("three")) << "one file is looked for before an index";
}

TEST_F(WeightFilesTest, ErrorsSayWhatIsWrong) {
  expect_error("", {"a folder with 0 safetensors files and 0 indexes", "--init"});
  write("a.safetensors", {{"one", {{1}, DType::f32}}});
  write("b.safetensors", {{"one", {{1}, DType::f32}}});
  expect_error("", {"a folder with 2 safetensors files and 0 indexes", "name one of these"});
  const std::string index = "x.index.json";
  for (const char* other : {"", "[]", "{}", R"({"weight_map": 3})", R"({"weight_map": {}})"}) {
    folder_.write(index, other);
    expect_error(index, {"x.index.json'", "is not an index of safetensors files"});
  }
  for (const char* file : {"3", R"("")", R"("../a.safetensors")", R"("/etc/passwd")"}) {
    folder_.write(index, R"({"weight_map": {"one": )" + std::string(file) + "}}");
    expect_error(index, {"names no file for tensor 'one'"});
  }
  folder_.write(index, R"({"weight_map": {"one": "c.safetensors"}})");
  expect_error(index, {"an index that names the file 'c.safetensors', which is not beside it"});
  folder_.write(index, R"({"weight_map": {"two": "a.safetensors"}})");
  expect_error(index, {"names the tensor 'two', which no file has"});
  folder_.write(index, R"({"weight_map": {"one": "a.safetensors", "two": "b.safetensors"}})");
  expect_error(index, {"b.safetensors'", "has the tensor 'one' of another file, too"});
}

}  // namespace
}  // namespace epochbench
