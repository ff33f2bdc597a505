#include "src/session/page/chart_files.h"

#include <cctype>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include <stdlib.h>
#include <unistd.h>

#include "src/base/errors.h"
#include "src/base/files.h"
#include "src/base/process.h"
#include "src/report/html/html_page.h"
#include "src/session/outside_program.h"

namespace epochbench {
namespace {

namespace fs = std::filesystem;

constexpr double kDrawSeconds = 120;

// A folder in `parent`, since a sandboxed browser may see no other; removed with its contents.
class WorkFolder {
 public:
  explicit WorkFolder(const std::string& parent) : path_(parent + "/charts-XXXXXX") {
    if (!mkdtemp(path_.data())) throw FileError(parent + ": cannot make a folder in it");
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) continue;  // the padding
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if ((count += 6) < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

// What the page's script left in it.
Json drawn_charts(const std::string& page) {
  constexpr std::string_view kOpen = "id=\"charts\">", kClose = "</script";
  const std::size_t begin = page.rfind(kOpen);
  if (begin == std::string::npos) throw std::runtime_error("the browser drew no chart of the page");
  const std::size_t from = begin + kOpen.size();
  return parse_json(page.substr(from, page.find(kClose, from) - from), "charts");
}

std::string url_of(const std::string& path) {
  constexpr std::string_view kPlain = "/-_.~";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string url = "file://";
  for (const char c : fs::absolute(path).string()) {
    const auto byte = static_cast<unsigned char>(c);
    if (isalnum(byte) || kPlain.find(c) != std::string_view::npos)
      url += c;
    else
      (url += '%').append({kHex[byte >> 4], kHex[byte & 15]});
  }
  return url;
}

}  // namespace

std::string chart_browser() {
  const auto browser = find_program({"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"});
  if (browser) return *browser;
  throw CallError(
      "--charts draws with Chromium, which is not in PATH; install it (apt install chromium), or leave out --charts");
}

std::vector<std::string> write_charts(const std::string& folder, const std::string& browser, const Json& data,
                                      const std::string& title) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw FileError(folder + ": " + error.message());
  const WorkFolder work(folder);
  const std::string page = work.path() + "/page.html";
  ResultFile(page).write(html_page(data, title, PageUse::chart_files));
  std::vector<std::string> command{browser,
                                   "--headless=new",
                                   "--disable-gpu",
                                   "--disable-dev-shm-usage",
                                   "--no-first-run",
                                   "--disable-background-networking",
                                   "--disable-component-update",
                                   "--disable-sync",
                                   "--window-size=960,1400",
                                   "--virtual-time-budget=60000",
                                   "--dump-dom",
                                   "--user-data-dir=" + work.path() + "/profile",
                                   url_of(page)};
  // Its sandbox does not work as root, as in a container; the page is our own.
  if (geteuid() == 0) command.insert(command.begin() + 2, "--no-sandbox");
  const ProgramEnd end = run_program(command, kDrawSeconds);
  if (!end.reason.empty()) throw std::runtime_error("charts are not drawn: " + browser + " " + end.reason);
  std::vector<std::string> names;
  for (const Json& chart : drawn_charts(end.output)) {
    names.push_back(chart.at("name").get<std::string>());
    ResultFile(folder + "/" + names.back() + ".svg").write(chart.at("svg").get<std::string>());
    ResultFile(folder + "/" + names.back() + ".png").write(from_base64(chart.at("png").get<std::string>()));
  }
  return names;
}

}  // namespace epochbench
