// The page's curves: rate against batch, width, samples or threads, with what src/analysis says of each.
#include <algorithm>
#include <map>
#include <set>

#include "src/analysis/sweep/curves.h"
#include "src/analysis/sweep/sweep_answers.h"
#include "src/base/statistics.h"
#include "src/report/html/page_parts.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

constexpr std::size_t kFewestPoints = 3;  // fewer show no curve
// Of one result and axis: every pair of curves is compared, and nobody reads the crossings of more.
constexpr std::size_t kMostCurves = 50;

Json point_json(const CurvePoint& point) {
  const Estimate rate = geometric_mean_estimate(point.rates);
  Json json = {{"value", point.value},
               {"rate", page_number(rate.value)},
               {"ci95", page_interval(rate.ci95)},
               {"repetitions", point.rates.size()},
               {"cost", point.usd.empty() ? Json(nullptr) : page_number(geometric_mean(point.usd))},
               {"status", nullptr},
               {"message", nullptr}};
  if (!point.rates.empty()) return json;
  json["status"] = name(point.runs.front()->status);
  if (point.runs.front()->message) json["message"] = *point.runs.front()->message;
  return json;
}

Json curve_json(const Curve& curve) {
  Json points = Json::array();
  for (const CurvePoint& point : curve.points) points.push_back(point_json(point));
  return {{"name", curve.name}, {"device", curve.device}, {"precision", curve.precision}, {"points", points}};
}

// Of the answers those of the curves in `names`.
Json answers_about(const Json& answers, const std::set<std::string>& names) {
  const auto known = [&](const Json& entry, const char* key) { return names.contains(entry[key].get<std::string>()); };
  Json about = Json::object();
  for (const char* key : {"best", "flattens_at", "crossover", "no_crossover", "scaling"}) {
    about[key] = Json::array();
    for (const Json& entry : answers[key])  // none where it is null
      if (entry.contains("curve") ? known(entry, "curve") : known(entry, "baseline") && known(entry, "contender"))
        about[key].push_back(entry);
  }
  return about;
}

void add_axis(Json& sweeps, const NamedResult& named, Axis axis) {
  std::vector<Curve> curves = curves_of(named.result, axis);
  std::erase_if(curves, [](const Curve& curve) { return curve.points.size() < kFewestPoints; });
  if (curves.empty()) return;
  const std::size_t all = curves.size();
  curves.resize(std::min(all, kMostCurves));
  std::map<std::string, std::vector<const Curve*>> works;
  for (const Curve& curve : curves) works[curve.work].push_back(&curve);

  const Json answers = json_of(answers_of(curves, named.result, axis));
  for (const auto& [work, members] : works) {
    Json sweep = {{"file", named.path}, {"work", work}, {"over", name(axis)}, {"measure", measure_of(axis)}};
    sweep["curves"] = Json::array();
    std::set<std::string> names;
    for (const Curve* curve : members) {
      sweep["curves"].push_back(curve_json(*curve));
      names.insert(curve->name);
    }
    sweep["answers"] = answers_about(answers, names);
    sweep["curves_left_out"] = all - curves.size();
    sweeps.push_back(sweep);
  }
}

}  // namespace

void add_sweeps(Json& data, const std::vector<NamedResult>& results) {
  data["sweeps"] = Json::array();
  for (const NamedResult& named : results)
    for (const Axis axis : {Axis::batch, Axis::width, Axis::samples, Axis::threads}) add_axis(data["sweeps"], named, axis);
}

}  // namespace epochbench
