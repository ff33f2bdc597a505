// Whether a number of a file is the one that follows from others, and how a contradiction is said.
#pragma once

#include <optional>
#include <string>

namespace epochbench {

// Both but for rounding.
bool agree(double stated, double computed);
inline bool exceeds(double a, double b) { return a > b && !agree(a, b); }

// "samples_per_second is 130, but batch × steps / total time is 13"
std::string is_but(const char* key, double stated, const std::string& rule, double computed);
// "" if they agree or one is not known; an unknown number that has to be there is NaN.
std::string unless_equal(const char* key, const std::optional<double>& stated, const std::string& rule,
                         const std::optional<double>& computed);

}  // namespace epochbench
