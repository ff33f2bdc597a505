#include "src/result/sweep_json.h"

#include <limits>

namespace epochbench {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
template <typename T>
Json or_null(const std::optional<std::pair<T, T>>& ends) {
  return ends ? Json::array({ends->first, ends->second}) : Json(nullptr);
}
template <typename T>
Json list(const std::vector<T>& values, Json (*to_json)(const T&)) {
  Json all = Json::array();
  for (const T& value : values) all.push_back(to_json(value));
  return all;
}

Json best_json(const CurveBest& b) {
  return {{"curve", b.curve},           {"device", b.device},      {"precision", b.precision},
          {"value", or_null(b.value)},  {"rate", or_null(b.rate)}, {"indistinguishable", or_null(b.indistinguishable)},
          {"reason", or_null(b.reason)}};
}

Json flattening_json(const CurveFlattening& f) {
  return {{"curve", f.curve},          {"device", f.device},        {"precision", f.precision},
          {"value", or_null(f.value)}, {"range", or_null(f.range)}, {"reason", or_null(f.reason)}};
}

Json crossing_json(const Crossing& c) {
  return {{"baseline", c.baseline},
          {"contender", c.contender},
          {"in", c.in},
          {"value", or_null(c.value)},
          {"between", or_null(c.between)},
          {"ci95", or_null(c.ci95)},
          {"better_above", or_null(c.better_above)},
          {"reason", or_null(c.reason)}};
}

Json fit_json(const ScalingFit& f) {
  return {{"law", f.law},
          {"one_core_rate", f.one_core_rate},
          {"sigma", f.sigma},
          {"kappa", f.kappa},
          {"residual", f.residual},
          {"highest_rate", or_null(f.highest_rate)},
          {"cores_at_highest", or_null(f.cores_at_highest)}};
}

Json cores_json(const CoresNeeded& n) {
  return {{"law", n.law},
          {"contender", n.contender},
          {"contender_rate", n.contender_rate},
          {"cores", or_null(n.cores)},
          {"cores_ci95", Json::array({or_null(n.cores_low), or_null(n.cores_high)})},
          {"reason", or_null(n.reason)}};
}

Json scaling_json(const ScalingAnswer& s) {
  return {{"curve", s.curve},
          {"points", s.points},
          {"most_cores_measured", s.most_cores},
          {"fits", list(s.fits, fit_json)},
          {"extrapolations", list(s.extrapolations, cores_json)},
          {"reason", or_null(s.reason)}};
}

template <typename T>
std::optional<std::pair<T, T>> pair_of(const JsonFields& fields, const char* key, const std::vector<T>& ends) {
  if (ends.size() != 2) throw FormatError(fields.path(key) + ": must have two numbers");
  return {{ends[0], ends[1]}};
}

std::optional<std::pair<std::int64_t, std::int64_t>> maybe_values(const JsonFields& f, const char* key) {
  return f.find(key) ? pair_of(f, key, f.integers(key)) : std::nullopt;
}

std::optional<std::pair<double, double>> maybe_interval(const JsonFields& f, const char* key) {
  return f.find(key) ? pair_of(f, key, f.numbers(key)) : std::nullopt;
}

CurveBest read_best(const JsonFields& f) {
  CurveBest b{f.text("curve"),        f.text("device"), f.text("precision"),   f.maybe_integer("value"),
              f.maybe_number("rate"), std::nullopt,     f.maybe_text("reason")};
  if (f.find("indistinguishable")) b.indistinguishable = f.integers("indistinguishable");
  return b;
}

CurveFlattening read_flattening(const JsonFields& f) {
  return {f.text("curve"),          f.text("device"),         f.text("precision"),
          f.maybe_integer("value"), maybe_values(f, "range"), f.maybe_text("reason")};
}

Crossing read_crossing(const JsonFields& f) {
  return {f.text("baseline"),           f.text("contender"),        f.text("in"),
          f.maybe_number("value"),      maybe_values(f, "between"), maybe_interval(f, "ci95"),
          f.maybe_text("better_above"), f.maybe_text("reason")};
}

ScalingFit read_fit(const JsonFields& f) {
  return {f.text("law"),
          f.number("one_core_rate"),
          f.number("sigma"),
          f.number("kappa"),
          f.number("residual"),
          f.maybe_number("highest_rate"),
          f.maybe_number("cores_at_highest")};
}

CoresNeeded read_cores(const JsonFields& f) {
  CoresNeeded n{f.text("law"), f.text("contender"), f.number("contender_rate"), f.maybe_number("cores"),
                std::nullopt,  std::nullopt,        f.maybe_text("reason")};
  const Json& ends = f.at("cores_ci95");
  if (!ends.is_array() || ends.size() != 2) throw FormatError(f.path("cores_ci95") + ": must have two ends");
  if (ends[0].is_number()) n.cores_low = ends[0].get<double>();
  if (ends[1].is_number()) n.cores_high = ends[1].get<double>();
  return n;
}

ScalingAnswer read_scaling(const JsonFields& f) {
  ScalingAnswer s;
  s.curve = f.text("curve");
  const std::int64_t points = f.integer("points");
  if (points < 0 || points > std::numeric_limits<int>::max()) throw FormatError(f.path("points") + ": out of range");
  s.points = static_cast<int>(points);
  s.most_cores = f.integer("most_cores_measured");
  for (const JsonFields& fit : f.groups("fits")) s.fits.push_back(read_fit(fit));
  for (const JsonFields& cores : f.groups("extrapolations")) s.extrapolations.push_back(read_cores(cores));
  s.reason = f.maybe_text("reason");
  return s;
}

}  // namespace

Json sweep_answers_to_json(const SweepAnswers& answers) {
  return {{"over", answers.over},
          {"measure", answers.measure},
          {"best", list(answers.best, best_json)},
          {"flattens_at", list(answers.flattens_at, flattening_json)},
          {"crossover", answers.crossover.empty() ? Json(nullptr) : list(answers.crossover, crossing_json)},
          {"no_crossover", list(answers.no_crossover, crossing_json)},
          {"scaling", list(answers.scaling, scaling_json)}};
}

SweepAnswers read_sweep_answers(const JsonFields& fields) {
  SweepAnswers answers;
  answers.over = fields.text("over");
  answers.measure = fields.text("measure");
  for (const JsonFields& f : fields.groups("best")) answers.best.push_back(read_best(f));
  for (const JsonFields& f : fields.groups("flattens_at")) answers.flattens_at.push_back(read_flattening(f));
  if (fields.find("crossover"))
    for (const JsonFields& f : fields.groups("crossover")) answers.crossover.push_back(read_crossing(f));
  for (const JsonFields& f : fields.groups("no_crossover")) answers.no_crossover.push_back(read_crossing(f));
  for (const JsonFields& f : fields.groups("scaling")) answers.scaling.push_back(read_scaling(f));
  return answers;
}

}  // namespace epochbench
