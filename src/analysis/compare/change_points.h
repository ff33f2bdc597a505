// Where a series of measurements changes its level permanently: E-divisive means with a t-test. Pure functions over numbers.
//
// A split is proposed where the two sides differ most by the energy statistic (Matteson and James, "A nonparametric approach
// for multiple change point analysis of multivariate data", Journal of the American Statistical Association 109, 2014), and
// kept if Student's t-test says that their means differ. The test replaces the permutations of the original, so the answer is
// the same every time (Fleming et al., "Hunter: using change point detection to hunt for performance regressions", ICPE 2023,
// arXiv 2301.03034). Splitting uses a lenient level; then the weakest splits are taken back until all that are left hold at the
// strict level, since a split hidden by another shows only once both are made.
//
// Points far from their neighbors, such as nights on which something else ran, are first replaced by their neighbors' median: a
// few of them would hide every change from a test of means. The rest is assumed to scatter independently about its level. The
// result deserves a look; it is not a proof.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace epochbench {

inline constexpr std::size_t kMinLevelPoints = 3;  // a level of one or two points is an outlier
inline constexpr std::size_t kMinPoints = 2 * kMinLevelPoints;
// Significance level of the t-test. The split is chosen where the sides differ most, so noise passes more often than this.
inline constexpr double kChangeLevel = 0.0001;
inline constexpr double kLenientLevel = 0.01;  // the same while other splits are still to be made
// Limit that bounds memory: 8 bytes × points².
inline constexpr std::size_t kMaxPoints = 2000;

struct ChangePoint {
  std::size_t index = 0;         // the first point of the new level
  double before = 0, after = 0;  // the means of the levels on both sides
  double p_value = 1;            // of the t-test between these two
};

// In the order of their indices. All numbers finite, and differences of less than 1e-6 are none: logarithms of times, so one in
// a million. How often they err: docs/statistics.md. Errors: std::invalid_argument for more than kMaxPoints.
std::vector<ChangePoint> change_points(std::span<const double> series);

enum class ChangeKind : unsigned char { step, creep };

// A change as it is reported: a step from one point to the next, or a creep, whose change points are one long rise or fall.
struct LevelChange {
  ChangeKind kind = ChangeKind::step;
  std::size_t begin = 0, end = 0;  // the first point that is off the old level, and the first on the new one (a step: the same)
  double before = 0, after = 0;
  double p_value = 1;
};

// Change points of one direction that follow each other are a creep where a straight line between two levels fits better than
// their steps do (by Schwarz's criterion, "Estimating the dimension of a model", Annals of Statistics 6, 1978); its begin is
// where the best such line leaves the old level, which no single change point shows.
std::vector<LevelChange> level_changes(std::span<const double> series);

}  // namespace epochbench
