#include "bench/comparison_table.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "src/base/statistics.h"

namespace epochbench::bench {
namespace {

constexpr int kNameWidth = 22;

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// "1.203 [1.180, 1.224]" of processes, "1.203 (1.101 to 1.342)" of rounds or too few processes.
std::string with_spread(const GroupEstimate& estimate, const char* format) {
  const auto text = [&](double value) { return formatted(format, value); };
  const auto [low, high] = estimate.interval;
  const std::string value = text(estimate.value);
  if (estimate.spread == Spread::ci95) return value + " [" + text(low) + ", " + text(high) + "]";
  return estimate.spread == Spread::range ? value + " (" + text(low) + " to " + text(high) + ")" : value;
}

std::string percent(double fraction) { return formatted("%6.1f %%", 100 * fraction); }
std::string giga(double rate) { return formatted("%8.1f", 1e-9 * rate); }

std::string gain_text(const GroupEstimate& gain) {
  return "  threads gain " + with_spread(gain, "%.3f") + " of the peak's gain";
}

void print_line(const std::string& name, const std::string& figures) {
  std::printf("  %-*s %s\n", kNameWidth, name.c_str(), figures.c_str());
  std::fflush(stdout);
}

Figure fractions(const Measured& measured, std::size_t library, bool of_one) {
  return quotient(rate(measured.work.flops, measured.seconds[library]), measured.peaks[of_one ? 1 : 0]);
}

Figure gain_of_threads(const Measured& measured, std::size_t library) {
  return scaling(measured.seconds[0], measured.seconds[library], measured.peaks[0], measured.peaks[1]);
}

}  // namespace

void ComparisonTable::begin(const std::string& path, const std::string& precision, int threads, int rounds,
                            int processes) const {
  std::printf(
      "# %s, %s, threads: %d, processes: %d, rounds: %d; memory %.1f GB/s. of peak: of the %s bursts in the same rounds.\n",
      path.c_str(), precision.c_str(), threads, processes, rounds, 1e-9 * bytes_per_second, precision.c_str());
  std::printf(
      "# roofline: of min(peak, FLOPs per byte x memory), each operand moved once. ratio: how many times as fast ours is,\n");
  std::printf("# [95 %% interval] over processes, of at least 5, or (range) of %s.\n", processes > 1 ? "processes" : "rounds");
  print_line("", "cores  GFLOP/s  of peak  roofline     ratio");
}

void ComparisonTable::add(Measured measured) {
  const double limit = roofline(measured.work.flops, measured.bytes, estimate(measured.peaks.front()).value, bytes_per_second);
  std::printf("%s\n", measured.work.name.c_str());
  for (std::size_t i = 0; i < libraries.size(); ++i) {
    if (measured.seconds[i].empty()) continue;
    const bool of_one = one_thread_last && i + 1 == libraries.size();
    const double speed = estimate(rate(measured.work.flops, measured.seconds[i])).value;
    std::string figures = formatted("%5.2f", estimate(measured.cores[i]).value) + giga(speed) + " " +
                          percent(estimate(fractions(measured, i, of_one)).value);
    if (of_one) {
      figures += gain_text(estimate(gain_of_threads(measured, i)));
    } else {
      figures += "  " + percent(speed / limit);
      if (i > 0) figures += "     " + with_spread(estimate(quotient(measured.seconds[i], measured.seconds[0])), "%.3f");
    }
    print_line(libraries[i], figures);
  }
  works_.push_back(std::move(measured));
}

void ComparisonTable::print_whole(const std::string& name, const std::vector<const Measured*>& works) const {
  std::printf("%s, geometric mean\n", name.c_str());
  for (std::size_t i = 0; i < libraries.size(); ++i) {
    const bool of_one = one_thread_last && i + 1 == libraries.size();
    std::vector<Figure> rates, shares, gains, ratios, both_seconds;  // the last: ours and theirs of each work
    std::vector<double> counts;
    double worst = std::numeric_limits<double>::infinity();
    for (const Measured* measured : works) {
      if (measured->seconds[i].empty()) continue;
      counts.push_back(static_cast<double>(measured->work.count));
      rates.push_back(rate(measured->work.flops, measured->seconds[i]));
      shares.push_back(fractions(*measured, i, of_one));
      worst = std::min(worst, estimate(shares.back()).value);
      both_seconds.push_back(measured->seconds[0]);
      both_seconds.push_back(measured->seconds[i]);
      ratios.push_back(quotient(measured->seconds[i], measured->seconds[0]));
      if (of_one) gains.push_back(gain_of_threads(*measured, i));
    }
    if (counts.empty()) continue;
    std::string figures = std::string(5, ' ') + giga(estimate(rates, geometric_mean).value) + " " +
                          percent(estimate(shares, geometric_mean).value) + "  worst " + percent(worst);
    if (of_one)
      figures += gain_text(estimate(gains, geometric_mean));
    else if (i > 0)
      figures += "     " + with_spread(estimate(ratios, geometric_mean), "%.3f");
    print_line(libraries[i], figures);
    if (of_one) continue;
    const auto total = [&](const std::vector<double>& medians, std::size_t of) {
      double sum = 0;
      for (std::size_t work = 0; work < counts.size(); ++work) sum += counts[work] * medians[2 * work + of];
      return sum;
    };
    const auto theirs = [&](const std::vector<double>& medians) { return total(medians, 1); };
    const auto ratio = [&](const std::vector<double>& medians) { return total(medians, 1) / total(medians, 0); };
    figures = "     total " + with_spread(estimate(both_seconds, theirs), "%.4f s");
    if (i > 0) figures += "     " + with_spread(estimate(both_seconds, ratio), "%.3f");
    print_line("", figures);
  }
}

void ComparisonTable::end() const {
  std::vector<const Measured*> products, convolutions, passes[3];
  for (const Measured& measured : works_) {
    if (measured.work.gemm) {
      products.push_back(&measured);
      continue;
    }
    convolutions.push_back(&measured);
    passes[static_cast<std::size_t>(measured.work.pass)].push_back(&measured);
  }
  std::printf("#\n");
  if (!products.empty()) print_whole(std::to_string(products.size()) + " products", products);
  if (convolutions.empty()) return;
  const char* const names[] = {"forward", "grad_input", "grad_weight"};
  for (std::size_t pass = 0; pass < 3; ++pass)
    if (!passes[pass].empty()) print_whole(names[pass], passes[pass]);
  print_whole("convolutions", convolutions);
}

}  // namespace epochbench::bench
