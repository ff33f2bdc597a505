#include "src/analysis/student_t.h"

#include <cmath>

namespace epochbench {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kNormal975 = 1.959963984540054;  // the limit of infinitely many degrees, and below every other quantile

// The integral of cos^power from 0 to `angle` by Simpson's rule; exact to 1e-8 of itself on the angles that are asked for.
double cosine_power_integral(double power, double angle) {
  constexpr int kPanels = 128;
  const double width = angle / kPanels;
  double sum = 1 + std::pow(std::cos(angle), power);
  for (int i = 1; i < kPanels; ++i) sum += (i % 2 == 1 ? 4 : 2) * std::pow(std::cos(width * i), power);
  return sum * width / 3;
}

}  // namespace

// With t = sqrt(degrees) tan(angle), t's density becomes scale * cos(angle)^(degrees - 1): bounded, and falling from 0 on. So
// the distribution function is concave, and Newton's method that begins below the quantile climbs to it without passing it.
double student_t_975(double degrees) {
  if (degrees > 1e7) return kNormal975;
  const double scale = std::exp(std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2)) / std::sqrt(kPi);
  double angle = std::atan(kNormal975 / std::sqrt(degrees));
  for (int i = 0; i < 50; ++i) {
    const double missing = 0.475 - scale * cosine_power_integral(degrees - 1, angle);
    const double step = missing / (scale * std::pow(std::cos(angle), degrees - 1));
    angle += step;
    if (std::fabs(step) < 1e-12 * angle) break;
  }
  return std::sqrt(degrees) * std::tan(angle);
}

}  // namespace epochbench
