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

// The first tokenizer.json files, those of GPT-2 and BERT among them, do not state the type of the model: what only models of
// that type have tells it.
void state_type(Json& model) {
  Json& type = model["type"];
  if (!type.is_null()) return;
  if (member(model, "merges").is_array())
    type = "BPE";
  else if (member(model, "vocab").is_array())
    type = "Unigram";
  else if (!member(model, "max_input_chars_per_word").is_null())
    type = "WordPiece";
}

Json parsed(std::string_view json, const char* type) {
  Json document = Json::parse(json, nullptr, false);
  if (!member(document, "model").is_object()) throw DataError("is not a tokenizer.json: it has no model");
  Json& model = document["model"];
  state_type(model);
  require(model, "model", "type", {type});
  if (!member(model, "vocab").is_object()) throw DataError("is not a tokenizer.json: its model has no vocab");
  return document;
}

// Adds a token to the vocabulary, unless it is there with this id. `place` says where it stands.
void add_token(Json& vocabulary, const std::string& name, const Json& id, const std::string& place) {
  if (name.empty() || name.find_first_of(" \t\n\v\f\r") != std::string::npos)
    throw DataError("has the token " + in_quotes(name) + " in " + place + ", which is empty or has white space");
  if (!id.is_number_unsigned()) throw DataError("has no id of token " + in_quotes(name) + " in " + place);
  const auto [known, is_new] = vocabulary.emplace(name, id);
  if (!is_new && *known != id)
    throw DataError("gives token " + in_quotes(name) + " the id " + id.dump() + " in " + place + ", and the vocabulary " +
                    known->dump());
}

// The contents of added_tokens, which the vocabulary has afterwards.
std::vector<std::string> take_added_tokens(Json& vocabulary, const Json& document) {
  std::vector<std::string> names;
  for (const Json& token : member(document, "added_tokens")) {
    const std::string place = "added_tokens[" + std::to_string(names.size()) + "]";
    for (const char* key : {"single_word", "lstrip", "rstrip"}) require(token, place, key, {false, nullptr});
    if (!member(document, "normalizer").is_null()) require(token, place, "normalized", {false, nullptr});
    const Json& content = member(token, "content");
    add_token(vocabulary, names.emplace_back(content.is_string() ? content.get<std::string>() : ""), member(token, "id"),
              place);
  }
  return names;
}

}  // namespace

void add_tokens(TokenizerJson& files, std::string_view added) {
  Json vocabulary = Json::parse(files.vocabulary, nullptr, false);
  const Json tokens = Json::parse(added, nullptr, false);
  if (!vocabulary.is_object()) return;  // BytePairs says what is wrong with it
  if (!tokens.is_object()) throw DataError("is not an object from token to id");
  files.added = {"<|endoftext|>"};
  for (const auto& [name, id] : tokens.items()) {
    add_token(vocabulary, name, id, "it");
    files.added->push_back(name);
  }
  files.vocabulary = vocabulary.dump();
}

TokenizerJson read_byte_pairs(std::string_view json) {
  const Json document = parsed(json, "BPE");
  const Json &model = document["model"], &division = member(document, "pre_tokenizer");
  require(document, "it", "normalizer", {nullptr});
  require(division, "pre_tokenizer", "type", {"ByteLevel"});
  require(division, "pre_tokenizer", "add_prefix_space", {false});
  require(division, "pre_tokenizer", "use_regex", {true, nullptr});
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) require(model, "model", key, {nullptr, ""});
  for (const char* key : {"byte_fallback", "ignore_merges"}) require(model, "model", key, {false, nullptr});
  require(model, "model", "dropout", {nullptr, 0.0});
  if (!member(model, "merges").is_array()) throw DataError("is not a tokenizer.json: its model has no merges");
  Json vocabulary = model["vocab"];
  TokenizerJson files;
  files.added = take_added_tokens(vocabulary, document);
  files.vocabulary = vocabulary.dump();
  for (const Json& merge : model["merges"]) {
    const bool pair = merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
    if (!pair && !merge.is_string()) throw DataError("has a merge that is not two tokens: " + in_quotes(merge.dump()));
    files.merges += (pair ? merge[0].get<std::string>() + " " + merge[1].get<std::string>() : merge.get<std::string>()) + "\n";
  }
  return files;
}

TokenizerJson read_word_pieces(std::string_view json) {
  const Json document = parsed(json, "WordPiece");
  const Json &model = document["model"], &letters = member(document, "normalizer");
  require(model, "model", "unk_token", {"[UNK]"});
  require(model, "model", "continuing_subword_prefix", {"##"});
  require(model, "model", "max_input_chars_per_word", {100});
  require(member(document, "pre_tokenizer"), "pre_tokenizer", "type", {"BertPreTokenizer"});
  require(letters, "normalizer", "type", {"BertNormalizer"});
  for (const char* key : {"clean_text", "handle_chinese_chars"}) require(letters, "normalizer", key, {true});
  require(letters, "normalizer", "lowercase", {true, false});
  const Json& lowercase = member(letters, "lowercase");
  require(letters, "normalizer", "strip_accents", {lowercase, nullptr});
  TokenizerJson files;
  files.uncased = lowercase.get<bool>();
  Json vocabulary = model["vocab"];
  files.added = take_added_tokens(vocabulary, document);
  std::map<std::uint64_t, std::string> tokens;
  for (const auto& [token, id] : vocabulary.items())
    if (!id.is_number_unsigned() || !tokens.emplace(id.get<std::uint64_t>(), token).second)
      throw DataError("has an id of token " + in_quotes(token) + " that is not a whole number of its own");
  std::uint64_t next = 0;
  for (const auto& [id, token] : tokens) {
    if (id != next++) throw DataError("has no token with the id " + std::to_string(next - 1));
    if (token.find('\n') != std::string::npos) throw DataError("has token " + in_quotes(token) + ", which has two lines");
    files.vocabulary += token + "\n";
  }
  return files;
}

}  // namespace epochbench
