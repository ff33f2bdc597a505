#include "src/data/tokenizer.h"

#include <algorithm>
#include <deque>
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
#include "src/base/text.h"
#include "src/data/folder_hints.h"
#include "src/data/prepared_dataset.h"
#include "src/data/tokenizer_json.h"
#include "src/data/word_pattern.h"

namespace epochbench {
namespace {

constexpr std::size_t kPartBytes = std::size_t{1} << 20;

// Where the text can be cut at or after `at`: between an ASCII character and ASCII white space there is always a word border,
// and no added token.
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
  pairs.added().divide(
      part, [&](std::string_view text) { for_each_word(text, [&](std::string_view word) { list.add(word); }); },
      [&](std::int32_t id) { ids.push_back(id); });
}

void encode_part(std::vector<std::int32_t>& ids, std::string_view part, const WordPieces& pieces) {
  std::deque<std::string> texts;  // of the list's words
  WordList<const WordPieces&> list(ids, pieces);
  const auto add = [&](std::string_view text) {
    const std::string_view all = texts.emplace_back(with_blanks_between(text, pieces.uncased()));
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end + 1) {
      end = all.find(' ', begin);
      list.add(all.substr(begin, end - begin));
    }
  };
  pieces.added().divide(part, add, [&](std::int32_t id) { ids.push_back(id); });
}

struct BytePairFiles {
  const char *vocabulary, *merges;
};
constexpr BytePairFiles kFiles{"vocab.json", "merges.txt"}, kFilesOfOpenAi{"encoder.json", "vocab.bpe"};

constexpr std::string_view kGpt2Remedy =
                               "name the folder with vocab.json and merges.txt, or with tokenizer.json (--tokenizer gpt2:DIR)",
                           kWordPieceRemedy = "name BERT's vocab.txt or tokenizer.json (--tokenizer wordpiece:FILE)";

std::string read_file(const std::string& spec, const std::filesystem::path& path, std::string_view remedy) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path.parent_path(), error))
    throw DataError("tokenizer " + in_quotes(spec) + ": " + in_quotes(path.parent_path().string()) +
                    " is none of the files of such a tokenizer; " + std::string(remedy));
  if (!std::filesystem::is_regular_file(path, error))
    throw DataError("tokenizer " + in_quotes(spec) + ": file " + in_quotes(path.string()) + " does not exist" +
                    (std::filesystem::is_directory(path.parent_path(), error) ? names_there(path.parent_path()) : "") + "; " +
                    std::string(remedy));
  const std::vector<std::uint8_t> bytes = read_all(*open_file(path), BytePairs::kMaxBytes + 1);
  if (const std::string_view encoding = wide_encoding(bytes); !encoding.empty())
    throw DataError("tokenizer " + in_quotes(spec) + ": file " + in_quotes(path.string()) + " is text in " +
                    std::string(encoding) + "; convert it with iconv -f " + std::string(encoding) + " -t UTF-8");
  return std::string(without_byte_order_mark({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
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

// The tokenizer_config.json beside a vocabulary. What it asks for is either done or refused.
class Config {
 public:
  // `remedy` follows a refusal. Errors: DataError for a file that is not a JSON object.
  Config(const std::string& spec, const std::filesystem::path& vocabulary, std::string remedy)
      : spec_(spec), path_(vocabulary.parent_path() / "tokenizer_config.json"), remedy_(std::move(remedy)) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path_, error)) return;
    content_ = nlohmann::json::parse(read_file(spec, path_, ""), nullptr, false);
    if (!content_.is_object()) refuse("is not a JSON object");
  }

  std::optional<bool> setting(const char* key) const {
    const auto found = content_.find(key);
    if (found == content_.end() || found->is_null()) return std::nullopt;
    if (!found->is_boolean()) refuse(std::string("has ") + key + " that is neither true nor false");
    return found->get<bool>();
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw DataError("tokenizer " + in_quotes(spec_) + ": file " + in_quotes(path_.string()) + " " + what + "; " + remedy_);
  }

 private:
  const std::string& spec_;
  std::filesystem::path path_;
  std::string remedy_;
  nlohmann::json content_;
};

