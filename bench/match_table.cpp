#include "bench/match_table.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

namespace epochbench::bench {
namespace {

constexpr int kContestantWidth = 22;

std::string text_of(const Estimate& e, const char* format) {
  char text[96];
  std::snprintf(text, sizeof text, format, e.median, e.interval.first, e.interval.second);
  return text;
}

void print_line(const std::string& contestant, const std::string& figures) {
  std::printf("  %-*s %s\n", kContestantWidth, contestant.c_str(), figures.c_str());
  std::fflush(stdout);
}

std::string percent(double fraction) {
  char text[32];
  std::snprintf(text, sizeof text, "%6.1f %%", 100 * fraction);
  return text;
}

std::string giga(double rate) {
  char text[32];
  std::snprintf(text, sizeof text, "%8.1f", 1e-9 * rate);
  return text;
}

std::string cores_of(const Rounds& cores) {
  char text[32];
  std::snprintf(text, sizeof text, "%5.2f", estimate(cores).median);
  return text;
}

// How much faster ours is than theirs.
std::string ratio(const Rounds& ours_seconds, const Rounds& their_seconds) {
  return text_of(estimate(quotients(their_seconds, ours_seconds)), "%9.3f [%.3f, %.3f]");
}

Rounds fractions(const Played& played, std::size_t contestant, bool of_one) {
  return quotients(rates(played.work.flops, played.seconds[contestant]), played.peaks[of_one ? 1 : 0]);
}

}  // namespace

void MatchTable::begin(const std::string& path, const std::string& precision, int threads, int rounds) {
  std::printf("# %s, %s, threads: %d, rounds: %d; memory %.1f GB/s. of peak: of the %s bursts in the same rounds.\n",
              path.c_str(), precision.c_str(), threads, rounds, 1e-9 * bytes_per_second, precision.c_str());
  std::printf(
      "# roofline: of min(peak, FLOPs a byte x memory), each operand moved once. ratio: how much faster ours is [95 %%].\n");
  print_line("", "cores  GFLOP/s  of peak  roofline     ratio");
}

void MatchTable::add(Played played) {
  const double peak = estimate(played.peaks.front()).median;
  const double limit = roofline(played.work.flops, played.bytes, peak, bytes_per_second);
  std::printf("%s\n", played.work.name.c_str());
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    if (played.seconds[i].empty()) continue;
    const bool of_one = one_thread_last && i + 1 == contestants.size();
    const Rounds rate = rates(played.work.flops, played.seconds[i]);
    std::string figures =
        cores_of(played.cores[i]) + giga(estimate(rate).median) + " " + percent(estimate(fractions(played, i, of_one)).median);
    if (of_one) {
      const Rounds gain = scaling(played.seconds[0], played.seconds[i], played.peaks[0], played.peaks[1]);
      figures += "  threads gain " + text_of(estimate(gain), "%.3f [%.3f, %.3f] of the peak's gain");
    } else {
      figures += "  " + percent(estimate(rate).median / limit);
      if (i > 0) figures += " " + ratio(played.seconds[0], played.seconds[i]);
    }
    print_line(contestants[i], figures);
  }
  works_.push_back(std::move(played));
}

void MatchTable::print_whole(const std::string& name, const std::vector<const Played*>& works) const {
  std::printf("%s, geometric mean\n", name.c_str());
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    const bool of_one = one_thread_last && i + 1 == contestants.size();
    std::vector<std::vector<Rounds>> rate, fraction, gain, ratio, seconds;
    std::vector<double> counts;
    double worst = std::numeric_limits<double>::infinity();
    for (const Played* played : works) {
      if (played->seconds[i].empty()) continue;
      counts.push_back(static_cast<double>(played->work.count));
      rate.push_back({rates(played->work.flops, played->seconds[i])});
      fraction.push_back({fractions(*played, i, of_one)});
      worst = std::min(worst, median(fraction.back().front()));
      seconds.push_back({played->seconds[0], played->seconds[i]});
      ratio.push_back({quotients(played->seconds[i], played->seconds[0])});
      if (of_one) gain.push_back({scaling(played->seconds[0], played->seconds[i], played->peaks[0], played->peaks[1])});
    }
    if (counts.empty()) continue;
    std::string figures = std::string(5, ' ') + giga(summarize(rate, &geometric_mean).median) + " " +
                          percent(summarize(fraction, &geometric_mean).median) + "  worst " + percent(worst);
    if (of_one)
      figures += "  threads gain " + text_of(summarize(gain, &geometric_mean), "%.3f [%.3f, %.3f] of the peak's gain");
    else if (i > 0)
      figures += " " + text_of(summarize(ratio, &geometric_mean), "%9.3f [%.3f, %.3f]");
    print_line(contestants[i], figures);
    if (of_one) continue;
    const auto their_total = [&](const Medians& medians) { return total(medians, counts, 1); };
    const auto ratio_of = [&](const Medians& medians) { return ratio_of_totals(medians, counts); };
    figures = text_of(summarize(seconds, their_total), "     total %.4f s [%.4f, %.4f] ");
    if (i > 0) figures += text_of(summarize(seconds, ratio_of), "%9.3f [%.3f, %.3f]");
    print_line("", figures);
  }
}

void MatchTable::end() const {
  std::vector<const Played*> products, convolutions, passes[3];
  for (const Played& played : works_) {
    if (played.work.gemm) {
      products.push_back(&played);
      continue;
    }
    convolutions.push_back(&played);
    passes[static_cast<std::size_t>(played.work.pass)].push_back(&played);
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
