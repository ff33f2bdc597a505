// epochbench answers: the page of answers from an existing result.
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/elsewhere.h"
#include "src/cli/result_arguments.h"
#include "src/report/answers/answers_page.h"
#include "src/report/text/answer_text.h"
#include "src/session/prices.h"

namespace epochbench {
namespace {

constexpr const char* kAnswersExamples = R"(Examples:
  epochbench answers hour.json
  epochbench answers hour.json --price cpu=c7a.4xlarge --price-scaling per-core   at the price of 2 of its 16 cores
  epochbench answers hour.json --on T4,a100,h100-sxm      with these devices, published and predicted
  epochbench answers hour.json --json)";

struct AnswersOptions {
  std::string result;
  PriceOptions prices;
  std::vector<std::string> on;  // devices of the catalog
  bool verbose = false, json = false;
};

int answers(const AnswersOptions& options) {
  NamedResult named = read_result_argument(options.result);
  reprice_one(named, options.prices);
  if (options.on.empty()) {
    print(options.json ? print_json(answers_json(named)) : fitted(answers_page(named)));
    return kExitDone;
  }
  const std::vector<NamedResult> results{named};
  const std::vector<Elsewhere> other = elsewhere(results, {options.on, {}, {}});
  if (options.json) {
    Json answers = answers_json(named);
    answers["elsewhere"] = elsewhere_json(other);
    print(print_json(answers));
  } else {
    print(fitted(answers_page(named) + "\n"));
    print_fitted(elsewhere_text(other, options.verbose));
  }
  return kExitDone;
}

}  // namespace

void add_answers(Commands& commands) {
  auto [command, options] =
      commands.add("answers", "print one page of answers from a result, as `run --suite hour` does", kAnswersExamples, answers);
  command.add_option("result", options.result, "result file")->type_name("RESULT")->required();
  add_price_options(command, options.prices);
  add_on_option(command, options.on);
  command.add_flag("-v,--verbose", options.verbose, "with --on: print all notes, also on a terminal");
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace epochbench
