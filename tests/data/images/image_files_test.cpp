// Sets of image files: folders and archives give the same samples, and bad ones are refused in one line.
#include "support/image_files.h"

#include <algorithm>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "src/data/images/image_file_dataset.h"
#include "src/data/loader.h"
#include "support/data_files.h"
#include "support/sanitizers.h"

namespace epochbench {
namespace {

using test::expect_data_error;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr SampleSpec kModel{.height = 12, .width = 16, .channels = 3, .classes = 4};

std::string picture(int number) {
  return test::text(test::jpeg(40 + number, 50, JCS_RGB,
                               [=](int y, int x, int c) { return static_cast<std::uint8_t>(number * 20 + y + x * (c + 1)); }));
}

using Files = std::vector<std::pair<std::string, std::string>>;

Files small_set() {
  Files files;
  int number = 0;
  for (const char* name : {"train/cat/1.jpg", "train/cat/2.JPEG", "train/dog/a.jpeg", "train/dog/b.jpg", "train/owl/z.JPG",
                           "val/cat/9.jpg", "val/owl/8.jpg"})
    files.emplace_back(name, picture(number++));
  files.emplace_back("train/owl/y.png", test::text(test::png(30, 30, PNG_FORMAT_RGB, [](int, int, int) { return 9; })));
  return files;
}

class ImageFilesTest : public testing::Test {
 protected:
  void write(const Files& files) const {
    for (const auto& [name, contents] : files) {
      fs::create_directories((folder_.path() / name).parent_path());
      folder_.write(name, contents);
    }
  }
  std::string spec(const std::string& name = "") const { return "images:" + (folder_.path() / name).string(); }
  std::unique_ptr<Dataset> open(const std::string& name = "", const ImageOptions& options = {}) const {
    return open_dataset(spec(name), kModel, 0, 5, nullptr, options);
  }
  void expect_error(const std::vector<std::string>& parts, const std::string& name = "") const {
    expect_data_error([&] { open(name); }, parts);
  }
  const test::TemporaryFolder folder_;
};

struct Sample {
  std::vector<float> image;
  std::int32_t label = 0;
  bool operator==(const Sample&) const = default;
};

Sample sample(const Dataset& data, Split split, std::int64_t index, std::uint64_t epoch = 0) {
  test::BatchMemory memory(1, 12 * 16 * 3);
  data.fill(split, index, epoch, 0, memory.inputs);
  return {memory.images, memory.labels[0]};
}

TEST_F(ImageFilesTest, AFolderAndItsArchiveHoldTheSameSamples) {
  write(small_set());
  Files reversed = small_set();
  std::ranges::reverse(reversed);
  folder_.write("set.tar", test::tar(reversed));
  const auto folder = open(), archive = open("set.tar");
  for (const Dataset* data : {folder.get(), archive.get()}) {
    EXPECT_EQ(data->samples(Split::train), 6);
    EXPECT_EQ(data->samples(Split::test), 2);
    EXPECT_EQ(data->pixel_values().size(), 768u);
  }
  // A folder is numbered by class and name, an archive as it lies; the classes are the same.
  const std::int64_t in_archive[] = {5, 4, 3, 2, 0, 1};
  for (std::int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(sample(*folder, Split::train, i), sample(*archive, Split::train, in_archive[i]));
  EXPECT_EQ(sample(*folder, Split::train, 3).label, 1);
  EXPECT_EQ(sample(*folder, Split::test, 1).label, 2);
  EXPECT_EQ(sample(*folder, Split::test, 1), sample(*archive, Split::test, 0));
  EXPECT_NE(sample(*folder, Split::train, 0), sample(*folder, Split::train, 1));
}

TEST_F(ImageFilesTest, BytesStandForTheFloats) {
  write(small_set());
  const auto data = open();
  const std::vector<float> table = data->pixel_values();
  EXPECT_FLOAT_EQ(table[0], -0.485f / 0.229f);
  EXPECT_FLOAT_EQ(table[767], (1 - 0.406f) / 0.225f);
  std::vector<std::uint8_t> bytes(2 * 12 * 16 * 3 + 1, 77);
  data->fill_bytes(Split::train, 2, 0, 1, std::vector{std::as_writable_bytes(std::span(bytes))});
  const Sample floats = sample(*data, Split::train, 2);
  for (std::size_t i = 0; i < 576; ++i) ASSERT_EQ(table[i % 3 * 256 + bytes[576 + i]], floats.image[i]);
  EXPECT_EQ(bytes[575], 77);
  EXPECT_EQ(bytes.back(), 77);
}

TEST_F(ImageFilesTest, MeasuredNormalizationIsThatOfTheTrainingImages) {
  write({{"train/a/1.png", test::text(test::png(20, 20, PNG_FORMAT_RGB, [](int, int, int c) { return 10 * c; }))},
         {"train/b/1.png", test::text(test::png(20, 20, PNG_FORMAT_RGB, [](int, int, int c) { return 10 * c + 8; }))},
         {"val/a/1.png", test::text(test::png(20, 20, PNG_FORMAT_RGB, [](int, int, int) { return 99; }))}});
  const auto data = open("", {.normalization = Normalization::measured});
  EXPECT_FLOAT_EQ(data->pixel_values()[0], -1);  // mean 4, deviation 4
  EXPECT_FLOAT_EQ(data->pixel_values()[256 + 18], 1);
}

// The pixels of two epochs, by so many loader threads.
std::vector<float> batches(const Dataset& data, int threads) {
  std::vector<test::BatchMemory> slots;
  for (int i = 0; i < kInputSlots; ++i) slots.emplace_back(3, 12 * 16 * 3);
  Loader loader(data, {.batch = 3, .seed = 5, .threads = threads}, 2, [&](InputSlot slot, int input, int /*part*/) {
    auto& memory = slots[static_cast<std::size_t>(slot)];
    return input == 0 ? std::as_writable_bytes(std::span(memory.images)) : std::as_writable_bytes(std::span(memory.labels));
  });
  std::vector<float> all;
  loader.begin_training(0);
  for (int step = 0; step < 4; ++step) {
    const InputSlot slot = loader.next().slot;
    const auto& memory = slots[static_cast<std::size_t>(slot)];
    all.insert(all.end(), memory.images.begin(), memory.images.end());
    all.insert(all.end(), memory.labels.begin(), memory.labels.end());
    loader.release(slot);
  }
  return all;
}

TEST_F(ImageFilesTest, PixelsDoNotDependOnThreads) {
  write(small_set());
  const ImageOptions all{.augmentation = {.crop = true, .flip = true, .color = true}};
  const std::vector<float> expected = batches(*open("", all), 0);
  for (const int threads : {1, 3}) EXPECT_EQ(batches(*open("", all), threads), expected);
  EXPECT_NE(batches(*open(), 0), expected);
  const auto data = open("", all);
  EXPECT_NE(sample(*data, Split::train, 0, 0), sample(*data, Split::train, 0, 1));
  EXPECT_EQ(sample(*data, Split::test, 0, 0), sample(*data, Split::test, 0, 1));
}

TEST_F(ImageFilesTest, AnUndecodableFileStopsTheRunOrIsNamedOnceAndPassedOver) {
  Files files = small_set();
  files[1].second.resize(files[1].second.size() / 2);  // train/cat/2.JPEG
  write(files);
  expect_data_error([&] { sample(*open(), Split::train, 1); },
                    {"train/cat/2.JPEG", "truncated or damaged", "--on-bad-image skip"});
  const auto data = open("", {.bad_images = BadImages::skip});
  EXPECT_EQ(data->left_out(), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(sample(*data, Split::train, 1), sample(*data, Split::train, 2));
  EXPECT_EQ(sample(*data, Split::train, 1).label, 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("left out: image 'train/cat/2.JPEG'"), testing::ContainsRegex("^[^\n]*\n$")));
  EXPECT_EQ(data->left_out(), 1);
  EXPECT_EQ(open()->left_out(), std::nullopt);
}

TEST_F(ImageFilesTest, FilesThatCannotBeReadAreBadImages) {
  write(small_set());
  const fs::path cats = folder_.path() / "train/cat";
  fs::create_symlink("0.jpg", cats / "0.jpg");  // to itself
  ASSERT_EQ(mkfifo((cats / "00.jpg").c_str(), 0600), 0);
  folder_.write("train/cat/000.png", "GIF89a");
  const auto data = open();
  const char* reasons[] = {"cannot be opened: Too many levels", "is not a regular file", "is a GIF picture"};
  for (std::int64_t i = 0; i < 3; ++i) expect_data_error([&] { sample(*data, Split::train, i); }, {reasons[i == 0 ? 0 : i]});
}

TEST_F(ImageFilesTest, NamesWhatIsWrongWithAFolder) {
  expect_data_error([] { open_dataset("images:", kModel, 0, 0); }, {"names no path"});
  expect_data_error([] { open_dataset("images:/no/such", kModel, 0, 0); }, {"'/no/such'", "cannot be opened"});
  expect_data_error([] { open_dataset("images:/dev/null", kModel, 0, 0); }, {"neither a folder nor a file"});
  expect_error({"has no folder train (it is empty): it must contain train/CLASS/FILE"});
  write(small_set());
  fs::rename(folder_.path() / "val", folder_.path() / "test");
  expect_error({"has no folder val: rename 'test' to val"});
  fs::rename(folder_.path() / "test", folder_.path() / "val");
  fs::create_directory(folder_.path() / "val/bee");
  folder_.write("val/bee/1.jpg", "x");
  expect_error({"class 'bee'", "that train does not have"});
  fs::remove_all(folder_.path() / "val/bee");
  fs::create_directory(folder_.path() / "train/empty");
  expect_error({"train/empty", "has no image"});
  folder_.write("train/empty/notes.txt", "x");
  expect_error({"(but 'notes.txt')"});
  fs::remove_all(folder_.path() / "train/empty");
  fs::create_directory_symlink("cat", folder_.path() / "train/kitten");
  expect_error({"one folder as two classes", "'cat'", "'kitten'"});
  fs::remove(folder_.path() / "train/kitten");
  fs::create_directory_symlink("loop", folder_.path() / "train/loop");
  expect_error({"train/loop", "Too many levels"});
  fs::remove(folder_.path() / "train/loop");
  fs::create_directory_symlink("..", folder_.path() / "train/up");
  expect_error({"train/up", "must lie directly in that of their class"});
  fs::remove(folder_.path() / "train/up");
  open();
  expect_data_error([&] { open_dataset(spec(), {12, 16, 3, 2}, 0, 0); }, {"has 3 classes, the model takes 2", "classes=3"});
  expect_data_error([&] { open_dataset(spec(), {12, 16, 1, 4}, 0, 0); }, {"3 channels", "resnet20"});
}

TEST_F(ImageFilesTest, NamesWhatIsWrongWithAnArchive) {
  const auto refused = [&](const std::string& archive, const std::vector<std::string>& parts) {
    folder_.write("set.tar", archive);
    expect_error(parts, "set.tar");
  };
  refused(picture(1), {"picture, not a tar archive: name one"});
  refused("\x1f\x8b", {"is compressed by gzip, not a tar archive: name one; a compressed one must be unpacked first"});
  refused("", {"is not a tar archive"});
  refused(std::string(10240, '\0'), {"has no image train/CLASS/FILE (it is empty)"});
  refused(test::tar({{"0001.png", picture(1)}, {"0001.cls", "0"}, {"more/a.png", picture(1)}, {".hidden", "x"}}),
          {"has no image train/CLASS/FILE (but '0001.cls', '0001.png', 'more'): archive the folders train and val"});
  const std::string whole = test::tar(small_set());
  refused(whole.substr(0, 700), {"is truncated"});
  refused(whole.substr(0, 100), {"is not a tar archive"});
  const auto added = [&](const std::string& name) {
    Files files = small_set();
    files.emplace_back(name, picture(0));
    return test::tar(files);
  };
  refused(added("val/bee/1.jpg"), {"class 'bee'", "that train does not have"});
  refused(added("train/cat/more/1.jpg"), {"the folder 'train/cat/more'", "directly in the folder of their class"});
  refused(added("train/empty/1.gif"), {"has no image in 'train/empty'"});
  Files files = small_set();
  files.resize(5);
  refused(test::tar(files), {"has no folder with both train and val"});
  files = small_set();
  for (auto& [name, contents] : files) name = "fold1/" + name;
  const std::string fold = test::tar(files);
  for (auto& [name, contents] : files) name.replace(0, 5, "fold2");
  refused(fold.substr(0, fold.size() - 1024) + test::tar(files), {"train and val in 'fold1' and in 'fold2'"});
  refused(test::tar_member("train/a/1.jpg", "", '2', "/elsewhere.jpg") + whole, {"'train/a/1.jpg' as a link"});
}

TEST_F(ImageFilesTest, ReadsTheSameFromTheDisk) {
  folder_.write("set.tar", test::tar(small_set()));
  std::vector<std::uint8_t> warm, cold;
  const auto files = open_image_files(folder_.path() / "set.tar");
  files->read(warm, Split::train, 2);
  files->read_cold();
  files->read(cold, Split::train, 2);
  EXPECT_EQ(cold, warm);
  EXPECT_FALSE(cold.empty());
}

// As the folder that unpacking leaves: of two files of one name the last, with links, without what is hidden or beside.
TEST_F(ImageFilesTest, AnArchiveIsReadAsUnpacked) {
  Files files = small_set();
  for (auto& [name, contents] : files) name.insert(0, "./");
  const std::string one = test::tar(files);
  files.clear();
  files.emplace_back("train//cat/./1.jpg", "the last");
  for (const char* name : {"train/.hidden/1.jpg", ".Trash/train/cat/1.jpg", "other/train/cat/1.jpg", "train/cat/._1.jpg",
                           "train/1.jpg", "train/../train/cat/9.jpg"})
    files.emplace_back(name, "not read");
  const auto link = [](const std::string& name, const std::string& target, char type) {
    return test::tar_member(name, "", type, target);
  };
  const std::string links =
      link("train/cat/hard.jpg", "train/cat/1.jpg", '1') + link("train/cat/soft.jpg", "../cat/hard.jpg", '2');
  folder_.write("set.tar", one + links + test::tar(files));
  const auto archive = open_image_files(folder_.path() / "set.tar");
  std::map<std::string, std::string> found;
  for (std::int64_t i = 0; i < archive->samples(Split::train); ++i) {
    std::vector<std::uint8_t> bytes;
    archive->read(bytes, Split::train, i);
    found[archive->name(Split::train, i)] = test::text(bytes);
  }
  EXPECT_EQ(found.size(), 8u) << "6 images and 2 links";
  EXPECT_EQ(found["train/cat/1.jpg"], "the last");
  EXPECT_EQ(found["train/cat/hard.jpg"], small_set()[0].second);
  EXPECT_EQ(found["train/cat/soft.jpg"], found["train/cat/hard.jpg"]);
  EXPECT_EQ(archive->classes(), 3);
}

TEST_F(ImageFilesTest, OtherFilesOfClassesAreCounted) {
  Files files = small_set();
  for (const char* name : {"train/cat/a.webp", "val/owl/b.TIF", "train/.hidden/c.gif", "train/d.bmp", "train/cat/.e.gif"})
    files.emplace_back(name, "x");
  write(files);
  folder_.write("set.tar", test::tar(files));
  for (const char* name : {"", "set.tar"})
    EXPECT_EQ(open_image_files(folder_.path() / name)->note(),
              "left out 2 other files in the folders of classes; only .jpg, .jpeg and .png are read")
        << name;
}

// A file without a hole that is stored as a sparse one, by the format 1.0 of pax.
TEST_F(ImageFilesTest, ReadsSparseFilesWithoutHoles) {
  const std::string contents = picture(3), size = std::to_string(contents.size());
  std::string records;
  for (const std::string& value : {std::string("GNU.sparse.major=1"), std::string("GNU.sparse.minor=0"),
                                   std::string("GNU.sparse.name=train/cat/3.jpg"), "GNU.sparse.realsize=" + size})
    records += std::to_string(value.size() + 4) + " " + value + "\n";
  std::string stored = "1\n0\n" + size + "\n";
  test::pad(stored);
  folder_.write("set.tar", test::tar_member("PaxHeaders/x", records, 'x') +
                               test::tar_member("train/cat/GNUSparseFile.0/3.jpg", stored + contents) + test::tar(small_set()));
  const auto files = open_image_files(folder_.path() / "set.tar");
  EXPECT_EQ(files->name(Split::train, 0), "train/cat/3.jpg");
  std::vector<std::uint8_t> bytes;
  files->read(bytes, Split::train, 0);
  EXPECT_EQ(test::text(bytes), contents);
}

TEST_F(ImageFilesTest, ReadsLongNamesOfPaxAndGnu) {
  const std::string name = std::string(120, 'n') + ".jpg", path = "train/cat/" + name;
  std::string record = " path=" + path + "\n";
  record = std::to_string(record.size() + 3) + record;
  const std::string pax = test::tar_member("PaxHeaders/x", record, 'x'), gnu = test::tar_member("././@LongLink", path, 'L');
  for (const std::string& before : {pax, gnu}) {
    folder_.write("set.tar", before + test::tar_member("cut", picture(0)) + test::tar(small_set()));
    const auto files = open_image_files(folder_.path() / "set.tar");
    EXPECT_EQ(files->name(Split::train, 0), "train/cat/" + name);
    EXPECT_EQ(files->samples(Split::train), 7);
  }
}

TEST(ImageList, HoldsNamesInFewBytes) {
  constexpr std::uint32_t kNames = 200'000;
  ImageList list;
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  for (std::uint32_t i = 0; i < kNames; ++i) list.add("n01440764_" + std::to_string(i) + ".JPEG", i / 1300);
  list.sort_from(0);
  getrusage(RUSAGE_SELF, &after);
  if (!test::under_address_sanitizer()) {                   // which keeps what was freed
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 40'000);  // KiB: 200 bytes per name while the lists grow by doubling
  }
  EXPECT_STREQ(list.name(0), "n01440764_0.JPEG");
  EXPECT_STREQ(list.name(kNames - 1), "n01440764_99999.JPEG");
}

}  // namespace
}  // namespace epochbench
