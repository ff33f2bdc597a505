// GPT-2's byte pairs: the tokens of texts beside those of Hugging Face's tokenizers, long and broken texts, vocabularies that
// are none, and windows of tokens.
#include "src/data/tokenizer.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/base/files.h"
#include "src/base/text.h"
#include "src/data/text.h"
#include "src/data/word_pattern.h"
#include "support/data_files.h"

namespace epochbench {
namespace {

using test::expect_data_error;
using test::TemporaryFolder;
using testing::ElementsAre;
using Ids = std::vector<std::int32_t>;

const std::string kFolder = TOKENIZER_FOLDER;  // scripts/peers/tokens wrote it

std::string read(const std::string& file) {
  const auto bytes = read_all(*open_file(kFolder + "/" + file));
  return {bytes.begin(), bytes.end()};
}

Tokenizer make(const std::string& vocabulary, const std::string& merges) {
  return Tokenizer(*open_memory("'vocab.json'", vocabulary), *open_memory("'merges.txt'", merges));
}

// Merges that lack one line.
std::string without_a_line(std::string merges) {
  const std::size_t begin = merges.find('\n') + 1;
  return merges.erase(begin, merges.find('\n', begin) + 1 - begin);
}

std::vector<std::string> divided(std::string_view text) {
  std::vector<std::string> all;
  for_each_word(text, [&](std::string_view word) { all.emplace_back(word); });
  return all;
}

TEST(Tokenizer, EncodesAsHuggingFaceDoes) {
  const auto tokenizer = open_tokenizer("gpt2:" + kFolder);
  const auto encodings = nlohmann::json::parse(read("encodings.json"));
  ASSERT_GE(encodings.size(), 30u);
  for (const auto& encoding : encodings) {
    const auto text = encoding.at("text").get<std::string>();
    EXPECT_EQ(tokenizer->encode(text), encoding.at("ids").get<Ids>()) << encoding;
  }
}

TEST(Words, AreDividedAsByGpt2) {
  EXPECT_THAT(divided("I'll say  it's 10 o'clock!\n"),
              ElementsAre("I", "'ll", " say", " ", " it", "'s", " 10", " o", "'", "clock", "!", "\n"));
  EXPECT_THAT(divided("a \n b"), ElementsAre("a", " \n", " b"));
  EXPECT_THAT(divided(""), ElementsAre());
}

TEST(Words, EachByteThatIsNotUtf8IsOneByItself) {
  EXPECT_THAT(divided("ab\xff\xfe c\xe2\x82"), ElementsAre("ab", "\xff", "\xfe", " c", "\xe2", "\x82"));
  EXPECT_THAT(divided("x  \x80y"), ElementsAre("x", "  ", "\x80", "y"));  // blanks as at the end of a text
  EXPECT_THAT(divided("\xed\xa0\x80\xc0\x80"),
              ElementsAre("\xed", "\xa0", "\x80", "\xc0", "\x80"));  // a surrogate, a long form
  const auto tokenizer = open_tokenizer("gpt2:" + kFolder);
  const Ids high = tokenizer->encode("\xff");
  ASSERT_EQ(high.size(), 1u);
  EXPECT_EQ(tokenizer->encode("\xff\xff"), (Ids{high[0], high[0]}));
}

// Texts are encoded in parts of 1 MiB, by several threads.
TEST(Tokenizer, PartsChangeNothing) {
  const BytePairs pairs(*open_file(kFolder + "/vocab.json"), *open_file(kFolder + "/merges.txt"));
  const std::string some = "We the  People's\n\n 日本語 of\t1776, 'tis \xff naïve... ";
  std::string text;
  for (std::size_t i = 0; text.size() < (std::size_t{5} << 19); ++i) text += some.substr(i % 7) + std::to_string(i * i);
  Ids expected;
  WordEncoder encoder(pairs);
  for_each_word(text, [&](std::string_view word) { encoder.append(expected, word); });
  EXPECT_EQ(open_tokenizer("gpt2:" + kFolder)->encode(text), expected);
}

// The definition, in quadratic time.
Ids joined_one_by_one(const BytePairs& pairs, std::string_view word) {
  Ids ids;
  for (char byte : word) ids.push_back(pairs.of_byte(byte));
  while (true) {
    std::size_t at = 0;
    const BytePairs::Merge* best = nullptr;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i)
      if (const BytePairs::Merge* merge = pairs.find(ids[i], ids[i + 1]); merge && (!best || merge->rank < best->rank)) {
        best = merge;
        at = i;
      }
    if (!best) return ids;
    ids[at] = best->id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(BytePairs, TheLowestRankIsJoinedFirstAndOfThoseTheLeftmost) {
  // The second vocabulary's ranks are shuffled, so that a joined pair may have a lower rank than those before it.
  std::string merges = read("merges.txt");
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end = 0; (end = merges.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(merges.substr(begin, end - begin));
  std::mt19937 random(5);
  std::shuffle(lines.begin() + 1, lines.end(), random);
  std::string shuffled;
  for (const std::string& line : lines) shuffled += line + "\n";
  for (const std::string& ranks : {merges, shuffled}) {
    const BytePairs pairs(*open_file(kFolder + "/vocab.json"), *open_memory("'merges.txt'", ranks));
    WordEncoder encoder(pairs);
    for (int i = 0; i < 300; ++i) {
      std::string word;
      for (std::size_t size = 1 + random() % 60; word.size() < size;) word += " theonaistr"[random() % 11];
      Ids ids;
      encoder.append(ids, word);
      ASSERT_EQ(ids, joined_one_by_one(pairs, word)) << word;
    }
  }
}

// In quadratic time a million bytes would take hours.
TEST(Tokenizer, ALongWordTakesLittleLongerThanShortOnes) {
  const auto tokenizer = open_tokenizer("gpt2:" + kFolder);
  constexpr std::size_t kBytes = 1'000'000;
  for (const std::string& some : {std::string("the"), std::string(" "), std::string("!"), std::string("\xff")}) {
    std::string text;
    while (text.size() < kBytes) text += some;
    const Ids ids = tokenizer->encode(text);
    EXPECT_GT(ids.size(), 1000u);
    EXPECT_LE(ids.size(), text.size());
  }
}

TEST(Tokenizer, IsKnownByItsTokensAndMergesAlone) {
  const std::string vocabulary = read("vocab.json"), merges = read("merges.txt");
  const std::string identity = make(vocabulary, merges).identity();
  EXPECT_EQ(identity.substr(0, 18), "gpt2, 600 tokens, ");
  EXPECT_EQ(identity.size(), 18u + 32);
  EXPECT_EQ(make(nlohmann::json::parse(vocabulary).dump(2), merges).identity(), identity);
  EXPECT_EQ(make(vocabulary, merges.substr(merges.find('\n') + 1)).identity(), identity) << "without the line of the version";
  EXPECT_NE(make(vocabulary, without_a_line(merges)).identity(), identity);
  std::string exchanged = vocabulary;
  const std::size_t a = exchanged.find("\"a\":"), b = exchanged.find("\"b\":");
  std::swap(exchanged[a + 1], exchanged[b + 1]);
  EXPECT_NE(make(exchanged, merges).identity(), identity);
  EXPECT_EQ(open_tokenizer("gpt2:" + kFolder), open_tokenizer("gpt2:" + kFolder + "/")) << "read once";
}

TEST(TokenizerErrors, SayWhatIsWrongAndHowToFixIt) {
  const std::string vocabulary = read("vocab.json");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = vocabulary;
    EXPECT_NE(text.find(from), std::string::npos) << from;
    return text.replace(text.find(from), from.size(), to);
  };
  const auto refused = [](const std::string& vocabulary_text, const std::string& merges, std::vector<std::string> fragments) {
    expect_data_error([&] { make(vocabulary_text, merges); }, fragments);
  };
  refused("", "", {"'vocab.json'", "not JSON", "--tokenizer"});
  refused("{", "", {"not JSON"});
  refused("[]", "", {"not an object"});
  refused("7", "", {"not an object"});
  refused("{}", "", {"no token", "byte 0"});
  refused(std::string(100000, '['), "", {"not an object"});
  refused("{\"a\":{\"b\":0}}", "", {"token 'a'", "whole number"});
  refused("{\"a\":-1}", "", {"token 'a'", "whole number"});
  refused("{\"a\":0.5}", "", {"whole number"});
  refused("{\"a\":1}", "", {"'a'", "id 1", "1 tokens"});
  refused("{\"a\":18446744073709551615}", "", {"id 18446744073709551615"});
  refused("{\"a\":0,\"b\":0}", "", {"id 0", "'a' and 'b'"});
  refused("{\"a\":0,\"a\":1}", "", {"'a' twice"});
  refused("{\"a\":0}\n{}", "", {"not JSON"});
  refused(changed("\"A\":", "\"AAAA\":"), "", {"no token 'A'", "byte 65"});
  refused(vocabulary, "#version: 0.2\nt h e\n", {"'merges.txt'", "line 2", "two tokens"});
  refused(vocabulary, "th\n", {"line 1", "two tokens"});
  refused(vocabulary, " h\n", {"two tokens"});
  refused(vocabulary, "t \n", {"two tokens"});
  refused(vocabulary, "h e\n\nh e\n", {"line 2", "two tokens"});
  refused(vocabulary, "h e\nh e\n", {"line 2", "repeats", "'h e'"});
  refused(vocabulary, "Z Z\n", {"'ZZ'", "lacks"});
  refused(vocabulary, "nothing x\n", {"'nothing'", "lacks"});
  std::string of_windows = read("merges.txt");
  for (std::size_t at = 0; (at = of_windows.find('\n', at)) != std::string::npos; at += 2) of_windows.insert(at, 1, '\r');
  EXPECT_EQ(make(vocabulary, of_windows).identity(), make(vocabulary, read("merges.txt")).identity());
}

// They would silently give other tokens.
TEST(TokenizerErrors, MergesThatAreCutOffOrOfAnotherKind) {
  const std::string vocabulary = read("vocab.json"), merges = read("merges.txt");
  for (const std::string& part : {std::string(), std::string("#version: 0.2\n"), merges.substr(0, merges.size() / 2),
                                  merges.substr(0, merges.find('\n', merges.size() / 2) + 1)})
    expect_data_error([&] { make(vocabulary, part); }, {"'merges.txt'", "is cut off", "tokens, such as '", "--tokenizer"});
  make(vocabulary, without_a_line(merges));  // a token of the vocabulary alone is not refused
  auto of_clip = nlohmann::json::parse(vocabulary);
  of_clip["a</w>"] = of_clip.size();
  expect_data_error([&] { make(of_clip.dump(), merges); }, {"</w>", "CLIP", "--tokenizer"});
}

TEST(TokenizerErrors, FilesBesideTheVocabularyAreFollowedOrRefused) {
  const TemporaryFolder folder;
  const std::string spec = "gpt2:" + folder.path().string();
  for (const char* name : {"vocab.json", "merges.txt"}) folder.write(name, read(name));
  EXPECT_EQ(open_tokenizer(spec + "/merges.txt"), open_tokenizer(spec));
  folder.write("added_tokens.json", R"({"<pad>": 600, "<sep>": 601})");
  EXPECT_EQ(open_tokenizer(spec)->ids(), 602);
  EXPECT_EQ(open_tokenizer(spec)->encode("<sep><pad><|endoftext|>"), (Ids{601, 600, 0}));
  for (const auto& [content, reason] : {std::pair("[]", "is not an object"),
                                        {R"({"a": 900})", "gives token 'a' the id 900"},
                                        {R"({"<pad>": "x"})", "no id of token '<pad>'"},
                                        {R"({"a b": 600})", "white space"}}) {
    folder.write("added_tokens.json", content);
    expect_data_error([&] { open_tokenizer(spec); }, {"added_tokens.json'", reason});
  }
  std::filesystem::remove(folder.path() / "added_tokens.json");
  folder.write("tokenizer_config.json", R"({"add_prefix_space": true})");
  expect_data_error([&] { open_tokenizer(spec); }, {"tokenizer_config.json", "add_prefix_space=true", "--tokenizer"});
  folder.write("tokenizer_config.json", R"({"add_prefix_space": false, "model_max_length": 1024})");
  open_tokenizer(spec);
}

TEST(Tokenizer, FindsSpecialTokensInAText) {
  const auto tokenizer = open_tokenizer("gpt2:" + kFolder);
  EXPECT_EQ(tokenizer->encode("<|endoftext|>"), Ids{0});
  const std::string story = "Once upon a time.", both = story + "<|endoftext|>" + story;
  Ids expected = tokenizer->encode(story);
  const Ids once = expected;
  expected.push_back(0);
  expected.insert(expected.end(), once.begin(), once.end());
  EXPECT_EQ(tokenizer->encode(both), expected);
  std::string many;  // of several parts
  Ids many_expected;
  while (many.size() < (std::size_t{3} << 19)) {
    many += story + "<|endoftext|>";
    many_expected.insert(many_expected.end(), expected.begin(),
                         expected.begin() + static_cast<std::ptrdiff_t>(once.size()) + 1);
  }
  EXPECT_EQ(tokenizer->encode(many), many_expected);
}

TEST(TokenizerErrors, FilesThatAreNotThereOrTooLarge) {
  const TemporaryFolder folder;
  const std::string spec = "gpt2:" + folder.path().string();
  expect_data_error([&] { open_tokenizer("bert:x"); }, {"unknown tokenizer", "gpt2:DIR or wordpiece:FILE"});
  expect_data_error([&] { open_tokenizer(spec + "/nowhere"); }, {"does not exist", "vocab.json"});
  folder.write("tokenizer.model", "SentencePiece");
  expect_data_error([&] { open_tokenizer(spec); }, {"vocab.json' does not exist (but 'tokenizer.model')"});
  expect_data_error([&] { open_tokenizer(spec + "/tokenizer.model"); },
                    {"tokenizer.model' is none of the files of such a tokenizer; name the folder"});
  folder.write("vocab.json", read("vocab.json"));
  expect_data_error([&] { open_tokenizer(spec); }, {"does not exist", "merges.txt"});
  folder.write_gzip("merges.txt", std::string(BytePairs::kMaxBytes + 1, '\n'));
  expect_data_error([&] { open_tokenizer(spec); }, {"merges.txt", "64 MiB"});
}

TEST(TokenText, WindowsAreOfTokens) {
  const auto tokenizer = open_tokenizer("gpt2:" + kFolder);
  const std::string text = "We the People of the United States, in Order to form a more perfect Union, establish Justice";
  const Ids ids = tokenizer->encode(text);
  const SampleSpec sample{.classes = 600, .sequence = 5, .predictions = 5, .next_token = true};
  const TextDataset data("text:test", sample, *open_memory("'test'", text), 0, tokenizer.get());
  const auto windows = static_cast<std::int64_t>(ids.size() - 1) / 5;
  ASSERT_GE(windows, 3);
  EXPECT_EQ(data.samples(Split::train) + data.samples(Split::test), windows);
  Ids read_ids(5), labels(5);
  const std::vector<std::span<std::byte>> inputs{std::as_writable_bytes(std::span(read_ids)),
                                                 std::as_writable_bytes(std::span(labels))};
  data.fill(Split::train, 2, 0, 0, inputs);
  EXPECT_EQ(read_ids, Ids(ids.begin() + 10, ids.begin() + 15));
  EXPECT_EQ(labels, Ids(ids.begin() + 11, ids.begin() + 16));
}

TEST(TokenText, RefusesModelsAndTextsThatDoNotFit) {
  const TemporaryFolder folder;
  folder.write("text", "We the People");
  const auto tokenizer = open_tokenizer("gpt2:" + kFolder);
  const auto open = [&](const SampleSpec& sample, const std::string& spec) {
    return open_dataset(spec, sample, 100, 0, tokenizer.get());
  };
  const std::string text = "text:" + (folder.path() / "text").string();
  const SampleSpec next{.classes = 600, .sequence = 2, .predictions = 2, .next_token = true};
  EXPECT_EQ(open(next, text)->samples(Split::train), 3);
  SampleSpec other = next;
  other.sequence = 64;
  expect_data_error([&] { open(other, text); }, {"tokens", "one window of 65", "shorter sequence"});
  other = next;
  other.classes = 599;
  expect_data_error([&] { open(other, text); }, {"600 tokens", "599", "another model", "vocabulary="});
  other = {.classes = 30522, .sequence = 128, .predictions = 20};
  expect_data_error([&] { open(other, text); }, {"[MASK]", "wordpiece:FILE", "gpt2"});
  expect_data_error([&] { open(next, "synthetic"); }, {"'synthetic'", "--tokenizer"});
}

TEST(Tokenizer, FilesMayHaveTheNamesThatOpenAiGaveThem) {
  const TemporaryFolder folder;
  folder.write("encoder.json", read("vocab.json"));
  folder.write("vocab.bpe", read("merges.txt") + "\n \n");
  const std::string path = folder.path().string();
  const std::string identity = open_tokenizer("gpt2:" + kFolder)->identity();
  for (const char* name : {"", "/encoder.json", "/vocab.bpe"})
    EXPECT_EQ(open_tokenizer("gpt2:" + path + name)->identity(), identity);
  folder.write("vocab.json", "{}");  // those of Hugging Face count first
  expect_data_error([&] { open_tokenizer("gpt2:" + path); }, {"vocab.json'"});
}

// tokenizer.json with GPT-2's settings and these tokens.
nlohmann::json byte_pairs_json(bool merges_are_pairs) {
  nlohmann::json merges = nlohmann::json::array();
  for (const std::string& line : split(read("merges.txt"), '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos || line.starts_with("#version")) continue;
    merges.push_back(line);
    if (merges_are_pairs) merges.back() = {line.substr(0, blank), line.substr(blank + 1)};
  }
  return {
      {"version", "1.0"},
      {"added_tokens", {{{"id", 0}, {"content", "<|endoftext|>"}, {"special", true}, {"normalized", true}, {"lstrip", false}}}},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}}},
      {"model", {{"type", "BPE"}, {"vocab", nlohmann::json::parse(read("vocab.json"))}, {"merges", merges}}}};
}

TEST(TokenizerJson, OfBytePairsGivesTheSameIds) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const auto plain = open_tokenizer("gpt2:" + kFolder);
  for (const bool pairs : {false, true}) {
    folder.write("tokenizer.json", byte_pairs_json(pairs).dump());
    for (const std::string& spec : {"gpt2:" + path, "gpt2:" + path + "/tokenizer.json"}) {
      const auto tokenizer = open_tokenizer(spec);
      EXPECT_EQ(tokenizer->identity(), plain->identity());
      EXPECT_EQ(tokenizer->encode("It's 10 o'clock, \n\tAmélie!"), plain->encode("It's 10 o'clock, \n\tAmélie!"));
    }
  }
  EXPECT_EQ(open_tokenizer("gpt2:" + kFolder + "/vocab.json"), open_tokenizer("gpt2:" + kFolder));
}

