#include "src/analysis/verify/agreement.h"

#include <algorithm>
#include <cmath>

#include "src/base/numbers.h"

namespace epochbench {

bool agree(double stated, double computed) {
  // Numbers are written with all their digits; other programs may round to seven.
  constexpr double kRounding = 1e-6;
  return std::fabs(stated - computed) <= kRounding * std::max(std::fabs(stated), std::fabs(computed));
}

std::string is_but(const char* key, double stated, const std::string& rule, double computed) {
  return std::string(key) + " is " + significant(stated, 4) + ", but " + rule + " is " + significant(computed, 4);
}

std::string unless_equal(const char* key, const std::optional<double>& stated, const std::string& rule,
                         const std::optional<double>& computed) {
  return !stated || !computed || std::isnan(*stated) || agree(*stated, *computed) ? "" : is_but(key, *stated, rule, *computed);
}

}  // namespace epochbench
