#include "src/analysis/sweep/scaling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "src/analysis/series.h"
#include "src/base/numbers.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

// 95 % ends at the 50th draw from either side: stable to a few percent of the interval, in milliseconds.
constexpr int kDraws = 2000;
constexpr std::uint64_t kDrawsSeed = 0;

// One element per point.
using Column = std::vector<double>;

double dot(const Column& a, const Column& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void subtract(Column& from, double factor, const Column& column) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= factor * column[i];
}

struct LeastSquares {
  std::vector<double> coefficients;  // one per column
  double sum_of_squares = 0;
};

// By modified Gram-Schmidt on the columns and the target together (Björck, "Solving linear least squares problems by
// Gram-Schmidt orthogonalization", BIT 7, 1967). Precondition: the columns are independent.
LeastSquares least_squares(std::vector<Column> columns, Column target) {
  const std::size_t n = columns.size();
  std::array<std::array<double, 3>, 3> r{};
  std::array<double, 3> along{};
  for (std::size_t i = 0; i < n; ++i) {
    r[i][i] = std::sqrt(dot(columns[i], columns[i]));
    for (double& x : columns[i]) x /= r[i][i];
    for (std::size_t j = i + 1; j < n; ++j) subtract(columns[j], r[i][j] = dot(columns[i], columns[j]), columns[i]);
    subtract(target, along[i] = dot(columns[i], target), columns[i]);
  }
  LeastSquares solution{std::vector<double>(n), dot(target, target)};
  for (std::size_t i = n; i-- > 0;) {
    double rest = along[i];
    for (std::size_t j = i + 1; j < n; ++j) rest -= r[i][j] * solution.coefficients[j];
    solution.coefficients[i] = rest / r[i][i];
  }
  return solution;
}

// The law's parameters over a, as a sum of squares finds them.
struct Solution {
  double one = 0, sigma = 0, kappa = 0;  // 1 / a, sigma / a, kappa / a
  double sum_of_squares = std::numeric_limits<double>::infinity();
};

// The minimum is inside one of the faces that the bounds 0 <= sigma <= 1 and kappa >= 0 leave, where it is that face's own
// minimum: so the result is the best of all faces' minima that satisfy the bounds.
Solution solve(std::span<const CoresRate> points, ScalingLaw law) {
  enum Bound { kNone, kZero, kOne };
  Column target(points.size(), 1), share, waiting, serial, coherence;
  for (const auto& [cores, rate] : points) {
    const double weight = rate / cores;
    share.push_back(weight);
    waiting.push_back(weight * (cores - 1));
    serial.push_back(weight * cores);  // sigma 1
    coherence.push_back(weight * cores * (cores - 1));
  }
  Solution best;
  for (const Bound bound : {kNone, kZero, kOne})
    for (const bool coherent : {true, false}) {
      if (coherent && law == ScalingLaw::amdahl) continue;
      std::vector<Column> columns{bound == kOne ? serial : share};
      if (bound == kNone) columns.push_back(waiting);
      if (coherent) columns.push_back(coherence);
      const auto [coefficients, sum_of_squares] = least_squares(columns, target);
      const double one = coefficients[0];
      const double sigma = bound == kNone ? coefficients[1] : bound == kOne ? one : 0;
      const double kappa = coherent ? coefficients.back() : 0;
      const bool keeps_to_bounds = one > 0 && sigma >= 0 && sigma <= one && kappa >= 0;
      if (keeps_to_bounds && sum_of_squares < best.sum_of_squares) best = {one, sigma, kappa, sum_of_squares};
    }
  return best;
}

void fill_highest(ScalingFit& fit) {
  if (fit.kappa > 0) {
    fit.cores_at_highest = std::max(1.0, std::sqrt((1 - fit.sigma) / fit.kappa));
    fit.highest_rate = rate_of(fit, *fit.cores_at_highest);
  } else if (fit.sigma > 0) {
    fit.highest_rate = fit.one_core_rate / fit.sigma;  // approached
  }
}

ScalingFit make_fit(const Solution& solution, std::size_t points, ScalingLaw law) {
  ScalingFit fit;
  fit.law = law;
  fit.one_core_rate = 1 / solution.one;
  fit.sigma = solution.sigma / solution.one;
  fit.kappa = solution.kappa / solution.one;
  fit.residual = std::sqrt(solution.sum_of_squares / static_cast<double>(points));
  fill_highest(fit);
  return fit;
}

// The engine's numbers are the same everywhere; the standard library's distributions are not.
class Draws {
 public:
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::acos(-1.0) * uniform()); }
  double chi_squared(int degrees) {
    double sum = 0;
    for (int i = 0; i < degrees; ++i) sum += std::pow(normal(), 2);
    return sum;
  }
  double mean_of_resample(std::span<const double> values) {
    std::vector<double> sample;
    for (std::size_t i = 0; i < values.size(); ++i)
      sample.push_back(values[static_cast<std::size_t>(uniform() * static_cast<double>(values.size()))]);
    return geometric_mean(sample);
  }

 private:
  std::mt19937_64 engine_{kDrawsSeed};
};

