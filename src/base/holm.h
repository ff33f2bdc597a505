// Several tests that share one error: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
// Statistics 6, 1979.
#pragma once

#include <span>
#include <vector>

namespace epochbench {

struct Rejections {
  std::vector<bool> rejected;  // one a p-value
  double level = 0;            // that the smallest p-value that was not rejected had to reach; of none left: the last one's
};

// The smallest p-value is compared with error / n, the next with error / (n - 1), and so on until one is above. Whatever the
// dependence between the tests, the probability of rejecting any true hypothesis is at most `error`.
Rejections holm(std::span<const double> p_values, double error);

}  // namespace epochbench
