#include "src/data/tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "epochbench/dataset.h"
#include "src/base/hash.h"
#include "src/data/prepared_dataset.h"
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

constexpr std::string_view kGpt2Remedy = "name the folder with vocab.json and merges.txt (--tokenizer gpt2:DIR)",
                           kWordPieceRemedy = "name BERT's vocab.txt (--tokenizer wordpiece:FILE)";

std::string read_file(const std::string& spec, const std::filesystem::path& path, std::string_view remedy) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw DataError("tokenizer " + in_quotes(spec) + ": file " + in_quotes(path.string()) + " does not exist; " +
                    std::string(remedy));
  const std::vector<std::uint8_t> bytes = read_all(*open_file(path), BytePairs::kMaxBytes + 1);
  return {bytes.begin(), bytes.end()};
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
  if (spec.starts_with(kWordPieceTokenizer)) {
    const std::filesystem::path path = spec.substr(kWordPieceTokenizer.size());
    const std::string vocabulary = read_file(spec, path, kWordPieceRemedy);
    return last_or(text_hash(vocabulary),
                   [&] { return std::make_shared<const Tokenizer>(*open_memory(in_quotes(path.string()), vocabulary)); });
  }
  if (!spec.starts_with(kGpt2Tokenizer))
    throw DataError("unknown tokenizer " + in_quotes(spec) + ": use gpt2:DIR or wordpiece:FILE (--tokenizer)");
  const std::filesystem::path folder = spec.substr(kGpt2Tokenizer.size());
  const auto vocabulary_path = folder / "vocab.json", merges_path = folder / "merges.txt";
  const std::string vocabulary = read_file(spec, vocabulary_path, kGpt2Remedy),
                    merges = read_file(spec, merges_path, kGpt2Remedy);
  return last_or(text_hash(vocabulary) + text_hash(merges), [&] {
    return std::make_shared<const Tokenizer>(*open_memory(in_quotes(vocabulary_path.string()), vocabulary),
                                             *open_memory(in_quotes(merges_path.string()), merges));
  });
}

}  // namespace epochbench