// As the tokenizer.json of GPT-2 itself.
TEST(TokenizerJson, MayNotStateTheTypeOfItsModel) {
  const TemporaryFolder folder;
  const std::string spec = "gpt2:" + folder.path().string();
  nlohmann::json document = byte_pairs_json(false);
  document["model"].erase("type");
  folder.write("tokenizer.json", document.dump());
  EXPECT_EQ(open_tokenizer(spec)->identity(), open_tokenizer("gpt2:" + kFolder)->identity());
  const auto scored = nlohmann::json::array({"<unk>", 0.0});
  document["model"] = {{"unk_id", 0}, {"vocab", nlohmann::json::array({scored})}};  // as T5's
  folder.write("tokenizer.json", document.dump());
  expect_data_error([&] { open_tokenizer(spec); }, {"model.type '\"Unigram\"', not \"BPE\"", "--tokenizer"});
}

TEST(TokenizerJson, HasTokensBesideThoseOfTheModel) {
  const TemporaryFolder folder;
  const std::string spec = "gpt2:" + folder.path().string();
  nlohmann::json document = byte_pairs_json(false);
  document["added_tokens"].push_back({{"id", 600}, {"content", "<pad>"}, {"special", true}});
  folder.write("tokenizer.json", document.dump());
  EXPECT_EQ(open_tokenizer(spec)->ids(), 601);
  EXPECT_EQ(open_tokenizer(spec)->encode("<pad><|endoftext|>"), (Ids{600, 0}));
  document["added_tokens"] = nlohmann::json::array();
  folder.write("tokenizer.json", document.dump());
  EXPECT_GT(open_tokenizer(spec)->encode("<|endoftext|>").size(), 1u) << "no token is looked for";
  EXPECT_NE(open_tokenizer(spec)->identity(), open_tokenizer("gpt2:" + kFolder)->identity());
}

