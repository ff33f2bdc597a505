#include "src/analysis/compare/change_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>

#include "src/base/statistics.h"

namespace epochbench {
namespace {

constexpr double kResolution = 1e-6;        // values that differ by less count as equal
constexpr std::size_t kMinCreepPoints = 4;  // that rise; with fewer, a slope cannot be distinguished from a step

// Hampel's filter ("The influence curve and its role in robust estimation", Journal of the American Statistical Association 69,
// 1974): a point that is unusually far from the median of the five around it is replaced by that median. Three points of a
// level are the majority of five, so levels and lines pass unchanged. Precondition: at least five points.
std::vector<double> without_outliers(std::span<const double> series) {
  constexpr std::size_t kWindow = 2 * kMinLevelPoints - 1;
  constexpr double kFar = 5,
                   kDeviationOfMedian = 1.4826;  // deviation of a normal distribution over its median absolute deviation
  std::vector<double> local(series.size()), apart(series.size());
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::size_t begin = std::min(i - std::min(i, kWindow / 2), series.size() - kWindow);
    const auto window = series.subspan(begin, kWindow);
    local[i] = median({window.begin(), window.end()});
    apart[i] = std::fabs(series[i] - local[i]);
  }
  const double limit = kFar * (kDeviationOfMedian * median(apart) + kResolution);
  std::vector<double> filtered(series.begin(), series.end());
  for (std::size_t i = 0; i < series.size(); ++i)
    if (apart[i] > limit) filtered[i] = local[i];
  return filtered;
}

struct Moments {
  double count = 0, mean = 0, squares = 0;  // squares: of the deviations from their mean
};

Moments moments(std::span<const double> values) {
  Moments m{static_cast<double>(values.size()), 0, 0};
  m.mean = std::accumulate(values.begin(), values.end(), 0.0) / m.count;
  for (const double value : values) m.squares += (value - m.mean) * (value - m.mean);
  return m;
}

// Student's test of two means, with one variance for both.
double p_of_means(std::span<const double> left, std::span<const double> right) {
  const Moments a = moments(left), b = moments(right);
  const double degrees = a.count + b.count - 2;
  const double variance = (a.squares + b.squares) / degrees + kResolution * kResolution;
  return student_t_two_sided_p((b.mean - a.mean) / std::sqrt(variance * (1 / a.count + 1 / b.count)), degrees);
}

// The energy statistic of neighboring stretches in constant time per stretch, from sums of distances.
class Distances {
 public:
  explicit Distances(std::span<const double> series) : size_(series.size()), below_((size_ + 1) * size_) {
    for (std::size_t row = 0; row < size_; ++row)
      for (std::size_t i = 0; i < size_; ++i)
        below_[(row + 1) * size_ + i] = below_[row * size_ + i] + std::fabs(series[row] - series[i]);
  }

  // The sum of the distances of point i from all points of [begin, end).
  double from(std::size_t i, std::size_t begin, std::size_t end) const {
    return below_[end * size_ + i] - below_[begin * size_ + i];
  }

 private:
  std::size_t size_;
  std::vector<double> below_;  // [end, point]: the sum of the point's distances from all before `end`
};

struct Cut {
  std::size_t at = 0, end = 0;  // [begin, at) against [at, end)
  double statistic = -1;
};

// The split of [begin, last) whose sides differ most, over all places and all ends of the right side: otherwise a short level
// would be lost in what follows it.
Cut best_cut(const Distances& distances, std::size_t begin, std::size_t last) {
  Cut best;
  double within_left = 0;  // the sum of the distances of all pairs of [begin, at)
  for (std::size_t at = begin + 1; at + kMinLevelPoints <= last; ++at) {
    within_left += distances.from(at - 1, begin, at - 1);
    const auto left = static_cast<double>(at - begin);
    if (at - begin < kMinLevelPoints) continue;
    double within_right = 0, across = 0;
    for (std::size_t end = at + 1; end <= last; ++end) {
      within_right += distances.from(end - 1, at, end - 1);
      across += distances.from(end - 1, begin, at);
      const auto right = static_cast<double>(end - at);
      if (end - at < kMinLevelPoints) continue;
      const double energy =
          2 * across / (left * right) - 2 * within_left / (left * (left - 1)) - 2 * within_right / (right * (right - 1));
      const double statistic = left * right / (left + right) * energy;
      if (statistic > best.statistic) best = {at, end, statistic};
    }
  }
  return best;
}

void split(std::span<const double> series, const Distances& distances, std::size_t begin, std::size_t end,
           std::vector<std::size_t>& bounds) {
  if (end - begin < kMinPoints) return;
  const Cut best = best_cut(distances, begin, end);
  if (best.statistic <= 0) return;
  const auto left = series.subspan(begin, best.at - begin), right = series.subspan(best.at, best.end - best.at);
  if (p_of_means(left, right) >= kLenientLevel) return;
  split(series, distances, begin, best.at, bounds);
  bounds.push_back(best.at);
  split(series, distances, best.at, end, bounds);
}

// The change points at these bounds, each tested between its neighbors.
std::vector<ChangePoint> tested(std::span<const double> series, const std::vector<std::size_t>& bounds) {
  std::vector<ChangePoint> points;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : bounds[i - 1], end = i + 1 == bounds.size() ? series.size() : bounds[i + 1];
    const auto left = series.subspan(begin, bounds[i] - begin), right = series.subspan(bounds[i], end - bounds[i]);
    points.push_back({bounds[i], moments(left).mean, moments(right).mean, p_of_means(left, right)});
  }
  return points;
}

