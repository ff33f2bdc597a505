#include "src/base/text.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

namespace epochbench {
namespace {

using testing::ElementsAre;

TEST(Text, OfUnknownOriginIsVisible) {
  EXPECT_EQ(visible("ResNet-50 µs 97.2 % 張"), "ResNet-50 µs 97.2 % 張");
  EXPECT_EQ(visible("a\n::error::b\t\r"), "a\\n::error::b\\t\\r");
  EXPECT_EQ(visible("\x1b[2J\x7f"), "\\x1b[2J\\x7f");
  EXPECT_EQ(visible("\xC2\x9B"
                    "2J"),
            "\\u009b2J");  // the same in one character
  EXPECT_EQ(visible("\xE2\x80\xAEnib\xE2\x80\xA8\xEF\xBF\xBE"), "\\u202enib\\u2028\\ufffe");
  EXPECT_EQ(visible("\xff\xC0\x80\xED\xA0\x80"), "\\xff\\xc0\\x80\\xed\\xa0\\x80");  // not UTF-8
  EXPECT_EQ(visible(std::string("\0\xE2\x80", 3)), "\\x00\\xe2\\x80");
}

TEST(Text, IsJoinedAndSplit) {
  EXPECT_EQ(joined({}), "");
  EXPECT_EQ(joined({"a"}), "a");
  EXPECT_EQ(joined({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(joined({"a", "b"}, "+"), "a+b");
  EXPECT_EQ(joined({"", "a", "", "b"}), "a, b");
  EXPECT_THAT(split("a,b"), ElementsAre("a", "b"));
  EXPECT_THAT(split(",a,"), ElementsAre("", "a", ""));
  EXPECT_THAT(split(""), ElementsAre(""));
  EXPECT_THAT(split("a/b,c", '/'), ElementsAre("a", "b,c"));
}

TEST(Text, IsJoinedOfProjectedElements) {
  const std::map<std::string, int> counts = {{"a", 1}, {"b", 0}, {"c", 3}};
  EXPECT_EQ(joined(counts, &std::pair<const std::string, int>::first), "a, b, c");
  EXPECT_EQ(joined(
                counts, [](const auto& entry) { return entry.second ? std::to_string(entry.second) : ""; }, "/"),
            "1/3");
  EXPECT_EQ(joined(std::vector<int>(), [](int) { return "x"; }), "");
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

TEST(Text, NearNamesAreFound) {
  const std::vector<std::string> names{"resnet18", "resnet50", "lenet5", "bert-tiny", "bert-base", "mlp"};
  EXPECT_THAT(nearest("ResNet-50", names), ElementsAre("resnet50"));
  EXPECT_THAT(nearest("Bert", names), ElementsAre("bert-tiny", "bert-base"));
  EXPECT_THAT(nearest("lentet5", names), ElementsAre("lenet5"));
  EXPECT_THAT(nearest("mpl", names), ElementsAre("mlp"));  // neighbors exchanged
  EXPECT_THAT(nearest("mlp512", names), ElementsAre("mlp"));
  EXPECT_THAT(nearest("vgg16", names), ElementsAre());
  EXPECT_THAT(nearest("", names), ElementsAre());
  EXPECT_THAT(nearest(std::string(5000, 'x'), names), ElementsAre());
  EXPECT_EQ(did_you_mean("bert", names), "; did you mean bert-tiny or bert-base?");
  EXPECT_EQ(did_you_mean("vgg16", names), "");
  EXPECT_THAT(nearest("budget", {"bucket", "badge"}), ElementsAre());  // two errors in six letters are too many
}

TEST(Text, LongLinesGoOnBelow) {
  EXPECT_EQ(fitted("one two three\n", 9), "one two\n  three\n");
  EXPECT_EQ(fitted("mlp/cpu/fp32", 9), "mlp/cpu/\n  fp32");
  EXPECT_EQ(fitted("one two three\n"), "one two three\n");  // no terminal
  EXPECT_EQ(fitted("123456789", 4), "1234\n  56\n  78\n  9");
  EXPECT_EQ(fitted("[1][2][10]", 7), "[1][2]\n  [10]");
  EXPECT_EQ(fitted("data=fashion-mnist", 15), "data=fashion-\n  mnist");  // rather than within a word
  EXPECT_EQ(fitted("at [1], or [2]", 6), "at\n  [1],\n  or\n  [2]");
  EXPECT_EQ(fitted("threshold 3.00 %.", 16), "threshold\n  3.00 %.");
  EXPECT_EQ(fitted("now 24,651 samples/s", 19), "now\n  24,651 samples/s");
}

TEST(Text, TablesFitTheirColumns) {
  Table table({"run", ">rate", "-note", "--->more"});
  table.add({"mlp/cpu/fp32", "12", "slow", "7"});
  table.add({"mlp/cpu/bf16", "13", "fast", "8"});
  EXPECT_EQ(table.to_string(kUnlimitedColumns),
            "run           rate  note  more\nmlp/cpu/fp32    12  slow     7\nmlp/cpu/bf16    13  fast     8\n");
  const std::string note = "columns hidden to fit:\n  more; pipe through\n  `cat` or `less -S` to\n  see all\n";
  EXPECT_EQ(table.to_string(24), "run           rate  note\nmlp/cpu/fp32    12  slow\nmlp/cpu/bf16    13  fast\n" + note);
  EXPECT_THAT(table.to_string(18),
              testing::StartsWith("run           rate\nmlp/cpu/fp32    12\nmlp/cpu/bf16    13\ncolumns hidden to\n"
                                  "  fit: note, more;\n"));
  EXPECT_THAT(table.to_string(14),
              testing::StartsWith("run       rate\nmlp/cpu/    12\nfp32\nmlp/cpu/    13\nbf16\ncolumns hidden\n"));
}

TEST(Text, ATableOfOneRowHidesNothing) {
  Table table({"run", ">rate", "-note", "--->more"});
  table.add({"mlp/cpu/fp32", "12", "slow", "7"});
  EXPECT_EQ(table.to_string(24), "run           rate  note\nmlp/cpu/fp32    12  slow\nalso: more 7\n");
  EXPECT_EQ(table.to_string(18), "run           rate\nmlp/cpu/fp32    12\nalso: note slow,\n  more 7\n");
}

TEST(Text, ALongNameStandsAboveItsRow) {
  Table table({"run", ">local", ">cloud", "-note"});
  table.add({"resnet20/cpu/fp32/b32/data=digits", "$1", "$0.000041 ($0.000037 to $0.000045)", "x"});
  table.add({"mlp/cpu/fp32/b64", "$2", "$0.0000011", ""});
  const std::string rows =
      "run\n  local                               cloud\nresnet20/cpu/fp32/b32/data=digits\n"
      "     $1  $0.000041 ($0.000037 to $0.000045)\nmlp/cpu/fp32/b64\n     $2                          $0.0000011\n";
  EXPECT_THAT(table.to_string(46), testing::StartsWith(rows + "columns hidden to fit: note;"));
  EXPECT_THAT(table.to_string(70), testing::StartsWith("run                          local ")) << "two lines of a name are few";
}

TEST(Text, SplitsCommandsAsAShellDoes) {
  const auto parts = [](const char* text) { return split_command(text).value(); };
  EXPECT_THAT(parts("  srun  -n {ranks}\t"), ElementsAre("srun", "-n", "{ranks}"));
  EXPECT_THAT(parts("srun --comment='a b' \"c 'd\" e\\ f"), ElementsAre("srun", "--comment=a b", "c 'd", "e f"));
  EXPECT_THAT(parts(R"("a\"b" 'c\d' '')"), ElementsAre("a\"b", "c\\d", ""));
  EXPECT_THAT(parts(" "), testing::IsEmpty());
  for (const char* open : {"srun 'a", "srun \"a'", "srun a\\", "'"}) EXPECT_EQ(split_command(open), std::nullopt) << open;
}

// What tells rows apart stays, and what they share is said once.
TEST(Text, TablesSayBelowWhatAllRowsShare) {
  Table table({"instance", "-device", ">hours", "evidence", "---more"});
  table.add({"g6.xlarge", "l4", "0.9", "predicted", "8"});
  table.add({"g5.xlarge", "a10g", "0.6", "predicted", "9"});
  EXPECT_EQ(table.to_string(kUnlimitedColumns),
            "instance   device  hours  evidence   more\ng6.xlarge  l4        0.9  predicted  8\n"
            "g5.xlarge  a10g      0.6  predicted  9\n");
  EXPECT_EQ(table.to_string(32),
            "instance   device  hours  more\ng6.xlarge  l4        0.9  8\ng5.xlarge  a10g      0.6  9\n"
            "in all rows: evidence predicted\n");
  EXPECT_EQ(
      table.to_string(26),
      "instance   device  hours\ng6.xlarge  l4        0.9\ng5.xlarge  a10g      0.6\n"
      "in all rows: evidence\n  predicted\ncolumns hidden to fit:\n  more; pipe through `cat`\n  or `less -S` to see all\n");
  Table one({"instance", "evidence"});
  one.add({"g6.xlarge", "predicted"});
  EXPECT_EQ(one.to_string(20), "instance   evidence\ng6.xlarge  predicted\n");
  Table unknown({"instance", "-cost"});
  for (const char* name : {"c7i.24xlarge", "c8a.24xlarge"}) unknown.add({name, "-"});
  EXPECT_THAT(unknown.to_string(16), testing::HasSubstr("columns hidden\n"));
}

TEST(Text, TablesKeepWhatTellsRowsApart) {
  Table table({"instance", "-model", ">cost"});
  table.add({"g4dn.xlarge", "bert-base", "$0.0158"});
  table.add({"g4dn.xlarge", "resnet50", "$0.637"});
  EXPECT_EQ(table.to_string(26),
            "instance\n  model         cost\ng4dn.xlarge\n  bert-base  $0.0158\ng4dn.xlarge\n  resnet50    $0.637\n");
  table.add({"c7i.large", "bert-base", "$1"});
  EXPECT_THAT(table.to_string(30), testing::HasSubstr("resnet50")) << "some of them";
  Table others({"instance", "-model", ">cost"});
  others.add({"g4dn.xlarge", "bert-base", "$0.0158"});
  others.add({"g5.xlarge", "resnet50", "$0.637"});
  EXPECT_THAT(others.to_string(26), testing::StartsWith("instance        cost\ng4dn.xlarge  $0.0158\n"));
}

TEST(Text, TablesKeepWordsWhole) {
  Table table({"machine", "model"});
  table.add({"Google Cloud", "of bottlenecked"});
  EXPECT_EQ(table.to_string(28), "machine       model\nGoogle Cloud  of\n              bottlenecked\n");
  EXPECT_EQ(table.to_string(22), "machine   model\nGoogle    of\nCloud     bottlenecked\n");
  EXPECT_EQ(table.to_string(21), "machine  model\nGoogle   of\nCloud    bottlenecked\n");
  EXPECT_EQ(table.to_string(20), "machine\n  model\nGoogle Cloud\n  of bottlenecked\n") << "a name above leaves room";
  Table found({"device", "evidence", ">ratio", "-notes"});
  found.add({"H100 SXM 80GB", "published", "214x", "[4][5]"});
  found.add({"T4, tuned", "predicted", "33.5x", "[7][6]"});
  for (std::size_t columns = 20; columns < 50; ++columns)
    EXPECT_THAT(found.to_string(columns), testing::AllOf(testing::HasSubstr("published"), testing::HasSubstr("predicted")))
        << columns;
}

}  // namespace
}  // namespace epochbench
