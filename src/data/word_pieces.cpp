#include "src/data/word_pieces.h"

#include <algorithm>
#include <array>
#include <limits>

#include <utf8proc.h>

#include "epochbench/dataset.h"
#include "src/base/hash.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr std::size_t kMaxCharacters = 100;  // of a word that is divided; BERT's limit
constexpr std::string_view kGoesOn = "##";
constexpr std::size_t kMaxParts = 16;  // Unicode's longest canonical decomposition has 4

constexpr const char* kFetch = "fetch BERT's vocab.txt again (--tokenizer wordpiece:FILE)";
constexpr const char* kCasing =
    "say it (--tokenizer wordpiece-cased:FILE or wordpiece-uncased:FILE), or put its tokenizer_config.json beside it";

DataError wrong(const ByteSource& source, const std::string& what, const std::string& remedy = kFetch) {
  return DataError("tokenizer file " + source.name() + ' ' + what + ": " + remedy);
}

// The lines of the file, without white space at their ends, up to the last one that is not empty.
std::vector<std::string> read_tokens(ByteSource& source) {
  const std::vector<std::uint8_t> bytes = read_all(source, WordPieces::kMaxBytes + 1);
  if (bytes.size() > WordPieces::kMaxBytes)
    throw wrong(source, "has more than " + std::to_string(WordPieces::kMaxBytes >> 20) +
                            " MiB, so it is not a vocabulary of word pieces");
  std::vector<std::string> tokens = split(std::string(bytes.begin(), bytes.end()), '\n');
  for (std::string& token : tokens) token.erase(token.find_last_not_of(" \t\v\f\r") + 1);
  while (!tokens.empty() && tokens.back().empty()) tokens.pop_back();
  return tokens;
}

// Whether a text without capitals and accents never has the token.
bool needs_case(std::string_view token) {
  for (std::size_t at = 0; at < token.size();) {
    const CodePoint point = code_point_at(token, at);
    at += std::max<std::size_t>(point.bytes, 1);
    const auto c = static_cast<std::int32_t>(point.value);
    if (point.bytes == 0) continue;
    if (utf8proc_tolower(c) != c) return true;
    std::array<utf8proc_int32_t, kMaxParts> parts;
    const auto count = utf8proc_decompose_char(c, parts.data(), parts.size(), UTF8PROC_DECOMPOSE, nullptr);
    for (utf8proc_ssize_t i = 0; i < count; ++i)
      if (utf8proc_category(parts[static_cast<std::size_t>(i)]) == UTF8PROC_CATEGORY_MN) return true;
  }
  return false;
}

// What the tokens say of capitals: uncased if none needs them, cased if most of the letters A to Z are tokens.
std::optional<bool> uncased_by(const std::vector<std::string>& tokens) {
  constexpr std::ptrdiff_t kMinLetters = 14;
  const auto is_letter = [](const std::string& token) { return token.size() == 1 && token[0] >= 'A' && token[0] <= 'Z'; };
  if (std::ranges::count_if(tokens, is_letter) >= kMinLetters) return false;
  const auto needs = [](const std::string& token) { return !is_in_brackets(token) && needs_case(token); };
  return std::ranges::any_of(tokens, needs) ? std::nullopt : std::optional(true);
}

