// epochbench cost: local against cloud, for the epochs of a result or for hours alone.
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/owning_options.h"
#include "src/cli/result_arguments.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"
#include "src/session/prices.h"

namespace epochbench {
namespace {

constexpr const char* kCostExamples = R"(Examples:
  epochbench cost --purchase 2500 --lifetime 4 --power 350 --electricity 0.30 --cloud g5.xlarge
  epochbench cost result.json --purchase 900 --lifetime 5 --power 120 --idle 40 --electricity 0.30 --cloud 0.357
  epochbench cost result.json --cloud c7a.4xlarge --price-scaling per-core --purchase 900 --lifetime 5 --power 120
  epochbench cost result.json --purchase 900 --lifetime 5 --electricity 0.30 --utilization 0.2 --cloud 0.34 --json

With a result, the answer is the cost per epoch of the measured machine, owned and rented; without one, the cost of hours of work.
What has no default must be given, and cost lists what is missing. By default the machine works all hours, where owning costs least
per epoch, idle hours take no power, and the cloud's machine is as fast as yours. The price of an instance pays for all its vCPUs and
GPUs. If the result's machine has other numbers of them, --price-scaling says what to charge; with whole, the instance is another
machine, and --cloud-speed gives its relative speed. A measured power draw covers the metered parts (CPU package, GPU card), not the
whole machine; --power replaces it.)";

struct CostOptions {
  std::string result;  // empty: for hours alone
  OwningOptions owning;
  std::optional<double> utilization;
  std::optional<PriceScaling> scaling;  // of its price, or of the result's
  bool json = false;
};

RentOrBuyAnswer answer_of(const CostOptions& options) {
  RentOrBuyAnswer answer;
  answer.question.local = options.owning.local;
  answer.question.cloud.speed = options.owning.cloud_speed;
  answer.utilization_given = options.utilization.has_value();
  answer.question.utilization = options.utilization.value_or(1);
  const auto take = [&](const HourlyPrice& price) {
    answer.question.cloud.usd_per_hour = price.usd_per_hour;
    answer.question.cloud_source = price_text(price.source, price.usd_per_hour);
  };
  if (options.result.empty()) {
    if (options.owning.cloud) take(whole_price(*options.owning.cloud));
    return answer;
  }
  NamedResult named = read_result_argument(options.result);
  const Result& result = named.result;
  if (options.owning.cloud)
    located(options.result + ": --cloud", [&] { take(price_for(*options.owning.cloud, result, options.scaling)); });
  else
    reprice(named, {"", options.scaling});
  answer.runs = rent_or_buy(result.runs, answer.question);
  if (answer.runs.empty())
    throw CallError(options.result +
                    ": none of its runs is ok, so no epoch has a cost; leave the file out to compare hours alone");
  std::vector<std::string> machine{result.context.cpu.model};
  for (const GpuInfo& gpu : result.context.gpus) machine.push_back(gpu.name);
  machine.push_back(result.context.date.substr(0, 10));
  answer.measured_on = joined(without_repeats(std::move(machine)));
  return answer;
}

int cost(const CostOptions& options) {
  const RentOrBuyAnswer answer = answer_of(options);
  print(options.json ? print_json(rent_or_buy_json(answer)) : fitted(rent_or_buy_text(answer)));
  return kExitDone;
}

}  // namespace

void add_cost(Commands& commands) {
  auto [command, options] =
      commands.add("cost", "compare local with cloud: cost per epoch, break-even hours per month", kCostExamples, cost);
  command.add_option("result", options.result, "result file (without one: hours of work only)")->type_name("RESULT");
  add_owning_options(command, options.owning);
  add_parsed(command, "--utilization", options.utilization, real({0, 1, false, true}),
             "fraction of all hours in which the local machine trains, above 0 to 1 (default 1)")
      ->type_name("FRACTION");
  add_price_scaling(command, options.scaling);
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace epochbench
