#include "src/analysis/series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace epochbench {
namespace {

// Settings of a name that say how and where the work ran, not which work it is: placement, peers' own, and what Workload has.
constexpr std::array<std::string_view, 10> kNoWork{"bind", "compile", "data",    "device", "mode",
                                                   "pin",  "seed",    "threads", "wait",   "warmup"};

// "/dropout=0/order=sequential" of "m/cpu/fp32/b8/dropout=0/order=sequential/threads=1". Values may hold slashes of their own,
// those of data=idx:DIR; what follows such a slash without an equals sign belongs to the value.
std::string settings_of(const std::string& name) {
  std::string settings;
  bool kept = false;
  std::size_t begin = 0;
  for (int part = 0; begin != std::string::npos; ++part) {
    const std::size_t end = name.find('/', begin == 0 ? 0 : begin + 1);
    const std::string text = name.substr(begin, end == std::string::npos ? end : end - begin);
    begin = end;
    if (part < 4) continue;  // model, backend, precision, batch
    const auto equals = text.find('=');
    if (equals != std::string::npos) {
      const std::string_view key = std::string_view(text).substr(1, equals - 1);
      kept = std::find(kNoWork.begin(), kNoWork.end(), key) == kNoWork.end();
    }
    if (kept) settings += text;
  }
  return settings;
}

std::string machine_of(const NamedResult& source) {
  const Context& context = source.result.context;
  return context.host_name ? *context.host_name + "\n" + context.cpu.model : source.path;
}

std::string origin_of(const NamedResult& source) {
  const Context& context = source.result.context;
  return machine_of(source) + "\n" + context.epochbench_version + "\n" + context.git_sha.value_or("");
}

std::string why_useless(const Run& run) {
  if (run.status != RunStatus::ok) {
    std::string status = name(run.status);
    std::replace(status.begin(), status.end(), '_', ' ');
    return status + (run.message ? ": " + *run.message : "");
  }
  if (run.device.backend == "reference") return "the reference backend is an oracle for tests, and its time says nothing";
  const double rate = run.throughput ? run.throughput->samples_per_second : 0;
  return std::isfinite(rate) && rate > 0 ? "" : "it has no throughput above 0";
}

bool same_measurement(const Run& a, const Run& b) {
  return a.repetition == b.repetition && a.timing && b.timing && !a.timing->step_seconds.empty() &&
         a.timing->step_seconds == b.timing->step_seconds && a.timing->wall_seconds == b.timing->wall_seconds;
}

bool belongs(const Series& series, const std::string& origin, const Run& run) {
  const Run& first = series.first();
  return series.origin == origin && first.name == run.name && first.device.backend == run.device.backend &&
         first.device.name == run.device.name && first.precision == run.precision && same_work(first.workload, run.workload);
}

}  // namespace

bool same_work(const Workload& a, const Workload& b) {
  return a.fingerprint == b.fingerprint && a.mode == b.mode && a.dataset == b.dataset && a.seed == b.seed;
}

std::vector<double> Series::samples_per_second() const {
  std::vector<double> rates;
  for (const Run* run : runs) rates.push_back(run->throughput->samples_per_second);
  return rates;
}

double Series::rate() const {
  double logs = 0;
  for (const double rate : samples_per_second()) logs += std::log(rate) / static_cast<double>(runs.size());
  return std::exp(logs);
}

bool Series::on_gpu() const {
  return first().device.backend == "cuda" || (first().device.backend == "pytorch" && !first().device.threads);
}

AllSeries series_of(const std::vector<NamedResult>& results) {
  AllSeries all;
  for (std::size_t file = 0; file < results.size(); ++file) {
    const NamedResult& source = results[file];
    const std::string origin = origin_of(source);
    for (const Run& run : source.result.runs) {
      if (const std::string reason = why_useless(run); !reason.empty()) {
        all.left_out.push_back({&run, &source, reason});
        continue;
      }
      auto found = std::find_if(all.series.begin(), all.series.end(),
                                [&](const Series& series) { return belongs(series, origin, run); });
      if (found == all.series.end()) {
        all.series.push_back({{&run},
                              &source,
                              file,
                              source.result.context.host_name.has_value(),
                              machine_of(source),
                              origin,
                              settings_of(run.name)});
      } else if (std::any_of(found->runs.begin(), found->runs.end(),
                             [&](const Run* other) { return same_measurement(*other, run); })) {
        all.left_out.push_back({&run, &source, "the same measurement stands in " + found->source->path});
      } else {
        found->runs.push_back(&run);
      }
    }
  }
  return all;
}

}  // namespace epochbench
