// Texts: the bytes of a window, the masked positions and how they are masked, and texts that do not fit a model.
#include "src/data/text.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "epochbench/embedded.h"
#include "src/data/loader.h"
#include "support/data_files.h"

namespace epochbench {
namespace {

using test::expect_data_error;
using test::TemporaryFolder;

SampleSpec texts(std::int64_t sequence, std::int64_t classes = 30522) {
  return {.classes = classes, .sequence = sequence, .predictions = std::max<std::int64_t>(1, 20 * sequence / 128)};
}

// Host memory of one batch of texts: ids, positions, labels, each -99 before it is filled.
struct TextMemory {
  TextMemory(std::int64_t batch, const SampleSpec& sample)
      : ids(static_cast<std::size_t>(batch * sample.sequence), -99),
        positions(static_cast<std::size_t>(batch * sample.predictions), -99),
        labels(positions) {
    for (std::vector<std::int32_t>* values : {&ids, &positions, &labels})
      inputs.push_back(std::as_writable_bytes(std::span(*values)));
  }
  // The ids as they were before masking.
  std::vector<std::int32_t> restored() const {
    std::vector<std::int32_t> text = ids;
    for (std::size_t i = 0; i < positions.size(); ++i) text[static_cast<std::size_t>(positions[i])] = labels[i];
    return text;
  }
  std::vector<std::int32_t> ids, positions, labels;
  std::vector<std::span<std::byte>> inputs;
};

TextDataset text_data(const std::string& bytes, const SampleSpec& sample, std::uint64_t seed = 0) {
  const auto source = open_memory("'test'", bytes);
  return TextDataset("text:test", sample, *source, seed);
}

std::string counting(std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(1 + i * 7 % 255);  // text has no 0
  return bytes;
}

TEST(Text, BytesOfZeroAreNoText) {
  std::string archive = counting(5000);
  archive[100] = 0;
  expect_data_error([&] { text_data(archive, texts(16)); }, {"'test'", "is not text", "--data text:FILE"});
}

TEST(Text, WideEncodingsAreNamed) {
  const auto refused = [](const std::string& bytes, const char* encoding) {
    expect_data_error([&] { text_data(bytes, texts(16)); },
                      {"'test'", std::string("is text in ") + encoding, "iconv", "--data text:FILE"});
  };
  const std::string chinese = counting(6000);  // without a 0
  refused("\xff\xfe" + chinese, "UTF-16");
  refused("\xfe\xff" + chinese, "UTF-16");
  refused(std::string("\xff\xfe\0\0", 4) + chinese, "UTF-32");
  for (const std::size_t zeros : {std::size_t{5000}, std::size_t{5001}}) {  // two line ends without a mark, late
    std::string wide = chinese;
    wide[zeros] = wide[zeros + 100] = 0;
    refused(wide, "UTF-16");
  }
}

TEST(Text, WindowsFollowEachOtherAndEveryTenthIsTest) {
  const SampleSpec sample = texts(16);
  const std::string bytes = counting(14 * 25 + 13);  // the last 13 bytes are not a window
  const TextDataset data = text_data(bytes, sample);
  ASSERT_EQ(data.samples(Split::train), 23);
  ASSERT_EQ(data.samples(Split::test), 2);
  TextMemory memory(1, sample);
  for (std::int64_t window = 0, train = 0, test = 0; window < 25; ++window) {
    const bool is_test = window % 10 == 9;
    data.fill(is_test ? Split::test : Split::train, is_test ? test++ : train++, 3, 0, memory.inputs);
    const std::vector<std::int32_t> text = memory.restored();
    EXPECT_EQ(text.front(), 257);
    EXPECT_EQ(text.back(), 258);
    for (std::int64_t i = 0; i < 14; ++i)
      ASSERT_EQ(text[static_cast<std::size_t>(i + 1)],
                static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(14 * window + i)]))
          << "window " << window << ", byte " << i;
  }
}

TEST(Text, PositionsAreDistinctBytesInAscendingOrder) {
  for (std::int64_t sequence : {3, 4, 13, 128, 512}) {
    const SampleSpec sample = texts(sequence);
    const TextDataset data = text_data(counting(5 * 512), sample);
    TextMemory memory(1, sample);
    for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
      data.fill(Split::train, 0, epoch, 0, memory.inputs);
      EXPECT_EQ(std::set<std::int32_t>(memory.positions.begin(), memory.positions.end()).size(),
                static_cast<std::size_t>(sample.predictions));
      EXPECT_TRUE(std::is_sorted(memory.positions.begin(), memory.positions.end()));
      EXPECT_GE(memory.positions.front(), 1);
      EXPECT_LE(memory.positions.back(), sequence - 2);
    }
  }
}

