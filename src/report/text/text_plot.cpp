// Curves as characters.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "src/base/text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

constexpr int kRows = 14, kMargin = 12;  // kMargin: labels of y, and the axis

int plot_columns() { return static_cast<int>(std::min<std::size_t>(80, output_columns())); }
constexpr double kLogarithmicFrom = 10;
constexpr std::string_view kGlyphs = "ox*+#@%&";

// From values to cells 0 to `cells` - 1.
struct Scale {
  double low = 1, high = 1;
  bool logarithmic = false;
  int cells = 1;

  int cell(double value) const {
    const auto to = [this](double v) { return logarithmic ? std::log(v) : v; };
    const double span = to(high) - to(low);
    return span > 0 ? static_cast<int>(std::lround((to(value) - to(low)) / span * (cells - 1))) : 0;
  }
  double value(int cell) const {
    const double part = static_cast<double>(cell) / (cells - 1);
    return logarithmic ? low * std::pow(high / low, part) : low + (high - low) * part;
  }
};

Scale scale_of(const std::vector<double>& values, int cells, bool from_zero) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  Scale scale{*low, *high, *high / *low >= kLogarithmicFrom, cells};
  if (from_zero && !scale.logarithmic) scale.low = 0;
  return scale;
}

// The rows of the plot from the top: dots between points, overlaid by the points.
std::vector<std::string> drawn(const std::vector<PlotCurve>& curves, const Scale& x, const Scale& y) {
  std::vector<std::string> rows(kRows, std::string(static_cast<std::size_t>(x.cells), ' '));
  const auto put = [&](int column, int row, char glyph) {
    rows[static_cast<std::size_t>(kRows - 1 - row)][static_cast<std::size_t>(column)] = glyph;
  };
  for (const PlotCurve& curve : curves)
    for (std::size_t i = 1; i < curve.points.size(); ++i) {
      const int x0 = x.cell(curve.points[i - 1].first), y0 = y.cell(curve.points[i - 1].second);
      const int x1 = x.cell(curve.points[i].first), y1 = y.cell(curve.points[i].second);
      for (int at = x0 + 1; at < x1; ++at)
        put(at, static_cast<int>(std::lround(y0 + static_cast<double>(y1 - y0) * (at - x0) / (x1 - x0))), '.');
    }
  for (std::size_t c = 0; c < curves.size(); ++c)
    for (const auto& [at, value] : curves[c].points) put(x.cell(at), y.cell(value), kGlyphs[c % kGlyphs.size()]);
  return rows;
}

// The values of x below their columns, as many as fit.
std::string x_labels(const std::vector<double>& values, const Scale& x) {
  const int columns = plot_columns();
  std::string line(static_cast<std::size_t>(columns), ' ');
  std::size_t free_from = 0;
  for (const double value : values) {
    const std::string text = format_count(std::llround(value));
    const int center = kMargin + x.cell(value) - static_cast<int>(text.size()) / 2;
    const auto begin = static_cast<std::size_t>(std::clamp(center, 0, columns - static_cast<int>(text.size())));
    if (begin < free_from) continue;
    line.replace(begin, text.size(), text);
    free_from = begin + text.size() + 2;
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string legend(const std::vector<PlotCurve>& curves, bool failed) {
  std::string text, line;
  const auto add = [&](const std::string& entry) {
    if (!line.empty() && display_width(line) + 3 + display_width(entry) > static_cast<std::size_t>(plot_columns())) {
      text += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : "   ") + entry;
  };
  for (std::size_t c = 0; c < curves.size(); ++c) add(std::string(1, kGlyphs[c % kGlyphs.size()]) + " " + curves[c].label);
  if (failed) add("! failed");
  return text + line + "\n";
}

}  // namespace

std::string text_plot(const std::vector<PlotCurve>& curves, const std::string& x_title, const std::string& y_title,
                      const NumberText& y_text) {
  std::vector<double> xs, ys, failed;
  for (const PlotCurve& curve : curves) {
    for (const auto& [at, value] : curve.points) {
      xs.push_back(at);
      ys.push_back(value);
    }
    failed.insert(failed.end(), curve.failed.begin(), curve.failed.end());
  }
  if (ys.size() < 2) return "";
  xs.insert(xs.end(), failed.begin(), failed.end());
  std::sort(xs.begin(), xs.end());
  xs.erase(std::unique(xs.begin(), xs.end()), xs.end());
  const Scale x = scale_of(xs, plot_columns() - kMargin, false), y = scale_of(ys, kRows, true);
  const std::vector<std::string> rows = drawn(curves, x, y);
  std::string text = y_title + (y.logarithmic ? ", logarithmic" : "") + "\n";
  for (int row = 0; row < kRows; ++row) {
    std::string label = row % 4 == 0 || row == kRows - 1 ? y_text(y.value(kRows - 1 - row)) : "";
    label.insert(0, kMargin - 2 - std::min<std::size_t>(kMargin - 2, display_width(label)), ' ');
    std::string line = label + " |" + rows[static_cast<std::size_t>(row)];
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  std::string axis(static_cast<std::size_t>(x.cells), '-');
  for (const double at : failed) axis[static_cast<std::size_t>(x.cell(at))] = '!';
  text += std::string(kMargin - 1, ' ') + "+" + axis + "\n" + x_labels(xs, x) + "\n";
  return text + "over " + x_title + (x.logarithmic ? ", logarithmic" : "") + ";   " + legend(curves, !failed.empty());
}

}  // namespace epochbench
