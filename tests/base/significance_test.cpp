// Student's t against tables and closed forms, and Holm's procedure.
#include "src/base/significance.h"

#include <cmath>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

namespace epochbench {
namespace {

using testing::ElementsAre;

TEST(StudentT, AgreesWithTables) {
  const std::pair<double, double> table[] = {{1, 12.7062}, {1.5, 6.0167}, {2, 4.3027},  {4, 2.7764},
                                             {8, 2.3060},  {18, 2.1009},  {120, 1.9799}};
  for (const auto& [degrees, quantile] : table) EXPECT_NEAR(student_t_975(degrees), quantile, 5e-5) << degrees;
  EXPECT_NEAR(student_t_975(1e6), 1.959966, 1e-6);
  EXPECT_NEAR(student_t_975(1e9), 1.959964, 1e-6);
}

// Against closed forms: 1 - 2/pi atan(t) for 1 degree of freedom, 1 - t / sqrt(2 + t^2) for 2, and the normal distribution's.
TEST(StudentT, HasTheTailOfItsClosedForms) {
  for (const double t : {0.0, 0.1, 1.0, 12.7, 1000.0}) {
    EXPECT_NEAR(student_t_two_sided_p(t, 1), 1 - std::atan(t) * 2 / 3.14159265358979323846, 1e-9) << t;
    const double tail = 2 / (2 + t * t) / (1 + t / std::sqrt(2 + t * t));  // the same without canceling
    EXPECT_NEAR(student_t_two_sided_p(t, 2), tail, 1e-5 * tail) << t;
    EXPECT_EQ(student_t_two_sided_p(-t, 7), student_t_two_sided_p(t, 7)) << t;
  }
  for (const double degrees : {1.0, 4.0, 30.0, 1000.0})
    EXPECT_NEAR(student_t_two_sided_p(student_t_975(degrees), degrees), 0.05, 1e-6) << degrees;
  for (const double t : {0.01, 1.0, 3.2905, 8.0}) {
    const double tail = std::erfc(t / std::sqrt(2.0));
    EXPECT_NEAR(student_t_two_sided_p(t, 1e9), tail, 1e-5 * tail) << t;
  }
}

TEST(Holm, ComparesEachWithWhatTheSmallerLeave) {
  const std::vector<double> p_values{0.01, 0.04, 0.03, 0.005};
  const Rejections rejections = holm(p_values, 0.05);  // against 0.0125, 0.0167, and 0.025, which fails
  EXPECT_THAT(rejections.rejected, ElementsAre(true, false, false, true));
  EXPECT_DOUBLE_EQ(rejections.level, 0.025);
  EXPECT_THAT(holm(std::vector<double>{0.02}, 0.02).rejected, ElementsAre(true));
  EXPECT_THAT(holm(std::vector<double>{0.03, 0.0251}, 0.05).rejected, ElementsAre(false, false));  // 0.03 waits for the other
  EXPECT_TRUE(holm({}, 0.05).rejected.empty());
}

}  // namespace
}  // namespace epochbench
