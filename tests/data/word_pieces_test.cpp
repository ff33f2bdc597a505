// BERT's word pieces: the tokens of texts beside those of Hugging Face's tokenizers, texts that are not UTF-8, files that are
// not vocabularies, and windows that BERT is trained on.
#include "src/data/word_pieces.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/base/text.h"
#include "src/data/text.h"
#include "src/data/tokenizer.h"
#include "support/data_files.h"

namespace epochbench {
namespace {

using test::expect_data_error;
using test::TemporaryFolder;
using testing::ElementsAre;
using Ids = std::vector<std::int32_t>;

const std::string kWordPieceFolder = WORDPIECE_FOLDER;  // scripts/peers/tokens wrote it

const std::string kSmall = "[UNK]\n[CLS]\n[SEP]\n[MASK]\nunder\n##stand\n##ing\nthe\n,\nund\n##er\n";

Ids encode(const std::string& vocabulary, std::string_view text) {
  return Tokenizer(*open_memory("'vocab.txt'", vocabulary)).encode(text);
}

TEST(WordPieces, EncodesAsHuggingFaceDoes) {
  const auto bytes = read_all(*open_file(kWordPieceFolder + "/encodings.json"));
  const auto encodings = nlohmann::json::parse(bytes);
  ASSERT_GE(encodings.size(), 80u);
  for (const auto& encoding : encodings) {
    const auto tokenizer =
        open_tokenizer("wordpiece:" + kWordPieceFolder + "/" + encoding.at("vocabulary").get<std::string>() + ".txt");
    EXPECT_EQ(tokenizer->encode(encoding.at("text").get<std::string>()), encoding.at("ids").get<Ids>()) << encoding;
  }
}

TEST(WordPieces, TheLongestTokenIsTakenFirst) {
  EXPECT_THAT(encode(kSmall, "Understanding, the"), ElementsAre(4, 5, 6, 8, 7));
  EXPECT_THAT(encode(kSmall, "under"), ElementsAre(4)) << "not 'und' and '##er'";
  EXPECT_THAT(encode(kSmall, "understandable the"), ElementsAre(0, 7)) << "[UNK] stands for the whole word";
  EXPECT_THAT(encode(kSmall, ""), ElementsAre());
  EXPECT_THAT(encode(kSmall, "the[MASK]the [mask]"), ElementsAre(7, 3, 7, 0, 0, 0)) << "a token, but not in lower case";
  EXPECT_THAT(encode("[UNK]\r\n[CLS] \n[SEP]\t\n[MASK]\nthe  \n", "the"), ElementsAre(4)) << "white space ends no token";
}

std::string letters(char first, char last) {
  std::string tokens;
  for (char c = first; c <= last; ++c) (tokens += c) += '\n';
  return tokens;
}

TEST(WordPieces, LowerTextsOnlyWithAVocabularyOfLowerCase) {
  EXPECT_THAT(encode(kSmall, "THÉ"), ElementsAre(7));
  EXPECT_THAT(encode(kSmall + "[PAD]\n<S>\n", "THÉ"), ElementsAre(7)) << "special tokens say nothing";
  EXPECT_THAT(encode(kSmall + letters('A', 'Z'), "THE the thé A"), ElementsAre(0, 7, 0, 11));
}

TEST(WordPieces, ThatDoNotTellHowCapitalsAreReadAsk) {
  for (const char* token : {"NATO", "é", "Привет", "が"}) {
    const std::string vocabulary = kSmall + token + "\n";
    expect_data_error([&] { encode(vocabulary, "a"); }, {"'vocab.txt'", "capitals or accents", "wordpiece-uncased:FILE"});
    const Tokenizer cased(*open_memory("'v'", vocabulary), false), uncased(*open_memory("'v'", vocabulary), true);
    EXPECT_THAT(cased.encode("THE the"), ElementsAre(0, 7)) << token;
    EXPECT_THAT(uncased.encode("THE the"), ElementsAre(7, 7)) << token;
    EXPECT_NE(cased.identity(), uncased.identity()) << token;
  }
  EXPECT_EQ(Tokenizer(*open_memory("'v'", kSmall), true).identity(), Tokenizer(*open_memory("'v'", kSmall)).identity());
  EXPECT_NE(Tokenizer(*open_memory("'v'", kSmall), false).identity(), Tokenizer(*open_memory("'v'", kSmall)).identity());
}

TEST(WordPieces, AConfigurationBesideThemDecides) {
  const TemporaryFolder folder;
  const std::string file = folder.path().string() + "/vocab.txt";
  folder.write("vocab.txt", "\xef\xbb\xbf" + kSmall + "NATO\r\n");
  folder.write("tokenizer_config.json", R"({"do_lower_case": true, "strip_accents": null})");
  EXPECT_THAT(open_tokenizer("wordpiece:" + file)->encode("THE"), ElementsAre(7));
  EXPECT_THAT(open_tokenizer("wordpiece-cased:" + file)->encode("THE"), ElementsAre(0));
  folder.write("tokenizer_config.json", R"({"do_lower_case": false})");
  EXPECT_THAT(open_tokenizer("wordpiece:" + file)->encode("THE"), ElementsAre(0));
  EXPECT_THAT(open_tokenizer("wordpiece-uncased:" + file)->encode("THE"), ElementsAre(7));
  for (const auto& [config, reason] :
       {std::pair{"[]", "is not a JSON object"},
        {R"({"do_lower_case": 1})", "neither true nor false"},
        {R"({"do_lower_case": true, "strip_accents": false})", "strip_accents unlike do_lower_case"},
        {R"({"tokenize_chinese_chars": false})", "tokenize_chinese_chars=false"}}) {
    folder.write("tokenizer_config.json", config);
    expect_data_error([&] { open_tokenizer("wordpiece:" + file); }, {"tokenizer_config.json'", reason, "wordpiece-cased:FILE"});
  }
  folder.write("vocab.txt", std::string("\xff\xfe[\0U\0", 6));
  expect_data_error([&] { open_tokenizer("wordpiece-cased:" + file); }, {"vocab.txt'", "is text in UTF-16", "iconv"});
}

TEST(WordPieces, OfATokenizerJsonGiveTheSameIds) {
  const TemporaryFolder folder;
  nlohmann::json tokens = nlohmann::json::object();
  std::int64_t id = 0;
  for (const std::string& token : split(kSmall, '\n'))
    if (!token.empty()) tokens[token] = id++;
  nlohmann::json special = nlohmann::json::array();
  for (const char* token : {"[UNK]", "[CLS]", "[SEP]", "[MASK]"})
    special.push_back({{"id", tokens[token]}, {"content", token}, {"normalized", false}});
  const nlohmann::json document{{"added_tokens", special},
                                {"normalizer",
                                 {{"type", "BertNormalizer"},
                                  {"clean_text", true},
                                  {"handle_chinese_chars", true},
                                  {"strip_accents", nullptr},
                                  {"lowercase", true}}},
                                {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                                {"model",
                                 {{"type", "WordPiece"},
                                  {"unk_token", "[UNK]"},
                                  {"continuing_subword_prefix", "##"},
                                  {"max_input_chars_per_word", 100},
                                  {"vocab", tokens}}}};
  folder.write("tokenizer.json", document.dump());
  const std::string path = folder.path().string();
  const std::string identity = Tokenizer(*open_memory("'v'", kSmall), true).identity();
  for (const std::string& spec : {path, path + "/tokenizer.json"}) {
    EXPECT_EQ(open_tokenizer("wordpiece:" + spec)->identity(), identity);
    EXPECT_THAT(open_tokenizer("wordpiece:" + spec)->encode("THE"), ElementsAre(7));
    EXPECT_THAT(open_tokenizer("wordpiece-cased:" + spec)->encode("THE"), ElementsAre(0));
  }
  for (const auto& [place, value, reason] :
       {std::tuple{"/normalizer/lowercase", nlohmann::json(nullptr), "normalizer.lowercase"},
        {"/normalizer/strip_accents", nlohmann::json(false), "normalizer.strip_accents"},
        {"/normalizer/handle_chinese_chars", nlohmann::json(false), "normalizer.handle_chinese_chars"},
        {"/model/max_input_chars_per_word", nlohmann::json(200), "model.max_input_chars_per_word"},
        {"/model/vocab/the", nlohmann::json(40), "no token with the id 7"},
        {"/model/vocab/the", nlohmann::json(0), "'the'"},
        {"/added_tokens/0/normalized", nlohmann::json(true), "added_tokens[0].normalized"},
        {"/model/type", nlohmann::json("BPE"), "model.type"}}) {
    nlohmann::json other = document;
    other[nlohmann::json::json_pointer(place)] = value;
    folder.write("tokenizer.json", other.dump());
    expect_data_error([&] { open_tokenizer("wordpiece:" + path); }, {"tokenizer.json'", reason, "--tokenizer"});
  }
  nlohmann::json untyped = document;  // as the file of BERT itself
  untyped["model"].erase("type");
  folder.write("tokenizer.json", untyped.dump());
  EXPECT_EQ(open_tokenizer("wordpiece:" + path)->identity(), identity);
  folder.write("vocab.txt", kSmall);  // which its folder stands for
  EXPECT_EQ(open_tokenizer("wordpiece:" + path)->identity(), Tokenizer(*open_memory("'v'", kSmall)).identity());
}

// As ConvBERT's vocabulary repeats tokens, and others have empty lines: the ids of Hugging Face's tokenizers.
TEST(WordPieces, ALineIsAnIdWhateverItHas) {
  const Ids before = encode(kSmall, "the understanding");
  EXPECT_THAT(encode(kSmall + "\n\nmore\n", "more"), ElementsAre(13));
  EXPECT_EQ(encode(kSmall + "\n\nmore\n", "the understanding"), before);
  const Ids repeated = encode(kSmall + "the\n##ing\n", "the understanding");
  EXPECT_EQ(repeated.front(), 11);
  EXPECT_EQ(repeated.back(), 12);
  const auto ids = [](const std::string& vocabulary) { return Tokenizer(*open_memory("'vocab.txt'", vocabulary)).ids(); };
  EXPECT_EQ(ids(kSmall + "\n \n\n"), ids(kSmall)) << "empty lines at the end have no ids";
}

TEST(WordPieces, BytesThatAreNotUtf8AreDropped) {
  EXPECT_EQ(with_blanks_between("a\xff\xfe"
                                "b\xe2\x82 c",
                                true),
            "ab c ");
  EXPECT_EQ(with_blanks_between("\xc0\x80\xed\xa0\x80", false), "");
}

TEST(WordPieces, AreKnownByTheirTokensAlone) {
  const auto identity = [](const std::string& vocabulary) {
    return Tokenizer(*open_memory("'vocab.txt'", vocabulary)).identity();
  };
  EXPECT_EQ(identity(kSmall).substr(0, 22), "wordpiece, 11 tokens, ");
  EXPECT_EQ(identity(kSmall).size(), 22u + 32);
  std::string other_ends = kSmall;
  for (std::size_t at = 0; (at = other_ends.find('\n', at)) != std::string::npos; at += 2) other_ends.replace(at, 1, "\r\n");
  EXPECT_EQ(identity(other_ends), identity(kSmall));
  EXPECT_NE(identity(kSmall + "more\n"), identity(kSmall));
}

TEST(WordPieceErrors, SayWhatIsWrongAndHowToFixIt) {
  const auto refused = [](const std::string& vocabulary, std::vector<std::string> fragments) {
    fragments.insert(fragments.end(), {"'vocab.txt'", "--tokenizer wordpiece:FILE"});
    expect_data_error([&] { encode(vocabulary, "a"); }, fragments);
  };
  refused("", {"no token [UNK]"});
  refused("[UNK]\n[CLS]\n[SEP]\n", {"no token [MASK]"});
  refused(std::string(WordPieces::kMaxBytes + 1, 'a'), {"16 MiB"});
  const TemporaryFolder folder;
  expect_data_error([&] { open_tokenizer("wordpiece:" + folder.path().string() + "/vocab.txt"); },
                    {"does not exist", "vocab.txt"});
}

// Masked and replaced words of the vocabulary, and labels of the text.
TEST(WordPieceText, WindowsAreMaskedWithTheTokensOfTheVocabulary) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "the under , understanding ";
  const Tokenizer tokenizer(*open_memory("'vocab.txt'", kSmall));
  const Ids ids = tokenizer.encode(text);
  const SampleSpec sample{.classes = 11, .sequence = 64, .predictions = 10};
  const TextDataset data("text:test", sample, *open_memory("'test'", text), 7, &tokenizer);
  EXPECT_EQ(data.samples(Split::train) + data.samples(Split::test), static_cast<std::int64_t>(ids.size() / 62));
  Ids window(64), positions(10), labels(10);
  const std::vector<std::span<std::byte>> inputs{std::as_writable_bytes(std::span(window)),
                                                 std::as_writable_bytes(std::span(positions)),
                                                 std::as_writable_bytes(std::span(labels))};
  int masked = 0, kept = 0;
  for (std::int64_t row = 0; row < 20; ++row) {
    data.fill(Split::train, 0, static_cast<std::uint64_t>(row), 0, inputs);
    EXPECT_EQ(window.front(), 1);
    EXPECT_EQ(window.back(), 2);
    Ids unmasked = window;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const std::int32_t id = window[static_cast<std::size_t>(positions[i])];
      EXPECT_TRUE(id >= 0 && id < 11);
      masked += id == 3;
      kept += id == labels[i];
      unmasked[static_cast<std::size_t>(positions[i])] = labels[i];
    }
    EXPECT_TRUE(std::equal(ids.begin(), ids.begin() + 62, unmasked.begin() + 1));
  }
  EXPECT_GT(masked, 130);
  EXPECT_LT(masked, 185);
  EXPECT_GT(kept, 5);
}

TEST(WordPieceText, RefusesModelsWithFewerWords) {
  const Tokenizer tokenizer(*open_memory("'vocab.txt'", kSmall));
  const SampleSpec sample{.classes = 10, .sequence = 16, .predictions = 3};
  expect_data_error([&] { TextDataset("text:test", sample, *open_memory("'test'", "the the"), 0, &tokenizer); },
                    {"11 tokens", "knows 10", "vocab.txt"});
}

}  // namespace
}  // namespace epochbench