std::optional<double> finite(double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; }

std::string why_never(const ScalingFit& fit) {
  const std::string highest = short_number(*fit.highest_rate / fit.one_core_rate, 3) + " times one core";
  return fit.cores_at_highest ? "the law never reaches it: it peaks at " + highest + ", with " +
                                    short_number(*fit.cores_at_highest, 3) + " cores"
                              : "the law never reaches it: any number of cores stays below " + highest;
}

}  // namespace

ScalingFit fit_scaling(std::span<const CoresRate> points, ScalingLaw law) {
  return make_fit(solve(points, law), points.size(), law);
}

double rate_of(const ScalingFit& fit, double cores) {
  return fit.one_core_rate * cores / (1 + fit.sigma * (cores - 1) + fit.kappa * cores * (cores - 1));
}

std::optional<double> cores_for(const ScalingFit& fit, double rate) {
  if (rate <= fit.one_core_rate) return rate / fit.one_core_rate;
  // rate (1 + sigma (N - 1) + kappa N (N - 1)) = a N, as square N^2 + linear N + constant = 0.
  const double square = rate * fit.kappa, linear = rate * (fit.sigma - fit.kappa) - fit.one_core_rate;
  const double constant = rate * (1 - fit.sigma), discriminant = linear * linear - 4 * square * constant;
  if (linear >= 0 || discriminant < 0 || constant <= 0) return std::nullopt;
  return 2 * constant / (-linear + std::sqrt(discriminant));  // the smaller root, also where square is 0
}

CoresNeeded cores_needed(std::span<const CoresRate> points, ScalingLaw law, const std::string& contender,
                         std::span<const double> contender_rates) {
  const Solution solution = solve(points, law);
  const ScalingFit fit = make_fit(solution, points.size(), law);
  CoresNeeded needed{fit.law, contender, geometric_mean(contender_rates), {}, {}, {}};
  needed.cores = cores_for(fit, needed.contender_rate);

  const int degrees = static_cast<int>(points.size()) - (law == ScalingLaw::amdahl ? 2 : 3);
  Draws draws;
  std::vector<double> cores;
  for (int draw = 0; draw < kDraws; ++draw) {
    const double spread = std::sqrt(solution.sum_of_squares / draws.chi_squared(degrees));
    std::vector<CoresRate> drawn(points.begin(), points.end());
    for (CoresRate& point : drawn) point.rate = rate_of(fit, point.cores) * std::exp(spread * draws.normal());
    const ScalingFit other = make_fit(solve(drawn, law), drawn.size(), law);
    cores.push_back(
        cores_for(other, draws.mean_of_resample(contender_rates)).value_or(std::numeric_limits<double>::infinity()));
  }
  std::ranges::sort(cores);
  constexpr std::size_t kTail = kDraws / 40;  // 2.5 %
  needed.cores_ci95.first = finite(cores[kTail - 1]);
  needed.cores_ci95.second = finite(cores[kDraws - kTail]);
  if (!needed.cores)
    needed.reason = why_never(fit);
  else if (!needed.cores_ci95.second)
    needed.reason = "the interval is open: within the fit's uncertainty the law may never reach it";
  return needed;
}

ScalingAnswer scaling_of(const Curve& threads, const Result& result) {
  ScalingAnswer answer{threads.name, 0, 0, {}, {}, {}};
  std::vector<CoresRate> points;
  for (const CurvePoint& point : threads.points) {
    if (point.rates.empty()) continue;
    points.push_back({static_cast<double>(point.value), point.rate()});
    answer.max_cores = point.value;
  }
  answer.points = static_cast<int>(points.size());
  if (answer.points < kMinScalingPoints) {
    answer.reason = "too few points: " + std::to_string(answer.points) + ", at least " + std::to_string(kMinScalingPoints);
    return answer;
  }
  for (const ScalingLaw law : {ScalingLaw::amdahl, ScalingLaw::usl}) answer.fits.push_back(fit_scaling(points, law));
  const Workload& work = threads.points.front().runs.front()->workload;
  const std::vector<RunGroup> contenders = runs_by_case(result.runs, [&](const Run& run) {
    return run.status == RunStatus::ok && run.device.backend == BackendKind::cuda && same_work(run.workload, work) &&
           kThroughput.value(run).value_or(0) > 0;
  });
  for (const RunGroup& contender : contenders) {
    const std::vector<double> rates = values_of(contender.runs, kThroughput);
    for (const ScalingLaw law : {ScalingLaw::amdahl, ScalingLaw::usl})
      answer.extrapolations.push_back(cores_needed(points, law, contender.name, rates));
  }
  if (contenders.empty()) answer.reason = "no GPU did the same work in this result, so there is none to equal";
  return answer;
}

}  // namespace epochbench
