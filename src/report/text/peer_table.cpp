// The table of `interleave`: how many times as long as epochbench the peers take.
#include <algorithm>
#include <cstdio>
#include <map>

#include "src/base/json_fields.h"
#include "src/base/text.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

std::string shown(const std::optional<double>& value, const char* format, double scale = 1) {
  if (!value) return "-";
  char text[64];
  std::snprintf(text, sizeof text, format, *value * scale);
  return text;
}

// At most 100 %: Winograd multiplies less than is counted.
std::string share_of_peak(const std::optional<double>& fraction) {
  return shown(fraction ? std::optional(std::min(*fraction, 1.0)) : std::nullopt, "%.1f %%", 100);
}

std::string spread_text(const PeerRow& row, Spread spread) {
  if (!row.ratio || row.ratio->spread != spread) return "";
  return shown(row.ratio->interval.first, "%.3f") + " to " + shown(row.ratio->interval.second, "%.3f");
}

// One line per precision and number of threads.
std::string peak_lines(const std::vector<PeerRow>& rows) {
  std::map<std::pair<std::string, int>, std::pair<double, double>> peaks;
  for (const PeerRow& row : rows) {
    if (!row.peak_flops_per_second) continue;
    const double peak = *row.peak_flops_per_second;
    const auto [found, added] = peaks.try_emplace({name(row.precision), row.threads.value_or(0)}, peak, peak);
    if (!added) found->second = {std::min(found->second.first, peak), std::max(found->second.second, peak)};
  }
  std::string lines;
  for (const auto& [key, range] : peaks) {
    const std::string low = shown(range.first, "%.1f", 1e-9), high = shown(range.second, "%.1f", 1e-9);
    lines += "peak: " + (low == high ? low : low + " to " + high) + " GFLOP/s in " + key.first + " with " +
             std::to_string(key.second) + (key.second == 1 ? " thread" : " threads") + ", the best burst between the turns\n";
  }
  return lines;
}

}  // namespace

std::string peer_table(const std::vector<PeerRow>& rows) {
  View table{"", columns("model|>batch|precision|worker|->samples/s|--->of the peak|->median|>ratio|>95 % "
                         "interval|-->range|--->groups|--->rounds")};
  std::string messages;
  for (const PeerRow& row : rows) {
    const bool fast = row.rate.value_or(0) >= 1000;
    table.rows.push_back({row.model, std::to_string(row.batch), name(row.precision), row.worker + load_mark(row.loaded),
                          shown(row.rate, fast ? "%.0f" : "%.4g"), share_of_peak(row.peak_fraction),
                          share_of_peak(row.peak_fraction_of_median_step), row.ratio ? shown(row.ratio->value, "%.3f") : "-",
                          spread_text(row, Spread::ci95), spread_text(row, Spread::range), std::to_string(row.groups),
                          std::to_string(row.rounds)});
    if (!row.message.empty())
      messages += row.model + ", " + name(row.precision) + ", " + row.worker + ": " + row.message + "\n";
  }
  return terminal_table(table) +
         "of the peak: by the time of all steps, and by the median of turns, which other jobs on this machine disturb less;\n"
         "at most 100 % is shown, since Winograd multiplies less than is counted\n"
         "ratio: a worker's time per step over epochbench's in the same round: the median of the rounds of each group of\n"
         "processes, and the geometric mean of groups; an interval takes 5 groups, below that it is a range\n" +
         peak_lines(rows) + messages;
}

Json peer_json(const std::vector<PeerRow>& rows) {
  Json list = Json::array();
  for (const PeerRow& row : rows) {
    const auto spread = [&](Spread kind) {
      return row.ratio && row.ratio->spread == kind ? Json(row.ratio->interval) : Json(nullptr);
    };
    list.push_back({{"model", row.model},
                    {"batch", row.batch},
                    {"precision", name(row.precision)},
                    {"threads", json_of(row.threads)},
                    {"contestant", row.worker},
                    {"repetitions", row.groups},
                    {"rounds", row.groups > 0 ? Json(row.rounds) : Json(nullptr)},
                    {kThroughput.key, json_of(row.rate)},
                    {"peak_flops_per_second", json_of(row.peak_flops_per_second)},
                    {"peak_fraction", json_of(row.peak_fraction)},
                    {"peak_fraction_of_median_step", json_of(row.peak_fraction_of_median_step)},
                    {"ratio", row.ratio ? Json(row.ratio->value) : Json(nullptr)},
                    {"ratio_ci95", spread(Spread::ci95)},
                    {"ratio_range", spread(Spread::range)},
                    {"message", text_or_null(row.message)}});
  }
  return list;
}

}  // namespace epochbench
