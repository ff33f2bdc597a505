// A build without D3, which measures and draws no pages: `report` says so in one line. The embedded files are made up here.
#include <optional>
#include <string_view>

#include <gmock/gmock.h>

#include "epochbench/embedded.h"
#include "src/base/errors.h"
#include "src/report/html/html_page.h"

namespace epochbench {

std::optional<std::string_view> embedded_file(std::string_view path) {
  return path == "libraries/d3.min.js" ? std::nullopt : std::optional<std::string_view>("{{library}}");
}

namespace {

TEST(HtmlPage, WithoutD3IsRefusedInOneLine) {
  try {
    html_page(Json::object(), "title");
    FAIL() << "a page without charts";
  } catch (const CallError& error) {
    EXPECT_EQ(error.code(), kExitCallIsWrong);
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("-DEPOCHBENCH_D3=FILE"), testing::Not(testing::HasSubstr("\n"))));
  }
}

}  // namespace
}  // namespace epochbench
