#include "src/data/tokenizer_json.h"

#include <map>
#include <vector>

#include <nlohmann/json.hpp>

#include "epochbench/dataset.h"
#include "src/data/byte_source.h"

namespace epochbench {
namespace {

using Json = nlohmann::json;

// A member of an object, null where it is missing.
const Json& member(const Json& object, const char* key) {
  static const Json kNothing;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? kNothing : *found;
}

// "pre_tokenizer.type": the value must be one of those; the first is what the tokenizer here does.
void require(const Json& part, const std::string& part_name, const char* key, const std::vector<Json>& allowed) {
  const Json& value = member(part, key);
  for (const Json& each : allowed)
    if (value == each) return;
  throw DataError("has " + part_name + "." + key + " " + in_quotes(value.dump()) + ", not " + allowed.front().dump());
}

Json parsed(std::string_view json) {
  Json document = Json::parse(json, nullptr, false);
  if (!member(document, "model").is_object()) throw DataError("is not a tokenizer.json: it has no model");
  return document;
}

}  // namespace

TokenizerJson read_byte_pairs(std::string_view json) {
  const Json document = parsed(json);
  const Json &model = document["model"], &division = member(document, "pre_tokenizer");
  require(model, "model", "type", {"BPE"});
  require(document, "it", "normalizer", {nullptr});
  require(division, "pre_tokenizer", "type", {"ByteLevel"});
  require(division, "pre_tokenizer", "add_prefix_space", {false});
  require(division, "pre_tokenizer", "use_regex", {true, nullptr});
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) require(model, "model", key, {nullptr, ""});
  for (const char* key : {"byte_fallback", "ignore_merges"}) require(model, "model", key, {false, nullptr});
  require(model, "model", "dropout", {nullptr, 0.0});
  TokenizerJson files{member(model, "vocab").dump(), "", std::nullopt};
  for (const Json& merge : member(model, "merges")) {
    const bool pair = merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
    if (!pair && !merge.is_string()) throw DataError("has a merge that is not two tokens: " + in_quotes(merge.dump()));
    files.merges += (pair ? merge[0].get<std::string>() + " " + merge[1].get<std::string>() : merge.get<std::string>()) + "\n";
  }
  return files;
}

TokenizerJson read_word_pieces(std::string_view json) {
  const Json document = parsed(json);
  const Json &model = document["model"], &letters = member(document, "normalizer");
  require(model, "model", "type", {"WordPiece"});
  require(model, "model", "unk_token", {"[UNK]"});
  require(model, "model", "continuing_subword_prefix", {"##"});
  require(model, "model", "max_input_chars_per_word", {100});
  require(member(document, "pre_tokenizer"), "pre_tokenizer", "type", {"BertPreTokenizer"});
  require(letters, "normalizer", "type", {"BertNormalizer"});
  for (const char* key : {"clean_text", "handle_chinese_chars"}) require(letters, "normalizer", key, {true});
  require(letters, "normalizer", "lowercase", {true, false});
  const Json& lowercase = member(letters, "lowercase");
  require(letters, "normalizer", "strip_accents", {lowercase, nullptr});
  std::map<std::uint64_t, std::string> tokens;
  const Json& vocabulary = member(model, "vocab");
  for (const auto& [token, id] : vocabulary.items())
    if (!id.is_number_unsigned() || !tokens.emplace(id.get<std::uint64_t>(), token).second)
      throw DataError("has an id of token " + in_quotes(token) + " that is not a whole number of its own");
  TokenizerJson files{"", "", lowercase.get<bool>()};
  std::uint64_t next = 0;
  for (const auto& [id, token] : tokens) {
    if (id != next++) throw DataError("has no token with the id " + std::to_string(next - 1));
    if (token.find('\n') != std::string::npos) throw DataError("has token " + in_quotes(token) + ", which has two lines");
    files.vocabulary += token + "\n";
  }
  return files;
}

}  // namespace epochbench
