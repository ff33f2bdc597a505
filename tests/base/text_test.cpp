#include "src/base/text.h"

#include <gmock/gmock.h>

namespace epochbench {
namespace {

using testing::ElementsAre;

TEST(Text, IsJoinedAndSplit) {
  EXPECT_EQ(joined({}), "");
  EXPECT_EQ(joined({"a"}), "a");
  EXPECT_EQ(joined({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(joined({"a", "b"}, "+"), "a+b");
  EXPECT_THAT(split("a,b"), ElementsAre("a", "b"));
  EXPECT_THAT(split(",a,"), ElementsAre("", "a", ""));
  EXPECT_THAT(split(""), ElementsAre(""));
  EXPECT_THAT(split("a/b,c", '/'), ElementsAre("a", "b,c"));
}

TEST(Text, PartsAreReplacedOnce) {
  std::string text = "aXbXX";
  replace_all(text, "X", "XY");
  EXPECT_EQ(text, "aXYbXYXY");
  replace_all(text, "XY", "");
  EXPECT_EQ(text, "ab");
}

TEST(Text, BlanksAtTheEndsGo) {
  EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(Text, LinesAreFilledByCodePoints) {
  EXPECT_EQ(display_width("a\u00e9\u2026"), 3u);
  const std::string word(40, 'x');
  EXPECT_THAT(wrapped_lines("- ", "  ", word + " " + word + " " + word), ElementsAre("- " + word + " " + word, "  " + word));
  const std::string wide = std::string(38, 'x') + "\u00e9";
  EXPECT_EQ(wrapped_lines("", "", wide + " " + wide + " " + std::string(20, 'y')).size(), 1u);  // 100 columns of 102 bytes
  EXPECT_EQ(wrapped("", "", std::string(96, 'x') + " 97 %"), std::string(96, 'x') + "\n97 %\n");
}

}  // namespace
}  // namespace epochbench