// do_lower_case of the configuration; empty without. Errors: DataError for what is not read as the file asks for.
std::optional<bool> lower_case_beside(const std::string& spec, const std::filesystem::path& vocabulary) {
  const Config config(spec, vocabulary,
                      "say what to do with capitals (--tokenizer wordpiece-cased:FILE or wordpiece-uncased:FILE)");
  const std::optional<bool> lower = config.setting("do_lower_case");
  if (lower && config.setting("strip_accents").value_or(*lower) != *lower)
    config.refuse("has strip_accents unlike do_lower_case, which no tokenizer here has");
  if (!config.setting("tokenize_chinese_chars").value_or(true))
    config.refuse("has tokenize_chinese_chars=false, which no tokenizer here has");
  return lower;
}

// The tokenizer of the files that were read last; for other files, the result of `make`.
std::shared_ptr<const Tokenizer> last_or(const TokenizerJson& files,
                                         const std::function<std::shared_ptr<const Tokenizer>()>& make) {
  static std::mutex mutex;
  static std::string last_contents;  // their hashes
  std::string contents = text_hash(files.vocabulary) + text_hash(files.merges);
  if (files.uncased) contents += *files.uncased ? "uncased" : "cased";
  if (files.added) contents += "added" + joined(*files.added, ",");
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
      files.vocabulary = read_file(spec, path, kWordPieceRemedy);
      if (kind->kind == TokenizerKind::wordpiece) files.uncased = lower_case_beside(spec, path);
    } else {
      files = read_json(spec, json, read_file(spec, json, ""), read_word_pieces);
    }
    if (kind->kind != TokenizerKind::wordpiece) files.uncased = kind->kind == TokenizerKind::uncased_wordpiece;
    return last_or(files, [&] {
      return std::make_shared<const Tokenizer>(*open_memory(in_quotes(path.string()), files.vocabulary), files.uncased,
                                               files.added);
    });
  }
  const auto is_file = [&](const std::filesystem::path& each) { return std::filesystem::is_regular_file(each, ignored); };
  for (const auto& names : {kFiles, kFilesOfOpenAi})
    if (is_file(path) && (path.filename() == names.vocabulary || path.filename() == names.merges)) path.replace_filename("");
  const bool of_openai = !is_file(path / kFiles.vocabulary) && is_file(path / kFilesOfOpenAi.vocabulary);
  const auto& [vocabulary_name, merges_name] = of_openai ? kFilesOfOpenAi : kFiles;
  const std::filesystem::path json = json_at(path, vocabulary_name), vocabulary_path = path / vocabulary_name,
                              merges_path = path / merges_name;
  TokenizerJson files;
  if (json.empty()) {
    files.vocabulary = read_file(spec, vocabulary_path, kGpt2Remedy);
    files.merges = read_file(spec, merges_path, kGpt2Remedy);
    if (Config(spec, vocabulary_path, "leave it out there").setting("add_prefix_space").value_or(false))
      throw DataError("tokenizer " + in_quotes(spec) +
                      ": its tokenizer_config.json has add_prefix_space=true, which no tokenizer " +
                      "here has; set it to false there, and begin the text with a blank (--tokenizer)");
    const std::filesystem::path added_path = path / "added_tokens.json";
    if (is_file(added_path)) {
      try {
        add_tokens(files, read_file(spec, added_path, ""));
      } catch (const DataError& error) {
        throw DataError("tokenizer " + in_quotes(spec) + ": file " + in_quotes(added_path.string()) + " " + error.what() +
                        "; fetch the tokenizer's files again (--tokenizer)");
      }
    }
  } else {
    files = read_json(spec, json, read_file(spec, json, ""), read_byte_pairs);
  }
  return last_or(files, [&] {
    return std::make_shared<const Tokenizer>(*open_memory(in_quotes(vocabulary_path.string()), files.vocabulary),
                                             *open_memory(in_quotes(merges_path.string()), files.merges), files.added);
  });
}

}  // namespace epochbench
