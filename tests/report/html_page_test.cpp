// The page as a file: everything in it, nothing fetched, and text of results that can neither end a block nor begin markup.
#include "src/report/html/html_page.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "epochbench/embedded.h"
#include "src/report/view.h"

namespace epochbench {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile[] = {"<script>alert(1)</script>",
                                    "</script><script>alert(1)</script>",
                                    "<!--<script>",
                                    "{{script}}",
                                    "\" onload=\"alert(1)",
                                    "</title><b>"};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// What stands between the opening tag of the data and the next end of a script, as a browser reads it.
std::string data_block(const std::string& page) {
  const std::string open = "id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script", begin) - begin);
}

TEST(HtmlText, EscapesWhatBeginsOrEndsMarkup) {
  EXPECT_EQ(html_text("a <b> & \"c\" 'd'"), "a &lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(html_text(""), "");
}

TEST(JsonForHtml, IsTheSameDocumentWithoutAnyOpeningBracket) {
  const Json data = {{"<key>", kHostile}, {"n", 1.5}};
  const std::string text = json_for_html(data);
  EXPECT_THAT(text, Not(HasSubstr("<")));
  EXPECT_EQ(parse_json(text, "page"), data);
}

TEST(JsonForHtml, HasNullForWhatIsNoNumberAndNoBrokenText) {
  EXPECT_EQ(json_for_html({std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}), "[null,null]");
  EXPECT_EQ(json_for_html("a\xff"), "\"a\xef\xbf\xbd\"");
}

// A page's data with one table.
Json table_of(const std::string& name, const std::string& cell) {
  const View view = {"Runs", columns("/run|>samples/s|energy"), {{name, Cell(cell, "below", 1.0), ""}}, {"a note"}};
  return {{"tables", {{"runs", page_table(view)}}}};
}

TEST(HtmlPage, HasItsTablesWithoutScriptsToo) {
  const std::string page = html_page(table_of("mlp/cpu/fp32/b64", "1,234"), "title");
  EXPECT_THAT(page, HasSubstr("<caption>Runs</caption>\n<tr><th>run</th><th>samples/s</th></tr>\n"
                              "<tr><th>mlp/cpu/fp32/b64</th><td>1,234</td></tr>\n</table>\n<p>[1] a note</p>"));
  EXPECT_EQ(count(html_page(Json::object(), "title"), "<table"), 0u) << "no runs";
}

TEST(HtmlPage, IsOneFileThatFetchesNothing) {
  const std::string page = html_page(Json::object(), "title");
  EXPECT_EQ(page.find("<!DOCTYPE html>"), 0u);
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("version:\"3.5.")) << "the charting library";
  EXPECT_THAT(page, HasSubstr("Michael Bostock")) << "its license";
  EXPECT_THAT(page, Not(HasSubstr("{{")));
}

TEST(HtmlPage, IsMadeOfFilesThatFetchNothingAndMakeNoMarkupOfText) {
  const auto files = embedded_files("src/report/html/page/");
  ASSERT_GT(files.size(), 5u);
  for (const std::string_view file : files)
    for (const char* never : {"src=", "<link", "@import", "url(http", "url(/", "fetch(", "XMLHttpRequest", "import(",
                              "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", ".html(", "eval("})
      EXPECT_EQ(count(std::string(*embedded_file(file)), never), 0u) << file << ": " << never;
}

TEST(HtmlPage, HostileTextStaysText) {
  const std::size_t scripts = count(html_page(Json::object(), ""), "<script");
  for (const std::string text : kHostile) {
    const Json data = table_of(text, text);
    const std::string page = html_page(data, text);
    EXPECT_EQ(count(page, "<script"), scripts) << text;
    EXPECT_EQ(count(page, "</script"), scripts) << text;
    EXPECT_EQ(count(page, "</title>"), 1u) << text;
    EXPECT_EQ(parse_json(data_block(page), "page"), data) << text;
  }
}

}  // namespace
}  // namespace epochbench