TEST(Text, EveryPositionIsChosenEquallyOften) {
  const SampleSpec sample = texts(18);  // 2 of 16 positions
  const TextDataset data = text_data(counting(160), sample);
  TextMemory memory(1, sample);
  constexpr int kDraws = 8000;
  std::vector<int> counts(18);
  for (std::uint64_t epoch = 0; epoch < kDraws; ++epoch) {
    data.fill(Split::train, 1, epoch, 0, memory.inputs);
    for (std::int32_t position : memory.positions) ++counts[static_cast<std::size_t>(position)];
  }
  const double expected = kDraws * 2.0 / 16;
  for (std::size_t i = 1; i <= 16; ++i) EXPECT_NEAR(counts[i], expected, 5 * std::sqrt(expected)) << i;
}

TEST(Text, EightOfTenAreMaskedOneIsAnyByteOneStays) {
  const SampleSpec sample = texts(128);
  const TextDataset data = text_data(std::string(126, '\1'), sample);  // so that a random byte shows
  TextMemory memory(1, sample);
  constexpr int kEpochs = 2000;
  int masked = 0, random = 0, stayed = 0;
  std::set<std::int32_t> bytes;
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    data.fill(Split::train, 0, epoch, 0, memory.inputs);
    for (std::int32_t position : memory.positions) {
      const std::int32_t id = memory.ids[static_cast<std::size_t>(position)];
      (id == kMaskId ? masked : id == 1 ? stayed : random) += 1;
      if (id != kMaskId) bytes.insert(id);
    }
  }
  const double all = kEpochs * 20.0, tenth = all / 10;
  EXPECT_NEAR(masked, 8 * tenth, 5 * std::sqrt(1.6 * tenth));
  EXPECT_NEAR(random, tenth * 255 / 256, 5 * std::sqrt(tenth));
  EXPECT_NEAR(stayed, tenth * 257 / 256, 5 * std::sqrt(tenth));
  EXPECT_EQ(bytes.size(), 256u);
  EXPECT_EQ(*bytes.rbegin(), 255);
}

TEST(Text, MasksAreNewEachEpochButTheTestSplitsStay) {
  const SampleSpec sample = texts(128);
  const auto masks = [&](Split split, std::uint64_t seed, std::uint64_t epoch, std::int64_t index) {
    TextMemory memory(1, sample);
    text_data(counting(126 * 40), sample, seed).fill(split, index, epoch, 0, memory.inputs);
    return memory.positions;
  };
  EXPECT_EQ(masks(Split::train, 1, 2, 3), masks(Split::train, 1, 2, 3));
  EXPECT_NE(masks(Split::train, 1, 2, 3), masks(Split::train, 1, 3, 3));
  EXPECT_NE(masks(Split::train, 1, 2, 3), masks(Split::train, 1, 2, 4));
  EXPECT_NE(masks(Split::train, 1, 2, 3), masks(Split::train, 2, 2, 3));
  EXPECT_EQ(masks(Split::test, 1, 2, 3), masks(Split::test, 1, 3, 3));
  EXPECT_NE(masks(Split::test, 1, 2, 3), masks(Split::test, 1, 2, 2));
  EXPECT_NE(masks(Split::test, 1, 0, 0), masks(Split::train, 1, 0, 0));
}

TEST(Text, WritesItsRowOnlyAndLabelsOnlyWhereTheyAreAskedFor) {
  const SampleSpec sample = texts(16);
  TextMemory memory(3, sample);
  text_data(counting(14), sample).fill(Split::train, 0, 0, 1, std::span(memory.inputs).first(2));
  for (std::size_t i = 0; i < memory.ids.size(); ++i) EXPECT_EQ(memory.ids[i] == -99, i / 16 != 1);
  for (std::size_t i = 0; i < memory.positions.size(); ++i) EXPECT_EQ(memory.positions[i] == -99, i / 2 != 1);
  for (std::int32_t label : memory.labels) EXPECT_EQ(label, -99);
}

