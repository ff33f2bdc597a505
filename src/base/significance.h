// Student's t distribution, as far as 95 % intervals and tests of two means need it, and several tests that share one error.
#pragma once

#include <span>
#include <vector>

namespace epochbench {

// The quantile at 97.5 %: half of a 95 % interval, in standard errors. 12.706 for 1 degree of freedom, 1.960 for infinitely
// many; degrees need not be whole. Precondition: at least 1.
double student_t_975(double degrees_of_freedom);

// The probability of a t at least this far from 0, to either side; exact to 1e-5 of itself, however small it is.
// Precondition: at least 1 degree of freedom.
double student_t_two_sided_p(double t, double degrees_of_freedom);

struct Rejections {
  std::vector<bool> rejected;  // one per p-value
  double level = 0;            // which the smallest p-value that was not rejected had to reach; if all were, that of the last
};

// Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979: the smallest
// p-value is compared with error / n, the next with error / (n - 1), and so on until one is above. Whatever the dependence
// between the tests, the probability of rejecting any true hypothesis is at most `error`.
Rejections holm(std::span<const double> p_values, double error);

}  // namespace epochbench
