// epochbench reproduce: whether what a result says comes out again on this machine.
#include <algorithm>
#include <utility>

#include "src/analysis/speedup/speedup.h"
#include "src/analysis/verify/reproduction.h"
#include "src/base/files.h"
#include "src/base/json_fields.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/result_arguments.h"
#include "src/machine/environment.h"
#include "src/report/text/text_parts.h"
#include "src/report/view.h"
#include "src/session/complete_result.h"
#include "src/session/measuring.h"
#include "src/session/planned_case.h"

namespace epochbench {
namespace {

constexpr const char* kReproduceExamples = R"(Examples:
  epochbench reproduce hour.json                 ten minutes of its cases, on this machine
  epochbench reproduce hour.json --budget 30     more of them
  epochbench reproduce hour.json --dry-run       which cases these are; runs nothing

It measures the cheapest cases of a result again, those of its leading ratios first, each in 5 processes. A speed is compared as a
share of its roofline: the least that a step can take by the peak and bandwidth that were measured on its own machine, over what it
takes. A share or a ratio agrees if it is within 10 % here. On another CPU, in another build or with other kernels a difference
proves nothing, and the verdict says so.
Exit codes: 0 every figure agrees, or another machine or build explains the difference; 1 a figure differs; 2 the file is not a
result, or none of its cases can run here; 4 no figure could be decided.)";

constexpr int kRepetitions = static_cast<int>(kMinRepetitions);
constexpr double kPlannedShare = 0.9;  // of the budget; the rest is for peaks, and for cases that take longer than expected

struct ReproduceOptions {
  std::string file;
  double budget_minutes = 10;
  bool json = false;
  MeasuringRequest request;
};

// A run of the file as a case of this machine, with the threads and kernels that it had where this machine has them.
CaseSpec case_of(const Series& series) {
  CaseBlock block;
  const auto set = [&](const std::string& key, const std::string& value) {
    block[key] = {{value}, series.source->path + ": " + series.name() + ": " + key};
  };
  for (const auto& [key, value] : series.settings)
    if (key != "model_options" && key != "threads") set(key, to_text(value));
  set("model", model_text(series.settings));
  const Device& device = series.first().device;
  if (device.threads && *device.threads <= default_threads()) set("threads", std::to_string(*device.threads));
  if (device.isa == "avx2") set("kernels", "avx2");
  return expand(block).front();
}

struct Choice {
  const Series* series;
  PlannedCase planned;
  double seconds;  // expected, of all repetitions
};

struct Chosen {
  std::vector<Choice> choices;
  Reasons left_out;
};

Chosen chosen(const Candidates& candidates, double budget_seconds) {
  Chosen chosen;
  for (const LeftOut& out : candidates.left_out) add_reason(chosen.left_out, out.reason, out.run->name);
  struct Possible {
    std::size_t rank;
    Choice choice;
  };
  std::vector<Possible> possible;
  DatasetSizes sizes;
  for (std::size_t at = 0; at < candidates.series.size(); ++at) {
    const Series& series = *candidates.series[at];
    try {
      PlannedCase planned = plan_case(case_of(series), sizes);
      if (planned.obstacle) {
        add_reason(chosen.left_out, planned.obstacle->reason, series.name());
        continue;
      }
      const double seconds = kRepetitions * expected_times({planned}, std::nullopt, nullptr).of_all();
      possible.push_back({candidates.ranks[at], {&series, std::move(planned), seconds}});
    } catch (const std::exception& error) {  // data or a model that is not here
      add_reason(chosen.left_out, error.what(), series.name());
    }
  }
  std::ranges::stable_sort(possible, {}, [](const Possible& one) { return std::pair(one.rank, one.choice.seconds); });
  double seconds = 0;
  for (Possible& one : possible) {
    if (seconds + one.choice.seconds > kPlannedShare * budget_seconds && !chosen.choices.empty()) {
      add_reason(chosen.left_out, "no time is left for it; --budget gives more", one.choice.series->name());
      continue;
    }
    seconds += one.choice.seconds;
    chosen.choices.push_back(std::move(one.choice));
  }
  return chosen;
}

std::string figure_text(const ReproducedFigure& figure, const Estimate& estimate) {
  const auto number = [&](double value) { return figure.share ? significant(100 * value, 3) : significant(value, 3); };
  const std::string unit = figure.share ? " %" : "x";
  if (!estimate.ci95) return number(estimate.value) + unit;
  return number(estimate.value) + unit + " (" + range_text(*estimate.ci95, number) + ")";
}

std::string verdict_text(const ReproducedFigure& figure) {
  switch (figure.verdict) {
    case Reproduction::agrees:
      return "agrees";
    case Reproduction::differs:
      return "differs";
    case Reproduction::differs_elsewhere:
      return "other: " + figure.reason;
    case Reproduction::undecided:
      return "undecided: " + figure.reason;
  }
  return "";
}

std::string origin_text(const Context& context) {
  return context.cpu.model + (context.date.empty() ? "" : ", " + context.date.substr(0, 10)) + ", build " +
         (context.git_sha ? context.git_sha->substr(0, 8) : "unknown");
}

// "not tried: resnet50/cuda/bf16/b256: no GPU is usable here", one line per reason.
std::string not_tried(const Reasons& left_out) {
  constexpr std::size_t kNames = 3;
  std::string text;
  for (const Reason& reason : left_out)
    text += wrapped("not tried: ", "  ", some_of(reason.subjects, kNames) + ": " + reason.text);
  return text;
}

std::string reproduce_text(const NamedResult& there, const Result& here, const std::vector<ReproducedFigure>& figures,
                           const Reasons& left_out) {
  std::string text =
      "there: " + there.path + ": " + origin_text(there.result.context) + "\nhere:  " + origin_text(here.context) + "\n\n";
  View view{"", columns("share of the roofline, or ratio|>there|>here|verdict")};
  for (const ReproducedFigure& figure : figures)
    view.rows.push_back(
        {figure.name, figure_text(figure, figure.there), figure_text(figure, figure.here), verdict_text(figure)});
  text += terminal_table(view);
  const auto agree = std::ranges::count(figures, Reproduction::agrees, &ReproducedFigure::verdict);
  text += std::to_string(agree) + " of " + counted(figures.size(), "figure", "figures") + " within 10 %\n";
  return text + not_tried(left_out);
}

Json figure_json(const ReproducedFigure& figure) {
  const auto ends = [](const Estimate& estimate) {
    return estimate.ci95 ? Json::array({estimate.ci95->first, estimate.ci95->second}) : Json(nullptr);
  };
  return {{"name", figure.name},
          {"figure", figure.share ? "roofline_fraction" : "ratio"},
          {"there", figure.there.value},
          {"there_ci95", ends(figure.there)},
          {"here", figure.here.value},
          {"here_ci95", ends(figure.here)},
          {"here_over_there", figure.quotient.value},
          {"here_over_there_ci95", ends(figure.quotient)},
          {"verdict", name(figure.verdict)},
          {"reason", figure.reason.empty() ? Json(nullptr) : Json(figure.reason)}};
}

int exit_code(const std::vector<ReproducedFigure>& figures) {
  const auto any = [&](Reproduction verdict) { return std::ranges::count(figures, verdict, &ReproducedFigure::verdict) > 0; };
  if (any(Reproduction::differs)) return kExitAnswerIsNo;
  return any(Reproduction::agrees) || any(Reproduction::differs_elsewhere) ? kExitDone : kExitInconclusive;
}

int reproduce(const ReproduceOptions& options) {
  if (options.file.empty()) throw CallError("reproduce: no RESULT; name a file of `run --out`");
  const NamedResult there = read_result_argument(options.file);
  const std::vector<NamedResult> files{there};
  const AllSeries all = series_of(files);
  const Speedup speedup = speedup_of(files, SpeedupOf::same_batch);
  const double budget_seconds = 60 * options.budget_minutes;
  const Chosen chosen = epochbench::chosen(reproducible(all, speedup), budget_seconds);
  if (chosen.choices.empty()) {
    const auto first = chosen.left_out.begin();
    throw CallError("reproduce: " + options.file + ": none of its runs can be repeated here: " +
                    (chosen.left_out.empty() ? "none is ok" : first->subjects.front() + ": " + first->text));
  }
  MeasuringRequest request = options.request;
  std::vector<CaseSpec> specs;
  for (const Choice& choice : chosen.choices) specs.push_back(case_of(*choice.series));
  request.cases = plan_cases(specs, kRepetitions);
  request.budget_seconds = budget_seconds;
  if (request.dry_run) {
    const int code = dry_run(request);
    print_fitted(not_tried(chosen.left_out));
    return code;
  }
  if (options.json && request.out.empty()) request.out = kStandardStream;
  if (!request.quiet) print_disturbances();
  const Measurement measured = measure(request);
  NamedResult mine{measured.path, measured.result};
  complete(mine.result);
  const std::vector<NamedResult> now{std::move(mine)};
  const AllSeries ours = series_of(now);
  std::vector<RunAgain> runs;
  Reasons left_out = chosen.left_out;
  for (const Choice& choice : chosen.choices) {
    const auto found = std::ranges::find(ours.series, choice.planned.spec.name, &Series::name);
    if (found != ours.series.end())
      runs.push_back({choice.series, &*found});
    else
      add_reason(left_out, "it did not end here", choice.series->name());
  }
  const std::vector<ReproducedFigure> figures = reproduced(runs, speedup);
  if (options.json)
    print(print_json({{"file", options.file},
                      {"figures", json_list(figures, figure_json)},
                      {"not_tried", json_list(left_out, [](const Reason& reason) {
                         return Json{{"reason", reason.text}, {"runs", reason.subjects}};
                       })}}));
  else if (!request.quiet)
    print_fitted("\n" + reproduce_text(there, now.front().result, figures, left_out) +
                 (measured.path.empty() ? "" : "results: " + measured.path + "\n"));
  print_resume_command(request, measured);
  const int code = exit_code(request, measured);
  return code == kExitDone ? exit_code(figures) : code;
}

}  // namespace

void add_reproduce(Commands& commands) {
  auto [command, options] =
      commands.add("reproduce", "measure a result's decisive cases again and say what agrees", kReproduceExamples, reproduce);
  MeasuringRequest& request = options.request;
  request.command_line = commands.arguments();
  command.add_option("RESULT", options.file, "a file of `run --out`");
  add_parsed(
      command, "--budget", options.budget_minutes,
      [](const std::string& text) {
        return parse_real(text, {0, 1e5, false, true});
      },
      "the most that all cases may take (default 10)")
      ->type_name("MINUTES")
      ->group("How long");
  add_options_of_result(command, request);
  command.add_flag("--json", options.json, "print the figures as JSON; no result file is written unless --out is given")
      ->group("Output");
}

}  // namespace epochbench
