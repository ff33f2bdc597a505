// epochbench cost: local against cloud, of the epochs of a result or of hours alone.
#include <cstdio>

#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/cli/commands.h"
#include "src/report/text/rent_or_buy.h"
#include "src/result/result_json.h"
#include "src/session/prices.h"

namespace epochbench {
namespace {

// Far above what a machine costs or draws, and small enough that no product of them overflows.
constexpr double kMaxUsd = 1e9, kMaxYears = 100, kMaxWatts = 1e7, kMaxUsdPerKwh = 1000, kMaxSpeed = 1e6;

std::optional<double> number(const std::string& text, const char* flag, const RealRange& range) {
  if (text.empty()) return std::nullopt;
  try {
    return parse_real(text, range);
  } catch (const CallError& error) {
    throw CallError(std::string(flag) + ": " + error.what());
  }
}

RentOrBuy question_of(const CostOptions& options) {
  RentOrBuy question;
  question.local.purchase_usd = number(options.purchase, "--purchase", {0, kMaxUsd});
  question.local.lifetime_years = number(options.lifetime, "--lifetime", {0, kMaxYears, false, true});
  question.local.power_watts = number(options.power, "--power", {0, kMaxWatts});
  question.local.idle_watts = number(options.idle, "--idle", {0, kMaxWatts});
  question.local.usd_per_kwh = number(options.electricity, "--electricity", {0, kMaxUsdPerKwh});
  question.utilization = number(options.utilization, "--utilization", {0, 1, false, true}).value_or(1);
  question.cloud.speed = number(options.cloud_speed, "--cloud-speed", {0, kMaxSpeed, false, true}).value_or(1);
  if (options.cloud.empty()) return question;
  try {
    const auto [usd_per_hour, row] = parse_price(options.cloud);
    question.cloud.usd_per_hour = usd_per_hour;
    question.cloud_source = row ? describe(*row, true, today()) : "given";
  } catch (const CallError& error) {
    throw CallError("--cloud: " + std::string(error.what()));
  }
  return question;
}

}  // namespace

int cost_command(const CostOptions& options) {
  RentOrBuyAnswer answer;
  answer.question = question_of(options);
  answer.utilization_given = !options.utilization.empty();
  if (!options.result.empty()) {
    const Result result = read_result(options.result);
    answer.runs = rent_or_buy(result.runs, answer.question);
    if (answer.runs.empty())
      throw CallError(options.result +
                      ": no run in it is ok, so there is no epoch to cost; leave it out to compare hours alone");
    answer.measured_on = result.context.cpu.model + ", " + result.context.date.substr(0, 10);
  }
  const std::string text = options.json ? print_json(rent_or_buy_json(answer)) : rent_or_buy_text(answer);
  std::fputs(text.c_str(), stdout);
  return kExitDone;
}

}  // namespace epochbench
