// One list of fields writes and reads every form, and an error names the path.
#include "src/base/json_fields.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gmock/gmock.h>

namespace epochbench {
namespace {

struct Part {
  int count = 0;
};
void fields(auto& visit, Is<Part> auto& part) { visit("count", part.count); }

constexpr const char* kKeys[] = {"one", "two"};

struct Whole {
  std::string text;
  double number = 0;
  bool flag = true;
  std::uint64_t seed = 0;
  std::optional<double> maybe;
  std::optional<std::pair<double, double>> interval;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  std::vector<Part> parts;
  std::optional<Part> part;
  std::map<std::string, std::optional<double>> by_key;
  std::map<std::string, std::int64_t> options;
  std::pair<std::optional<double>, std::optional<double>> ends;
  std::optional<double> inner, above_zero;
  std::string name;
  std::vector<std::string> later, omitted;
  std::optional<int> threads;
};

void fields(auto& visit, Is<Whole> auto& whole) {
  visit("text", whole.text);
  visit("number", whole.number);
  visit("flag", whole.flag);
  visit("seed", whole.seed);
  visit("maybe", whole.maybe);
  visit("interval", whole.interval);
  visit("ranges", whole.ranges);
  visit("parts", whole.parts);
  visit("part", whole.part, {.hidden = !whole.flag});
  visit("by_key", whole.by_key, {.keys = kKeys});
  visit("options", whole.options);
  visit("ends", whole.ends);
  visit.group("group", [&](auto& group) { group("inner", whole.inner); });
  visit("above_zero", whole.above_zero, {.positive = true});
  visit("name", whole.name, {.null_if_empty = true});
  visit("later", whole.later, {.addition = true});
  visit("omitted", whole.omitted, {.omitted_if_empty = true});
  visit("threads", whole.threads, {.minimum = 1, .maximum = 8});
}

constexpr const char* kMin =
    R"({"text":"","number":0.0,"flag":true,"seed":0,"maybe":null,"interval":null,"ranges":[],"parts":[],"part":null,)"
    R"("by_key":{"one":null,"two":null},"options":{},"ends":[null,null],"group":{"inner":null},"above_zero":null,)"
    R"("name":null,"later":[],"threads":null})";

constexpr const char* kMax =
    R"({"text":"a","number":0.5,"flag":true,"seed":18446744073709551615,"maybe":2.0,"interval":[1.0,2.0],)"
    R"("ranges":[[0,1],[3,3]],"parts":[{"count":1},{"count":2}],"part":{"count":3},"by_key":{"one":1.0,"two":null},)"
    R"("options":{"width":7},"ends":[1.0,null],"group":{"inner":4.0},"above_zero":0.5,"name":"b","later":["c"],)"
    R"("omitted":["d"],"threads":8})";

Whole read(const Json& document) { return read_value<Whole>(document, "file"); }

std::string refusal(const char* key, const Json& value) {
  Json document = Json::parse(kMax);
  document[key] = value;
  try {
    read(document);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "it was read";
}

TEST(JsonFieldsOfAStruct, AreWrittenInTheOrderOfTheList) { EXPECT_EQ(json_of(Whole{}).dump(), kMin); }

TEST(JsonFieldsOfAStruct, ComeBackAsTheyWere) {
  EXPECT_EQ(json_of(read(Json::parse(kMin))).dump(), kMin);
  EXPECT_EQ(json_of(read(Json::parse(kMax))).dump(), kMax);
}

TEST(JsonFieldsOfAStruct, MayBeMissingWhereTheFormSaysSo) {
  Json document = Json::parse(kMax);
  for (const char* key :
       {"flag", "maybe", "interval", "part", "by_key", "options", "group", "above_zero", "name", "later", "omitted", "threads"})
    document.erase(key);
  const Whole whole = read(document);
  EXPECT_TRUE(whole.flag);
  EXPECT_FALSE(whole.inner);
  for (const char* key : {"text", "number", "seed", "ranges", "parts", "ends"}) {
    Json broken = document;
    broken.erase(key);
    EXPECT_THROW(read(broken), FormatError) << key;
  }
}

TEST(JsonFieldsOfAStruct, ThatAreNotFiniteAreNull) {
  Whole whole;
  whole.number = std::numeric_limits<double>::infinity();
  const Json document = json_of(whole);
  EXPECT_TRUE(document["number"].is_null());
  EXPECT_TRUE(std::isnan(read(document).number));
}

TEST(JsonFieldsOfAStruct, AreWrittenOnlyWhereTheConditionHolds) {
  Whole whole = read(Json::parse(kMax));
  whole.flag = false;
  EXPECT_TRUE(json_of(whole)["part"].is_null());
}

TEST(JsonFieldsOfAStruct, TakeWholeNumbersByValue) {
  Json document = Json::parse(kMax);
  document["seed"] = 7.0;
  EXPECT_EQ(read(document).seed, 7u);
}

TEST(JsonFieldsOfAStruct, ThatAreWrongAreNamedByTheirPath) {
  EXPECT_EQ(refusal("text", 1), "file.text: must be a string, not number");
  EXPECT_EQ(refusal("seed", -1), "file.seed: must be a whole number of at least 0, not number");
  EXPECT_EQ(refusal("interval", Json::array({1})), "file.interval: must have two numbers");
  EXPECT_EQ(refusal("ranges", {{0, 1}, {2}}), "file.ranges[1]: must have two numbers");
  EXPECT_EQ(refusal("parts", {{{"count", 1}}, {{"count", 1.5}}}), "file.parts[1].count: must be a whole number, not number");
  EXPECT_EQ(refusal("parts", Json::array({Json{{"count", std::int64_t{1} << 40}}})), "file.parts[0].count: out of range");
  EXPECT_EQ(refusal("ends", Json::array({1})), "file.ends: must have two numbers");
  EXPECT_EQ(refusal("group", 3), "file.group: must be an object, not number");
  EXPECT_EQ(refusal("above_zero", 0), "file.above_zero: must be above 0");
  EXPECT_EQ(refusal("threads", 9), "file.threads: out of range");
}

}  // namespace
}  // namespace epochbench