bool is_space(std::int32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return true;
  const utf8proc_category_t category = utf8proc_category(c);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

// The characters that a text loses: control, format and private-use characters, and U+FFFD. Google's tokenizer also drops
// unassigned ones; Hugging Face's keeps them, since every version of Unicode assigns more.
bool is_dropped(std::int32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  const utf8proc_category_t category = utf8proc_category(c);
  return c == 0xFFFD || category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CS || category == UTF8PROC_CATEGORY_CO;
}

bool is_punctuation(std::int32_t c) {
  if (c < 0x80) return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  const utf8proc_category_t category = utf8proc_category(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

// The blocks of CJK unified and compatibility ideographs that BERT's tokenizer names.
bool is_chinese(std::int32_t c) {
  struct Range {
    std::int32_t first, last;
  };
  constexpr std::array kBlocks{Range{0x4E00, 0x9FFF},   Range{0x3400, 0x4DBF},   Range{0x20000, 0x2A6DF},
                               Range{0x2A700, 0x2B73F}, Range{0x2B740, 0x2B81F}, Range{0x2B920, 0x2CEAF},
                               Range{0xF900, 0xFAFF},   Range{0x2F800, 0x2FA1F}};
  return std::ranges::any_of(kBlocks, [c](const Range& block) { return c >= block.first && c <= block.last; });
}

// Writes words with a blank after each.
class WordWriter {
 public:
  explicit WordWriter(std::size_t bytes) { text_.reserve(bytes + bytes / 4); }
  void end() {
    if (!text_.empty() && text_.back() != ' ') text_ += ' ';
  }
  void add(std::int32_t c) {
    if (is_space(c)) return end();
    const bool alone = is_punctuation(c);
    if (alone) end();
    std::array<utf8proc_uint8_t, 4> bytes;
    text_.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(utf8proc_encode_char(c, bytes.data())));
    if (alone) end();
  }
  std::string take() {
    end();
    return std::move(text_);
  }

 private:
  std::string text_;
};

// Adds the parts of a character without its accents, in lower case.
void add_uncased(WordWriter& writer, std::int32_t c) {
  std::array<utf8proc_int32_t, kMaxParts> parts;
  const auto count = utf8proc_decompose_char(c, parts.data(), parts.size(), UTF8PROC_DECOMPOSE, nullptr);
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    const std::int32_t part = parts[static_cast<std::size_t>(i)];
    if (utf8proc_category(part) != UTF8PROC_CATEGORY_MN) writer.add(utf8proc_tolower(part));
  }
}

// Whether a token of the vocabulary continues a word, and the token without its ##.
bool goes_on(const std::string& token) { return token.size() > kGoesOn.size() && token.starts_with(kGoesOn); }
std::string stored(const std::string& token) { return token.substr(goes_on(token) ? kGoesOn.size() : 0); }

// A byte that continues a character of UTF-8.
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

WordPieces::WordPieces(ByteSource& vocabulary, std::optional<bool> uncased, const AddedNames& added) {
  const std::vector<std::string> tokens = read_tokens(vocabulary);
  if (tokens.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw wrong(vocabulary, "has " + std::to_string(tokens.size()) + " tokens");
  ids_ = static_cast<std::int64_t>(tokens.size());
  std::string all;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    // Some published vocabularies have empty lines, whose ids no text has, and some repeat tokens: the last line counts.
    if (!token.empty()) (goes_on(token) ? later_ : first_).insert_or_assign(stored(token), static_cast<std::int32_t>(i));
    longest_ = std::max(longest_, token.size());
    (all += token) += '\n';
  }
  const std::optional<bool> by_tokens = uncased_by(tokens);
  if (!uncased && !by_tokens)
    throw wrong(vocabulary, "has some tokens with capitals or accents, and does not tell whether texts keep theirs", kCasing);
  uncased_ = uncased.value_or(by_tokens.value_or(false));
  if (uncased_ != by_tokens) all += uncased_ ? "uncased" : "cased";
  const auto id_of = [&](const std::string& token) {
    const Tokens& all_such = goes_on(token) ? later_ : first_;
    const auto found = all_such.find(stored(token));
    return found == all_such.end() ? std::nullopt : std::optional(found->second);
  };
  const AddedTokens usual({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, id_of);
  added_ = added ? AddedTokens(*added, id_of) : usual;
  if (added_ != usual) all += added_.to_string();
  hash_ = text_hash(all);
  const auto needed = [&](const char* token) {
    const auto id = id_of(token);
    if (!id) throw wrong(vocabulary, std::string("has no token ") + token);
    return *id;
  };
  unknown_ = needed("[UNK]");
  special_ = {needed("[CLS]"), needed("[SEP]"), needed("[MASK]")};
}

void WordPieces::append(std::vector<std::int32_t>& ids, std::string_view word) const {
  const std::size_t before = ids.size();
  const auto unknown = [&] {
    ids.resize(before);
    ids.push_back(unknown_);
  };
  if (static_cast<std::size_t>(std::ranges::count_if(word, [](char c) { return !continues(c); })) > kMaxCharacters)
    return unknown();
  const Tokens* tokens = &first_;
  while (!word.empty()) {
    std::size_t size = std::min(word.size(), longest_);
    Tokens::const_iterator found = tokens->end();
    for (; size > 0; --size) {
      if (size < word.size() && continues(word[size])) continue;
      found = tokens->find(word.substr(0, size));
      if (found != tokens->end()) break;
    }
    if (size == 0) return unknown();
    ids.push_back(found->second);
    word.remove_prefix(size);
    tokens = &later_;
  }
}

std::string with_blanks_between(std::string_view text, bool uncased) {
  WordWriter writer(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    at += std::max<std::size_t>(point.bytes, 1);
    const auto c = static_cast<std::int32_t>(point.value);
    if (point.bytes == 0 || is_dropped(c)) continue;
    const bool chinese = is_chinese(c);
    if (chinese) writer.end();
    uncased ? add_uncased(writer, c) : writer.add(c);
    if (chinese) writer.end();
  }
  return writer.take();
}

}  // namespace epochbench
