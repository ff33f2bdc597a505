#include "src/session/progress.h"

#include <cstdio>
#include <vector>

#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/text/result_text.h"

namespace epochbench {
namespace {

// Drops the middle if the text is wider: the case is recognized by the beginning of its name, and the time left is at the end.
std::string cut(const std::string& text, std::size_t columns) {
  if (display_width(text) <= columns) return text;
  if (columns == 0) return "";
  std::vector<std::size_t> begins;  // of code points
  for (std::size_t at = 0; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) begins.push_back(at);
  const std::size_t front = (columns - 1) / 3, back = columns - 1 - front;
  return text.substr(0, begins[front]) + "…" + (back == 0 ? "" : text.substr(begins[begins.size() - back]));
}

// What is known, most important first: a narrow terminal leaves out the last.
std::vector<std::string> parts_of(const Progress& progress) {
  std::vector<std::string> parts{progress.phase};
  if (progress.steps > 0)
    parts.push_back("step " + format_count(progress.steps) +
                    (progress.steps_planned ? "/" + format_count(*progress.steps_planned) : ""));
  if (progress.step_seconds && progress.rate == 0) parts.push_back(format_seconds(*progress.step_seconds) + " per step");
  if (progress.rate > 0) parts.push_back(significant(progress.rate, 3) + " samples/s");
  if (progress.loss) parts.push_back("loss " + significant(*progress.loss, 3));
  if (progress.eval_value) parts.push_back("test " + significant(*progress.eval_value, 3));
  if (progress.elapsed_seconds >= 1) parts.push_back(format_seconds(progress.elapsed_seconds));
  if (progress.relative_noise) parts.push_back("±" + format_percent(*progress.relative_noise) + " within this run");
  return parts;
}

// The head and as many parts as fit.
std::string fitting(const std::string& head, std::vector<std::string> parts, std::size_t columns) {
  const auto text = [&] { return head + "  " + joined(parts, "  "); };
  while (parts.size() > 1 && display_width(text()) > columns) parts.pop_back();
  return cut(text(), columns);
}

}  // namespace

ProgressDisplay::ProgressDisplay(std::size_t cases, bool quiet)
    : cases_(cases),
      quiet_(quiet),
      in_place_(!quiet && obeys_controls(Stream::error)),
      color_(in_place_ && shows_colors(Stream::error)) {}

ProgressDisplay::~ProgressDisplay() { clear(); }

void ProgressDisplay::clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

void ProgressDisplay::draw(const std::string& text) {
  std::fprintf(stderr, "\r\033[K%s", cut(text, output_columns(Stream::error) - 1).c_str());
  std::fflush(stderr);
  drawn_ = true;
}

std::string ProgressDisplay::place() const { return "[" + std::to_string(index_) + "/" + std::to_string(cases_) + "]"; }

std::string ProgressDisplay::head() const { return place() + " " + name_; }

void ProgressDisplay::note(const std::string& text) {
  if (in_place_) draw(text);
}

void ProgressDisplay::log(const std::string& text) {
  if (!quiet_ && !in_place_) std::fprintf(stderr, "%s\n", text.c_str());
}

void ProgressDisplay::line(const std::string& text) {
  if (quiet_) return;
  clear();
  std::fprintf(stderr, "%s\n", fitted(text, output_columns(Stream::error)).c_str());
}

void ProgressDisplay::begin(const std::string& name) {
  ++index_;
  name_ = name;
  last_shown_ = in_place_ ? std::chrono::steady_clock::time_point() : std::chrono::steady_clock::now();
  if (in_place_) draw(head());
}

void ProgressDisplay::update(const Progress& progress, const std::string& left) {
  // Ten times per second is as fast as a person reads, and costs nothing compared to a step.
  constexpr std::chrono::milliseconds kFrame{100}, kLine{10'000};
  const auto now = std::chrono::steady_clock::now();
  if (quiet_ || now - last_shown_ < (in_place_ ? kFrame : kLine)) return;
  last_shown_ = now;
  const std::vector<std::string> parts = parts_of(progress);
  const std::string tail = left.empty() ? "" : "  " + left;
  if (!in_place_) return log(head() + "  " + joined(parts, "  ") + tail);
  const std::size_t columns = output_columns(Stream::error) - 1, taken = display_width(tail);
  const bool both = columns > 2 * taken;
  draw(fitting(head(), parts, both ? columns - taken : columns) + (both ? tail : ""));
}

void ProgressDisplay::end(const Run& run) {
  if (quiet_) return;
  clear();
  const bool ok = run.status == RunStatus::ok;
  const char* mark = !color_ ? "" : ok ? "\033[32m" : "\033[31m";
  const std::string line = mark + place() + (color_ ? "\033[0m" : "") + " " + one_line(run);
  std::fprintf(stderr, "%s\n", fitted(line, output_columns(Stream::error)).c_str());
}

}  // namespace epochbench
