#include "src/data/byte_pairs.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "epochbench/dataset.h"
#include "src/base/hash.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr std::int32_t kNone = -1;
constexpr std::uint32_t kEnd = std::numeric_limits<std::uint32_t>::max();

constexpr const char* kRemedy = "fetch the tokenizer's files again (--tokenizer gpt2:DIR)";

DataError wrong(const ByteSource& source, const std::string& what, const std::string& remedy = kRemedy) {
  return DataError("tokenizer file " + source.name() + ' ' + what + ": " + remedy);
}

// The character that stands for a byte in both files, as UTF-8.
std::string character_of(unsigned byte) {
  const auto printable = [](unsigned b) { return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174; };
  unsigned value = byte;
  if (!printable(byte)) {
    value = 256;
    for (unsigned before = 0; before < byte; ++before) value += !printable(before);
  }
  if (value < 0x80) return std::string(1, static_cast<char>(value));
  return {static_cast<char>(0xC0 | value >> 6), static_cast<char>(0x80 | (value & 0x3F))};
}

// A flat object from texts to whole numbers; anything else ends the parsing.
class VocabularyReader final : public nlohmann::json::json_sax_t {
 public:
  explicit VocabularyReader(const ByteSource& source) : source_(source) {}
  std::vector<std::pair<std::string, std::uint64_t>> tokens;

  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(std::int64_t) override { return other(); }
  bool number_float(double, const std::string&) override { return other(); }
  bool string(std::string&) override { return other(); }
  bool binary(nlohmann::json::binary_t&) override { return other(); }
  bool start_array(std::size_t) override { return other(); }
  bool end_array() override { return other(); }
  bool end_object() override { return true; }
  bool start_object(std::size_t) override {
    if (open_) return other();
    return open_ = true;
  }
  bool key(std::string& token) override {
    tokens.emplace_back(std::move(token), 0);
    return true;
  }
  bool number_unsigned(std::uint64_t id) override {
    if (!open_) return other();
    tokens.back().second = id;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    throw wrong(source_, "is not JSON at byte " + std::to_string(position));
  }

 private:
  bool other() const {
    if (tokens.empty()) throw wrong(source_, "is not an object from token to id");
    throw wrong(source_, "has an id of token " + in_quotes(tokens.back().first) + " that is not a whole number from 0");
  }
  const ByteSource& source_;
  bool open_ = false;
};

std::string read_text(ByteSource& source) {
  const std::vector<std::uint8_t> bytes = read_all(source, BytePairs::kMaxBytes + 1);
  if (bytes.size() > BytePairs::kMaxBytes)
    throw wrong(source, "has more than " + std::to_string(BytePairs::kMaxBytes >> 20) + " MiB, so it is none of GPT-2's form");
  return {bytes.begin(), bytes.end()};
}

// Adds the part after its length, so that different lists of parts give different texts.
void add_part(std::string& all, std::string_view part) { (all += std::to_string(part.size()) + ":").append(part); }

}  // namespace

BytePairs::BytePairs(ByteSource& vocabulary, ByteSource& merges, const AddedNames& added) {
  VocabularyReader reader(vocabulary);
  nlohmann::json::sax_parse(read_text(vocabulary), &reader);
  const std::uint64_t count = reader.tokens.size();
  std::vector<const std::string*> by_id(count);
  Tokens tokens;
  for (const auto& [token, id] : reader.tokens) {
    if (id >= count)
      throw wrong(vocabulary, "gives token " + in_quotes(token) + " the id " + std::to_string(id) + ", and has " +
                                  std::to_string(count) + " tokens, with ids from 0");
    if (by_id[id])
      throw wrong(vocabulary, "gives the id " + std::to_string(id) + " to the tokens " + in_quotes(*by_id[id]) + " and " +
                                  in_quotes(token));
    if (!tokens.emplace(token, static_cast<std::int32_t>(id)).second)
      throw wrong(vocabulary, "has token " + in_quotes(token) + " twice");
    by_id[id] = &token;
  }
  if (tokens.contains("a</w>"))
    throw wrong(vocabulary, "marks the ends of words with </w>, as CLIP's vocabulary and not GPT-2's",
                "use a tokenizer of GPT-2's kind (--tokenizer)");
  for (unsigned byte = 0; byte < of_byte_.size(); ++byte) {
    const auto found = tokens.find(character_of(byte));
    if (found == tokens.end())
      throw wrong(vocabulary,
                  "has no token " + in_quotes(character_of(byte)) + ", which stands for byte " + std::to_string(byte));
    of_byte_[byte] = found->second;
  }
  ids_ = static_cast<std::int64_t>(count);
  std::string all;
  for (const std::string* token : by_id) add_part(all, *token);
  read_merges(merges, tokens, all);
  check_reached(merges, by_id);
  const auto id_of = [&](const std::string& token) {
    const auto found = tokens.find(token);
    return found == tokens.end() ? std::nullopt : std::optional(found->second);
  };
  const AddedTokens usual({"<|endoftext|>"}, id_of);
  added_ = added ? AddedTokens(*added, id_of) : usual;
  if (added_ != usual) add_part(all, added_.to_string());
  hash_ = text_hash(all);
}

