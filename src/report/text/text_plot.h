// Curves as characters, for a terminal of 80 columns without color.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace epochbench {

struct PlotCurve {
  std::string label;
  std::vector<std::pair<double, double>> points;  // x rising; all above 0 and finite
  std::vector<double> failed;                     // x of points that have no y
};

// One glyph a curve, dots between its points, `!` on the axis where a point failed, and a legend. An axis is logarithmic where
// what it shows spans a factor of 10 or more, and says so; y begins at 0 otherwise. Empty where fewer than two points are to
// be shown. Lines of at most 80 columns, each with its line break.
std::string text_plot(const std::vector<PlotCurve>& curves, const std::string& x_title, const std::string& y_title,
                      const std::function<std::string(double)>& y_text);

}  // namespace epochbench
