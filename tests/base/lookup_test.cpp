// Look-ups in lists and in optional parts.
#include "src/base/lookup.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace epochbench {
namespace {

struct LookupGroup {
  std::string name;
  std::vector<int> members;
};

struct LookupPart {
  double always = 1.5;
  std::optional<std::int64_t> sometimes;
};

TEST(Lookup, ContainsOnlyWhatStandsInTheList) {
  const std::vector<std::string> list{"a", "b"};
  EXPECT_TRUE(contains(list, "b"));
  EXPECT_FALSE(contains(list, "c"));
}

TEST(Lookup, EntriesAreAddedOnceInTheOrderOfTheirKeys) {
  ListByKey<&LookupGroup::name> by_name;
  int count = 0;
  for (const char* name : {"b", "a", "b"}) by_name[name].members.push_back(++count);
  ASSERT_NE(by_name.find("a"), nullptr);
  EXPECT_EQ(by_name.find("a")->members, std::vector<int>{2});
  EXPECT_EQ(by_name.find("c"), nullptr);
  const std::vector<LookupGroup> groups = by_name.take();
  EXPECT_TRUE(by_name.empty());
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].name, "b");
  EXPECT_EQ(groups[0].members, (std::vector<int>{1, 3}));
  EXPECT_EQ(groups[1].members, std::vector<int>{2});
}

TEST(Lookup, MemberOfAnEmptyPartIsEmpty) {
  std::optional<LookupPart> part;
  EXPECT_EQ(member_of(part, &LookupPart::always), std::nullopt);
  EXPECT_EQ(member_of(part, &LookupPart::sometimes), std::nullopt);
  part = LookupPart{};
  EXPECT_EQ(member_of(part, &LookupPart::always), 1.5);
  EXPECT_EQ(member_of(part, &LookupPart::sometimes), std::nullopt);
  part->sometimes = 3;
  EXPECT_EQ(member_of(part, &LookupPart::sometimes), 3);
}

TEST(Lookup, KnownValuesAreThoseThatAreThereAndFinite) {
  const double kNotFinite = std::numeric_limits<double>::infinity();
  const std::vector<std::optional<double>> list{1.0, std::nullopt, kNotFinite, 2.0};
  EXPECT_EQ(known_values(list, [](const auto& value) { return value; }), (std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace epochbench
