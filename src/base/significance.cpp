#include "src/base/significance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace epochbench {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kNormal975 = 1.959963984540054;  // the limit of infinitely many degrees, and below every other quantile

// The integral of cos^power between two angles by Simpson's rule; exact to 1e-8 of itself on the angles that occur here.
double cosine_power_integral(double power, double from, double to) {
  constexpr int kPanels = 128;
  const double width = (to - from) / kPanels;
  double sum = std::pow(std::cos(from), power) + std::pow(std::cos(to), power);
  for (int i = 1; i < kPanels; ++i) sum += (i % 2 == 1 ? 4 : 2) * std::pow(std::cos(from + width * i), power);
  return sum * width / 3;
}

// Of t's density in terms of an angle, with t = sqrt(degrees) tan(angle).
double density_scale(double degrees) {
  return std::exp(std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2)) / std::sqrt(kPi);
}

}  // namespace

// With t = sqrt(degrees) tan(angle), t's density becomes scale * cos(angle)^(degrees - 1): bounded, and falling from 0 on. So
// the distribution function is concave, and Newton's method that begins below the quantile climbs to it without passing it.
double student_t_975(double degrees) {
  if (degrees > 1e7) return kNormal975;
  const double scale = density_scale(degrees);
  double angle = std::atan(kNormal975 / std::sqrt(degrees));
  for (int i = 0; i < 50; ++i) {
    const double missing = 0.475 - scale * cosine_power_integral(degrees - 1, 0, angle);
    const double step = missing / (scale * std::pow(std::cos(angle), degrees - 1));
    angle += step;
    if (std::fabs(step) < 1e-12 * angle) break;
  }
  return std::sqrt(degrees) * std::tan(angle);
}

// The tail from t's angle to the right angle. Beyond the angle the exponent falls at least linearly with the slope that it
// begins with, and at least as the square that it has around 0: the integral ends where e^-20 is left, so no panel is wasted
// where nothing is.
double student_t_two_sided_p(double t, double degrees) {
  const double angle = std::atan(std::fabs(t) / std::sqrt(degrees));
  double width = kPi / 2 - angle;
  if (degrees > 1) width = std::min(width, std::sqrt(40 / (degrees - 1)));
  if (const double slope = (degrees - 1) * std::tan(angle); slope > 0) width = std::min(width, 20 / slope);
  return std::min(1.0, 2 * density_scale(degrees) * cosine_power_integral(degrees - 1, angle, angle + width));
}

Rejections holm(std::span<const double> p_values, double error) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  Rejections rejections{std::vector<bool>(p_values.size()), error};
  for (std::size_t place = 0; place < order.size(); ++place) {
    rejections.level = error / static_cast<double>(order.size() - place);
    if (p_values[order[place]] > rejections.level) break;
    rejections.rejected[order[place]] = true;
  }
  return rejections;
}

}  // namespace epochbench
