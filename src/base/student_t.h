// Student's t distribution, as far as 95 % intervals and tests of two means need it.
#pragma once

namespace epochbench {

// The quantile at 97.5 %: half of a 95 % interval, in standard errors. 12.706 for 1 degree of freedom, 1.960 for infinitely
// many; degrees need not be whole. Precondition: at least 1.
double student_t_975(double degrees_of_freedom);

// The probability of a t at least this far from 0, to either side; exact to 1e-5 of itself, however small it is.
// Precondition: at least 1 degree of freedom.
double student_t_two_sided_p(double t, double degrees_of_freedom);

}  // namespace epochbench