TEST(Text, PaddedRowsOfAnEvaluationStayInRangeAndCarryNoLabel) {
  const SampleSpec sample = texts(16);
  const TextDataset data = text_data(counting(14 * 50), sample);
  std::vector<TextMemory> slots(kInputSlots, TextMemory(3, sample));
  for (TextMemory& slot : slots) {
    slot.inputs.clear();
    for (std::vector<std::int32_t>* values : {&slot.ids, &slot.positions, &slot.labels})
      slot.inputs.push_back(std::as_writable_bytes(std::span(*values)));
  }
  Loader loader(data, {.batch = 3}, 3, [&](InputSlot slot, int input, int /*part*/) {
    return slots[static_cast<std::size_t>(slot)].inputs[static_cast<std::size_t>(input)];
  });
  loader.begin_evaluation();
  loader.release(loader.next().slot);
  const BatchSource::Batch batch = loader.next();
  ASSERT_EQ(batch.samples, 2);
  const TextMemory& memory = slots[static_cast<std::size_t>(batch.slot)];
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(memory.labels[i] == -1, i >= 4) << i;
    EXPECT_GE(memory.positions[i], 0);
    EXPECT_LT(memory.positions[i], 16);
  }
  for (std::int32_t id : memory.ids) EXPECT_TRUE(id >= 0 && id < kTextVocabulary) << id;
}

SampleSpec next_tokens(std::int64_t sequence, std::int64_t classes) {
  return {.classes = classes, .sequence = sequence, .predictions = sequence, .next_token = true};
}

// Labels are the ids one further; the last label of a window is the first id of the next.
TEST(NextTokens, WindowsAreBytesAndLabelsTheBytesAfterThem) {
  const SampleSpec sample = next_tokens(16, kByteIds);
  const std::string bytes = counting(16 * 25 + 1);
  const TextDataset data = text_data(bytes, sample);
  ASSERT_EQ(data.samples(Split::train), 23);
  ASSERT_EQ(data.samples(Split::test), 2);
  std::vector<std::int32_t> ids(3 * 16, -99), labels(ids);
  const std::vector<std::span<std::byte>> inputs{std::as_writable_bytes(std::span(ids)),
                                                 std::as_writable_bytes(std::span(labels))};
  for (std::int64_t window = 0, train = 0, test = 0; window < 25; ++window) {
    const bool is_test = window % 10 == 9;
    data.fill(is_test ? Split::test : Split::train, is_test ? test++ : train++, 3, 1, inputs);
    for (std::size_t i = 0; i < 16; ++i) {
      const std::size_t at = static_cast<std::size_t>(16 * window) + i;
      ASSERT_EQ(ids[16 + i], static_cast<std::uint8_t>(bytes[at])) << window << ", " << i;
      ASSERT_EQ(labels[16 + i], static_cast<std::uint8_t>(bytes[at + 1])) << window << ", " << i;
    }
  }
  for (const auto* values : {&ids, &labels})
    for (std::size_t i = 0; i < values->size(); ++i) ASSERT_EQ((*values)[i] == -99, i / 16 != 1) << i;
  EXPECT_EQ(text_data(counting(16 * 25), sample).samples(Split::train), 22);  // the last window has no label
}

TEST(NextTokens, OneTokenIsAWindow) {
  const TextDataset data = text_data("ab", next_tokens(1, kByteIds));
  std::vector<std::int32_t> ids(1), labels(1);
  const std::vector<std::span<std::byte>> inputs{std::as_writable_bytes(std::span(ids)),
                                                 std::as_writable_bytes(std::span(labels))};
  data.fill(Split::train, 0, 0, 0, inputs);
  EXPECT_EQ(ids[0], 'a');
  EXPECT_EQ(labels[0], 'b');
  ids[0] = 0;
  data.fill(Split::train, 0, 0, 0, std::span(inputs).first(1));
  EXPECT_EQ(ids[0], 'a');
}

TEST(NextTokens, SyntheticOnesAreUniformOverTheVocabulary) {
  for (std::int64_t sequence : {1, 3, 4, 127, 128}) {
    const auto data = open_dataset("synthetic", next_tokens(sequence, 1000), 87599, 5);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(sequence)), labels(ids);
    const std::vector<std::span<std::byte>> inputs{std::as_writable_bytes(std::span(ids)),
                                                   std::as_writable_bytes(std::span(labels))};
    double sum = 0;
    constexpr int kWindows = 200;
    for (std::int64_t i = 0; i < kWindows; ++i) {
      data->fill(Split::train, i, 0, 0, inputs);
      for (std::size_t at = 0; at < ids.size(); ++at) {
        ASSERT_TRUE(ids[at] >= 0 && ids[at] < 1000 && labels[at] >= 0 && labels[at] < 1000);
        ASSERT_TRUE(at == 0 || labels[at - 1] == ids[at]) << at;
        sum += labels[at];
      }
    }
    const double n = kWindows * static_cast<double>(sequence);
    EXPECT_NEAR(sum / n, 499.5, 5 * 289 / std::sqrt(n));
  }
}

