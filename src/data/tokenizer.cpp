#include "src/data/tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "epochbench/dataset.h"
#include "epochbench/tokenizer_kinds.h"
#include "src/base/hash.h"
#include "src/data/prepared_dataset.h"
#include "src/data/tokenizer_json.h"
#include "src/data/word_pattern.h"

namespace epochbench {
namespace {

constexpr std::size_t kPartBytes = std::size_t{1} << 20;

// Where the text can be cut at or after `at`: between an ASCII character and ASCII white space there is always a word border.
std::size_t cut_after(std::string_view text, std::size_t at) {
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  const auto is_character = [](char c) { return c > ' ' && c <= '~'; };
  for (; at < text.size(); ++at)
    if (is_character(text[at - 1]) && is_space(text[at])) return at;
  return text.size();
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.size() > kPartBytes ? cut_after(text, kPartBytes) : text.size();
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

// The ids of words. Those of a repeated word are copied from its first place. Words are not copied, so they must stay in
// memory.
template <class Encoder>
class WordList {
 public:
  WordList(std::vector<std::int32_t>& ids, Encoder encoder) : ids_(ids), encoder_(std::move(encoder)) {}

  void add(std::string_view word) {
    if (word.size() >= std::numeric_limits<std::uint32_t>::max())
      throw DataError("a text has a word of " + std::to_string(word.size()) + " bytes: use a text of language (--data)");
    const auto [at, is_new] = known_.try_emplace(word, ids_.size(), 0);
    auto& [begin, end] = at->second;
    if (is_new) {
      encoder_.append(ids_, word);
      end = ids_.size();
    } else {
      for (std::size_t i = begin; i < end; ++i) ids_.push_back(ids_[i]);
    }
  }

 private:
  std::vector<std::int32_t>& ids_;
  Encoder encoder_;
  std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>> known_;  // where its ids begin and end
};

void encode_part(std::vector<std::int32_t>& ids, std::string_view part, const BytePairs& pairs) {
  WordList list(ids, WordEncoder(pairs));
  for_each_word(part, [&](std::string_view word) { list.add(word); });
}

void encode_part(std::vector<std::int32_t>& ids, std::string_view part, const WordPieces& pieces) {
  const std::string all = with_blanks_between(part, pieces.uncased());
  WordList<const WordPieces&> list(ids, pieces);
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end + 1) {
    end = all.find(' ', begin);
    list.add(std::string_view(all).substr(begin, end - begin));
  }
}

constexpr std::string_view kGpt2Remedy =
                               "name the folder with vocab.json and merges.txt, or with tokenizer.json (--tokenizer gpt2:DIR)",
                           kWordPieceRemedy = "name BERT's vocab.txt or tokenizer.json (--tokenizer wordpiece:FILE)";

// Without a byte order mark, which editors of Windows put before UTF-8.
std::string read_file(const std::string& spec, const std::filesystem::path& path, std::string_view remedy) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw DataError("tokenizer " + in_quotes(spec) + ": file " + in_quotes(path.string()) + " does not exist; " +
                    std::string(remedy));
  const std::vector<std::uint8_t> bytes = read_all(*open_file(path), BytePairs::kMaxBytes + 1);
  if (const std::string_view encoding = wide_encoding(bytes); !encoding.empty())
    throw DataError("tokenizer " + in_quotes(spec) + ": file " + in_quotes(path.string()) + " is text in " +
                    std::string(encoding) + "; convert it with iconv -f " + std::string(encoding) + " -t UTF-8");
  std::string text(bytes.begin(), bytes.end());
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

// The tokenizer.json that `path` is, or that stands in that folder in place of `other`; empty if there is none.
std::filesystem::path json_at(const std::filesystem::path& path, const char* other) {
  std::error_code error;
  const auto is_file = [&](const std::filesystem::path& each) { return std::filesystem::is_regular_file(each, error); };
  if (is_file(path)) return path.extension() == ".json" ? path : std::filesystem::path();
  return !is_file(path / other) && is_file(path / "tokenizer.json") ? path / "tokenizer.json" : std::filesystem::path();
}

// Errors: DataError with the file's name.
TokenizerJson read_json(const std::string& spec, const std::filesystem::path& path, const std::string& text,
                        TokenizerJson (*read)(std::string_view)) {
  try {
    return read(text);
  } catch (const DataError& error) {
    throw DataError("tokenizer " + in_quotes(spec) + ": file " + in_quotes(path.string()) + " " + error.what() +
                    "; use a tokenizer with the settings of GPT-2 or BERT (--tokenizer)");
  }
}

// do_lower_case of the tokenizer_config.json beside the vocabulary; empty without. Errors: DataError for what is not read as
// the file asks for.
std::optional<bool> lower_case_beside(const std::string& spec, const std::filesystem::path& vocabulary) {
  const std::filesystem::path path = vocabulary.parent_path() / "tokenizer_config.json";
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  const auto fail = [&](const std::string& what) {
    throw DataError("tokenizer " + in_quotes(spec) + ": file " + in_quotes(path.string()) + " " + what +
                    "; say what to do with capitals (--tokenizer wordpiece-cased:FILE or wordpiece-uncased:FILE)");
  };
  const auto config = nlohmann::json::parse(read_file(spec, path, ""), nullptr, false);
  if (!config.is_object()) fail("is not a JSON object");
  const auto setting = [&](const char* key) -> std::optional<bool> {
    const auto found = config.find(key);
    if (found == config.end() || found->is_null()) return std::nullopt;
    if (!found->is_boolean()) fail(std::string("has ") + key + " that is neither true nor false");
    return found->get<bool>();
  };
  const std::optional<bool> lower = setting("do_lower_case");
  if (lower && setting("strip_accents").value_or(*lower) != *lower)
    fail("has strip_accents unlike do_lower_case, which no tokenizer here has");
  if (!setting("tokenize_chinese_chars").value_or(true)) fail("has tokenize_chinese_chars=false, which no tokenizer here has");
  return lower;
}

// The tokenizer of the files that were read last; for other files, the result of `make`.
std::shared_ptr<const Tokenizer> last_or(const std::string& contents,
                                         const std::function<std::shared_ptr<const Tokenizer>()>& make) {
  static std::mutex mutex;
  static std::string last_contents;  // their hashes
  static std::shared_ptr<const Tokenizer> last;
  const std::lock_guard lock(mutex);
  if (!last || contents != last_contents) {
    last = make();
    last_contents = contents;
  }
  return last;
}

}  // namespace

std::int64_t Tokenizer::ids() const {
  return std::visit([](const auto& tokens) { return tokens.ids(); }, tokens_);
}

std::string Tokenizer::identity() const {
  const std::string hash = std::visit([](const auto& tokens) { return tokens.hash(); }, tokens_);
  return (special() ? "wordpiece, " : "gpt2, ") + std::to_string(ids()) + " tokens, " + hash;
}

std::optional<SpecialIds> Tokenizer::special() const {
  const auto* pieces = std::get_if<WordPieces>(&tokens_);
  return pieces ? std::optional(pieces->special()) : std::nullopt;
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  const std::vector<std::string_view> parts = parts_of(text);
  std::vector<std::vector<std::int32_t>> ids(parts.size());
  for_all_rows(static_cast<std::int64_t>(parts.size()), [&](std::int64_t row) {
    const auto i = static_cast<std::size_t>(row);
    std::visit([&](const auto& tokens) { encode_part(ids[i], parts[i], tokens); }, tokens_);
  });
  if (ids.size() == 1) return std::move(ids.front());
  std::size_t size = 0;
  for (const auto& of_part : ids) size += of_part.size();
  std::vector<std::int32_t> all;
  all.reserve(size);
  for (const auto& of_part : ids) all.insert(all.end(), of_part.begin(), of_part.end());
  return all;
}

std::shared_ptr<const Tokenizer> open_tokenizer(const std::string& spec) {
  const auto kind = std::ranges::find_if(kTokenizerKinds, [&](const auto& each) { return spec.starts_with(each.name); });
  if (kind == kTokenizerKinds.end())
    throw DataError("unknown tokenizer " + in_quotes(spec) + ": use gpt2:DIR or wordpiece:FILE (--tokenizer)");
  std::filesystem::path path = spec.substr(kind->name.size());
  std::error_code ignored;
  if (kind->kind != TokenizerKind::gpt2) {
    const std::filesystem::path json = json_at(path, "vocab.txt");
    if (json.empty() && std::filesystem::is_directory(path, ignored)) path /= "vocab.txt";
    TokenizerJson files;
    if (json.empty()) {
      files = {read_file(spec, path, kWordPieceRemedy), "", std::nullopt};
      if (kind->kind == TokenizerKind::wordpiece) files.uncased = lower_case_beside(spec, path);
    } else {
      files = read_json(spec, json, read_file(spec, json, ""), read_word_pieces);
    }
    if (kind->kind != TokenizerKind::wordpiece) files.uncased = kind->kind == TokenizerKind::uncased_wordpiece;
    return last_or(text_hash(files.vocabulary) + (files.uncased ? (*files.uncased ? "uncased" : "cased") : ""), [&] {
      return std::make_shared<const Tokenizer>(*open_memory(in_quotes(path.string()), files.vocabulary), files.uncased);
    });
  }
  if (path.filename() == "vocab.json" && std::filesystem::is_regular_file(path, ignored)) path.replace_filename("");
  const std::filesystem::path json = json_at(path, "vocab.json"), vocabulary_path = path / "vocab.json",
                              merges_path = path / "merges.txt";
  const TokenizerJson files =
      json.empty() ? TokenizerJson{read_file(spec, vocabulary_path, kGpt2Remedy), read_file(spec, merges_path, kGpt2Remedy), {}}
                   : read_json(spec, json, read_file(spec, json, ""), read_byte_pairs);
  return last_or(text_hash(files.vocabulary) + text_hash(files.merges), [&] {
    return std::make_shared<const Tokenizer>(*open_memory(in_quotes(vocabulary_path.string()), files.vocabulary),
                                             *open_memory(in_quotes(merges_path.string()), files.merges));
  });
}

}  // namespace epochbench
