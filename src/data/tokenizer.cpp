#include "src/data/tokenizer.h"

#include <algorithm>
#include <filesystem>
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

// Where the text can be cut at or after `at`: between a character and white space, both of ASCII, is always a border of words.
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

// A word that was there before is copied from the ids that it got.
void encode_part(std::vector<std::int32_t>& ids, std::string_view part, const BytePairs& pairs) {
  WordEncoder encoder(pairs);
  std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>> known;  // where its ids begin and end
  for_each_word(part, [&](std::string_view word) {
    if (word.size() >= std::numeric_limits<std::uint32_t>::max())
      throw DataError("a text has a word of " + std::to_string(word.size()) + " bytes: use a text of language (--data)");
    const auto [at, is_new] = known.try_emplace(word, ids.size(), 0);
    auto& [begin, end] = at->second;
    if (is_new) {
      encoder.append(ids, word);
      end = ids.size();
    } else {
      for (std::size_t i = begin; i < end; ++i) ids.push_back(ids[i]);
    }
  });
}

std::string read_file(const std::string& spec, const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw DataError("tokenizer " + in_quotes(spec) + ": file " + in_quotes(path.string()) +
                    " does not exist; name the folder with vocab.json and merges.txt (--tokenizer gpt2:DIR)");
  const std::vector<std::uint8_t> bytes = read_all(*open_file(path), BytePairs::kMostBytes + 1);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::string Tokenizer::identity() const { return "gpt2, " + std::to_string(ids()) + " tokens, " + pairs_.hash(); }

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  const std::vector<std::string_view> parts = parts_of(text);
  std::vector<std::vector<std::int32_t>> ids(parts.size());
  for_all_rows(static_cast<std::int64_t>(parts.size()), [&](std::int64_t row) {
    const auto i = static_cast<std::size_t>(row);
    encode_part(ids[i], parts[i], pairs_);
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
  static std::mutex mutex;
  static std::string last_contents;  // their hash
  static std::shared_ptr<const Tokenizer> last;
  if (!spec.starts_with(kGpt2Tokenizer))
    throw DataError("unknown tokenizer " + in_quotes(spec) + ": use gpt2:DIR (--tokenizer)");
  const std::filesystem::path folder = spec.substr(kGpt2Tokenizer.size());
  const auto vocabulary_path = folder / "vocab.json", merges_path = folder / "merges.txt";
  const std::string vocabulary = read_file(spec, vocabulary_path), merges = read_file(spec, merges_path);
  const std::string contents = text_hash(vocabulary) + text_hash(merges);
  const std::lock_guard lock(mutex);
  if (last && contents == last_contents) return last;
  last = std::make_shared<const Tokenizer>(*open_memory(in_quotes(vocabulary_path.string()), vocabulary),
                                           *open_memory(in_quotes(merges_path.string()), merges));
  last_contents = contents;
  return last;
}

}  // namespace epochbench