void BytePairs::check_reached(const ByteSource& merges, const std::vector<const std::string*>& by_id) const {
  constexpr std::size_t kMaxOthers = 16;  // such as the three "madeupword0000" of RoBERTa
  std::vector<bool> reached(by_id.size());
  for (const std::int32_t id : of_byte_) reached[static_cast<std::size_t>(id)] = true;
  for (const auto& [pair, merge] : merges_) reached[static_cast<std::size_t>(merge.id)] = true;
  std::size_t others = 0;
  const std::string* last = nullptr;
  for (std::size_t id = 0; id < by_id.size(); ++id)
    if (!reached[id] && !is_in_brackets(*by_id[id])) {
      ++others;
      last = by_id[id];
    }
  if (others > kMaxOthers)
    throw wrong(merges, "is cut off, or belongs to another vocabulary: no line makes " + std::to_string(others) + " of the " +
                            std::to_string(by_id.size()) + " tokens, such as " + in_quotes(*last));
}

void BytePairs::read_merges(ByteSource& source, const Tokens& tokens, std::string& all) {
  const std::string text = read_text(source);
  std::vector<std::string> lines = split(text, '\n');
  while (!lines.empty() && trimmed(lines.back()).empty()) lines.pop_back();
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string& line = lines[i];
    if (line.ends_with('\r')) line.pop_back();
    if (i == 0 && line.starts_with("#version")) continue;
    const std::string place = "at line " + std::to_string(i + 1) + " ";
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos || blank == 0 || blank + 1 == line.size() || line.find(' ', blank + 1) != std::string::npos)
      throw wrong(source, place + "is not two tokens with a blank between them");
    const auto id_of = [&](const std::string& token) {
      const auto found = tokens.find(token);
      if (found == tokens.end()) throw wrong(source, place + "needs token " + in_quotes(token) + ", which vocab.json lacks");
      return found->second;
    };
    const std::string left = line.substr(0, blank), right = line.substr(blank + 1);
    const std::int32_t left_id = id_of(left), right_id = id_of(right);
    if (!merges_.emplace(key(left_id, right_id), Merge{rank++, id_of(left + right)}).second)
      throw wrong(source, place + "repeats the pair " + in_quotes(line));
    add_part(all, line);
  }
}

void WordEncoder::append(std::vector<std::int32_t>& ids, std::string_view word) {
  begin(word);
  for (Candidate candidate = 0; next(candidate);) join(candidate);
  for (std::uint32_t part = 0; part != kEnd; part = next_[part]) ids.push_back(id_[part]);
}

void WordEncoder::begin(std::string_view word) {
  const std::size_t size = word.size();
  id_.resize(size);
  next_.resize(size);
  previous_.resize(size);
  first_.clear();
  later_.clear();
  taken_ = 0;
  for (std::size_t i = 0; i < size; ++i) {
    id_[i] = pairs_.of_byte(word[i]);
    next_[i] = static_cast<std::uint32_t>(i) + 1;
    previous_[i] = static_cast<std::uint32_t>(i) - 1;  // the first has kEnd
    if (i == 0) continue;
    if (const BytePairs::Merge* merge = pairs_.find(id_[i - 1], id_[i]))
      first_.push_back(static_cast<Candidate>(merge->rank) << 32 | previous_[i]);
  }
  next_.back() = kEnd;
  std::sort(first_.begin(), first_.end());
}

// The lowest candidate; false if there is none. Its parts may have been joined with others since.
bool WordEncoder::next(Candidate& candidate) {
  if (taken_ < first_.size() && (later_.empty() || first_[taken_] < later_.front())) {
    candidate = first_[taken_++];
    return true;
  }
  if (later_.empty()) return false;
  std::pop_heap(later_.begin(), later_.end(), std::greater());
  candidate = later_.back();
  later_.pop_back();
  return true;
}

void WordEncoder::join(Candidate candidate) {
  const auto left = static_cast<std::uint32_t>(candidate);
  if (id_[left] == kNone || next_[left] == kEnd) return;
  const std::uint32_t right = next_[left];
  const BytePairs::Merge* merge = pairs_.find(id_[left], id_[right]);
  if (!merge || merge->rank != candidate >> 32) return;
  id_[left] = merge->id;
  id_[right] = kNone;
  next_[left] = next_[right];
  if (next_[left] != kEnd) previous_[next_[left]] = left;
  if (previous_[left] != kEnd) consider(previous_[left]);
  if (next_[left] != kEnd) consider(left);
}

void WordEncoder::consider(std::uint32_t left) {
  const BytePairs::Merge* merge = pairs_.find(id_[left], id_[next_[left]]);
  if (!merge) return;
  later_.push_back(static_cast<Candidate>(merge->rank) << 32 | left);
  std::push_heap(later_.begin(), later_.end(), std::greater());
}

}  // namespace epochbench