TEST(TokenizerJson, WithOtherSettingsIsRefused) {
  const TemporaryFolder folder;
  const std::string spec = "gpt2:" + folder.path().string();
  for (const auto& [place, value, reason] :
       {std::tuple{"/model/type", nlohmann::json("Unigram"), "model.type"},
        {"/normalizer", nlohmann::json({{"type", "NFC"}}), "normalizer"},
        {"/pre_tokenizer", nlohmann::json({{"type", "Split"}}), "pre_tokenizer.type"},
        {"/pre_tokenizer/add_prefix_space", nlohmann::json(true), "pre_tokenizer.add_prefix_space"},
        {"/pre_tokenizer/use_regex", nlohmann::json(false), "pre_tokenizer.use_regex"},
        {"/model/byte_fallback", nlohmann::json(true), "model.byte_fallback"},
        {"/model/end_of_word_suffix", nlohmann::json("</w>"), "model.end_of_word_suffix"},
        {"/model/merges/0", nlohmann::json(1), "a merge that is not two tokens"},
        {"/model/merges", nlohmann::json(nullptr), "has no merges"},
        {"/model/vocab", nlohmann::json(nullptr), "has no vocab"},
        {"/added_tokens/0/lstrip", nlohmann::json(true), "added_tokens[0].lstrip"},
        {"/added_tokens/0/id", nlohmann::json(5), "gives token '<|endoftext|>' the id 5"},
        {"/added_tokens/0/content", nlohmann::json("a b"), "white space"},
        {"/model", nlohmann::json("BPE"), "has no model"}}) {
    nlohmann::json document = byte_pairs_json(false);
    document[nlohmann::json::json_pointer(place)] = value;
    folder.write("tokenizer.json", document.dump());
    expect_data_error([&] { open_tokenizer(spec); }, {"tokenizer.json'", reason, "--tokenizer"});
  }
}

}  // namespace
}  // namespace epochbench