TEST(NextTokens, ErrorsSayWhatIsWrongAndHowToFixIt) {
  const TemporaryFolder folder;
  folder.write("short", std::string(128, 'x'));
  folder.write("one", "x");
  const auto open = [&](const char* file, const SampleSpec& sample) {
    return open_dataset("text:" + (folder.path() / file).string(), sample, 0, 0);
  };
  EXPECT_EQ(open("short", next_tokens(127, 256))->samples(Split::train), 1);
  expect_data_error([&] { open("short", next_tokens(128, 256)); }, {"128 bytes", "129", "shorter sequence"});
  expect_data_error([&] { open("one", next_tokens(1, 256)); }, {"1 bytes", "one window of 2"});
  expect_data_error([&] { open("short", next_tokens(16, 255)); }, {"256 ids", "255", "larger vocabulary"});
}

TEST(FoundingDocuments, AreThoseThatTheContractStates) {
  const std::string_view text = *embedded_file("bench/data/us-founding-documents.txt");
  ASSERT_EQ(text.size(), 54676u);
  const SampleSpec sample = texts(128);
  const auto data = open_dataset("founding-documents", sample, 0, 0);
  EXPECT_EQ(data->name(), "founding-documents");
  EXPECT_FALSE(data->synthetic());
  EXPECT_EQ(data->samples(Split::train), 390);
  EXPECT_EQ(data->samples(Split::test), 43);
  TextMemory memory(1, sample);
  data->fill(Split::train, 0, 0, 0, memory.inputs);
  std::string first;
  for (std::int32_t id : memory.restored()) first += static_cast<char>(id);
  EXPECT_EQ(first.substr(1, 126), text.substr(0, 126));
}

TEST(SyntheticText, IsUniformOverTheVocabularyAndMaskedOnce) {
  const SampleSpec sample = texts(128, 1000);
  const auto data = open_dataset("synthetic", sample, 87599, 5);
  EXPECT_EQ(data->samples(Split::train), 87599);
  TextMemory memory(1, sample), again(1, sample);
  std::vector<int> counts(10);
  int masked = 0;
  for (std::int64_t i = 0; i < 100; ++i) {
    data->fill(Split::train, i, 0, 0, memory.inputs);
    data->fill(Split::train, i, 7, 0, again.inputs);
    ASSERT_EQ(memory.ids, again.ids);
    ASSERT_EQ(memory.positions, again.positions);
    for (std::int32_t id : memory.restored()) {
      ASSERT_TRUE(id >= 0 && id < 1000) << id;
      ++counts[static_cast<std::size_t>(id / 100)];
    }
    masked += static_cast<int>(std::count(memory.ids.begin(), memory.ids.end(), kMaskId));
  }
  for (int count : counts) EXPECT_NEAR(count, 1280, 5 * std::sqrt(1280.0));
  EXPECT_NEAR(masked, 1600, 5 * std::sqrt(320.0) + 13);  // of 12,800 ids, 12.8 are 259 by chance
}

TEST(TextErrors, SayWhatIsWrongAndHowToFixIt) {
  const TemporaryFolder folder;
  folder.write("empty", "");
  folder.write("short", std::string(125, 'x'));
  folder.write_gzip("long.gz", std::string(126, 'x'));
  const auto open = [&](const std::string& file, const SampleSpec& sample) {
    return open_dataset("text:" + (folder.path() / file).string(), sample, 0, 0);
  };
  const SampleSpec images{28, 28, 1, 10};
  EXPECT_EQ(open("long.gz", texts(128))->samples(Split::train), 1);
  expect_data_error([&] { open("empty", texts(128)); }, {"empty'", "is empty", "text:FILE"});
  expect_data_error([&] { open("short", texts(128)); }, {"125 bytes", "126", "shorter sequence"});
  expect_data_error([&] { open("missing", texts(128)); }, {"missing'", "cannot be found"});
  expect_data_error([&] { open("", texts(128)); }, {"is a folder: name a file in it"});
  expect_data_error([&] { open_dataset("text:", texts(128), 0, 0); }, {"'text:'", "no file"});
  expect_data_error([&] { open("long.gz", images); }, {"the model takes images"});
  expect_data_error([&] { open("long.gz", texts(128, 259)); }, {"260 ids", "259"});
  expect_data_error([&] { open_dataset("founding-documents", images, 0, 0); }, {"the model takes images"});
  for (const char* spec : {"digits", "fashion-mnist", "idx:/", "cifar10:/", "images:/"})
    expect_data_error([&] { open_dataset(spec, texts(128), 0, 0); }, {"the model takes text"});
}

TEST(Text, HasNoClasses) {
  SampleSpec sample = next_tokens(8, 256);
  sample.next_token = false;
  sample.text_classes = 2;
  expect_data_error([&] { text_data(counting(90), sample); }, {"no labels", "--data", "synthetic"});
}

}  // namespace
}  // namespace epochbench
