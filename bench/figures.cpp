#include "bench/figures.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "src/base/statistics.h"

namespace epochbench::bench {

Figure quotient(const Figure& left, const Figure& right) {
  if (left.size() != right.size()) throw std::invalid_argument("figures of different numbers of processes");
  Figure result = left;
  for (std::size_t process = 0; process < left.size(); ++process) {
    if (left[process].size() != right[process].size()) throw std::invalid_argument("figures of different numbers of rounds");
    for (std::size_t round = 0; round < left[process].size(); ++round) result[process][round] /= right[process][round];
  }
  return result;
}

Figure rate(double work, const Figure& seconds) {
  Figure result = seconds;
  for (std::vector<double>& rounds : result)
    for (double& value : rounds) value = work / value;
  return result;
}

GroupEstimate estimate(const std::vector<Figure>& figures, const Combine& combine) {
  std::vector<double> of_process;
  for (std::size_t process = 0; process < figures.front().size(); ++process) {
    std::vector<double> medians;
    for (const Figure& figure : figures) medians.push_back(median(figure.at(process)));
    of_process.push_back(combine(medians));
  }
  return estimate_of_groups(of_process);
}

Figure scaling(const Figure& seconds, const Figure& seconds_of_one, const Figure& peaks, const Figure& peaks_of_one) {
  return quotient(quotient(seconds_of_one, seconds), quotient(peaks, peaks_of_one));
}

double roofline(double flops, double bytes, double peak_flops_per_second, double bytes_per_second) {
  return std::min(peak_flops_per_second, flops / (bytes / bytes_per_second));
}

}  // namespace epochbench::bench
