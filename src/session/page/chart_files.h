// The charts of a page as separate files, drawn by a browser without a window.
#pragma once

#include <string>
#include <vector>

#include "src/base/json.h"

namespace epochbench {

// The browser that draws. Errors: CallError where none is installed.
std::string chart_browser();

// Writes each chart of the page as FOLDER/NAME.svg and FOLDER/NAME.png, and returns the names, in the page's order. The folder
// is created if missing; files with these names are replaced. `data`, `title`: as for html_page(). Errors: std::runtime_error
// if the browser fails; FileError.
std::vector<std::string> write_charts(const std::string& folder, const std::string& browser, const Json& data,
                                      const std::string& title);

}  // namespace epochbench