// A level, a straight line from the point before `begin` to `end`, and a level: fitted by least squares.
struct Ramp {
  std::size_t begin = 0, end = 0;  // the first point off the old level, the first on the new one
  double before = 0, after = 0;
  double squares = 0;  // of the residuals
};

// The best of all such lines, each in constant time from running sums of the values and of the values times their position.
std::optional<Ramp> best_ramp(std::span<const double> values) {
  const std::size_t size = values.size();
  const auto n = static_cast<double>(size);
  std::vector<double> sum(size + 1, 0), moment(size + 1, 0);
  for (std::size_t i = 0; i < size; ++i) {
    sum[i + 1] = sum[i] + values[i];
    moment[i + 1] = moment[i] + static_cast<double>(i) * values[i];
  }
  const double total = moments(values).squares;
  std::optional<Ramp> best;
  for (std::size_t begin = kMinLevelPoints; begin < size; ++begin)
    for (std::size_t end = begin; end < size; ++end) {
      // The line's height is 0 before begin, 1, 2, … from there on, and `top` from `end` on.
      const auto first = static_cast<double>(begin), top = static_cast<double>(end - begin + 1);
      const auto rest = static_cast<double>(size - 1 - end);
      const double height = top * (top + 1) / 2 + top * rest;
      const double height_squares = top * (top + 1) * (2 * top + 1) / 6 + top * top * rest;
      const double products =
          (moment[end + 1] - moment[begin]) - (first - 1) * (sum[end + 1] - sum[begin]) + top * (sum[size] - sum[end + 1]);
      const double spread = height_squares - height * height / n;
      const double together = products - height * sum[size] / n;
      const double squares = std::max(0.0, total - together * together / spread);
      if (best && squares >= best->squares) continue;
      const double slope = together / spread, level = (sum[size] - slope * height) / n;
      best = Ramp{begin, end, level, level + slope * top, squares};
    }
  return best;
}

double schwarz_criterion(double squares, std::size_t points, std::size_t parameters) {
  const auto n = static_cast<double>(points);
  return n * std::log(squares / n + kResolution * kResolution) + static_cast<double>(parameters) * std::log(n);
}

double squares_about_levels(std::span<const double> series, const std::vector<std::size_t>& bounds) {
  double squares = 0;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i)
    squares += moments(series.subspan(bounds[i], bounds[i + 1] - bounds[i])).squares;
  return squares;
}

// The creep that these change points of one direction form, if they form one. The stretch: their levels, including the old and
// the new.
std::optional<LevelChange> as_creep(std::span<const double> series, std::span<const ChangePoint> points, std::size_t begin,
                                    std::size_t end) {
  const auto stretch = series.subspan(begin, end - begin);
  std::vector<std::size_t> bounds{begin};
  for (const ChangePoint& point : points) bounds.push_back(point.index);
  bounds.push_back(end);
  const std::optional<Ramp> ramp = best_ramp(stretch);
  if (!ramp || ramp->end - ramp->begin + 1 < kMinCreepPoints) return std::nullopt;
  const double of_steps = schwarz_criterion(squares_about_levels(series, bounds), stretch.size(), 2 * points.size() + 1);
  if (schwarz_criterion(ramp->squares, stretch.size(), 4) >= of_steps) return std::nullopt;
  const auto old_level = stretch.first(ramp->begin), off_it = stretch.subspan(ramp->begin);
  return LevelChange{ChangeKind::creep, begin + ramp->begin, begin + ramp->end,
                     ramp->before,      ramp->after,         p_of_means(old_level, off_it)};
}

// Empty if there are too few points.
std::vector<double> searched(std::span<const double> series) {
  if (series.size() > kMaxPoints)
    throw std::invalid_argument("change points of " + std::to_string(series.size()) + " points: at most " +
                                std::to_string(kMaxPoints) + " are searched; leave the oldest out");
  return series.size() < kMinPoints ? std::vector<double>{} : without_outliers(series);
}

std::vector<ChangePoint> points_of(std::span<const double> series) {
  const Distances distances(series);
  std::vector<std::size_t> bounds;
  split(series, distances, 0, series.size(), bounds);
  std::vector<ChangePoint> points = tested(series, bounds);
  while (!points.empty()) {
    const auto weakest = std::ranges::max_element(points, {}, &ChangePoint::p_value);
    if (weakest->p_value < kChangeLevel) break;
    bounds.erase(bounds.begin() + (weakest - points.begin()));
    points = tested(series, bounds);
  }
  return points;
}

}  // namespace

std::vector<ChangePoint> change_points(std::span<const double> series) { return points_of(searched(series)); }

std::vector<LevelChange> level_changes(std::span<const double> all) {
  const std::vector<double> filtered = searched(all);
  const std::span<const double> series = filtered;
  const std::vector<ChangePoint> points = points_of(series);
  const auto rises = [&](std::size_t i) { return points[i].after > points[i].before; };
  std::vector<LevelChange> changes;
  for (std::size_t first = 0, last = 0; first < points.size(); first = last) {
    for (last = first + 1; last < points.size() && rises(last) == rises(first);) ++last;
    const std::size_t begin = first == 0 ? 0 : points[first - 1].index;
    const std::size_t end = last == points.size() ? series.size() : points[last].index;
    const auto group = std::span(points).subspan(first, last - first);
    if (const auto creep = as_creep(series, group, begin, end)) {
      changes.push_back(*creep);
      continue;
    }
    for (const ChangePoint& p : group) changes.push_back({ChangeKind::step, p.index, p.index, p.before, p.after, p.p_value});
  }
  return changes;
}

}  // namespace epochbench
