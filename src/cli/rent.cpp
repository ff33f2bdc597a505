// epochbench rent: which instance trains a model for how much, predicted.
#include <algorithm>

#include "src/base/errors.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/plan.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"
#include "src/session/predicting.h"

namespace epochbench {
namespace {

constexpr const char* kRentExamples = R"(Examples:
  epochbench rent bert-base:sequence=384 --batch 32 --epochs 3 --max-cost 50
  epochbench rent --model resnet50 --batch 256 --epochs 90 --on g6.xlarge,p5.4xlarge,c8i.24xlarge
  epochbench rent --model gpt2 --batch 8 --tokens 10e9 --max-cost 2000 --json
  epochbench rent --model vit-b-16 --samples 50000 --epochs 10 --price-file prices.csv --price rtx-4090=0.40

The cheapest instance comes first, priced on demand for the whole instance (list prices), using one of its GPUs. Every figure is a
prediction, from a fit to measured steps (for GPUs, published ones), with an 80 % interval and the error on devices that the fit did not
see. Without --batch a batch is 256, halved until it fits; without --precision each device uses its fastest one, as in `epochbench plan
--on`; of several that --precision names, the fastest, too. An epoch has the size of the model's usual data set (SQuAD for BERT);
--samples sets another size. --price-file adds prices of yours, as CSV with the columns provider,instance,usd_per_hour,date,kind,region:
an instance is one of `list prices`, or GPUs of the catalog, such as h100-sxm or 2x rtx-4090, and kind is on-demand or spot.)";

struct RentOptions {
  CaseBlock cases;  // model, batch, precision
  std::vector<std::string> on;
  std::optional<std::int64_t> epochs, samples, tokens;
  std::optional<double> max_usd;
  PriceListOptions prices;
  bool verbose = false, json = false;
};

RentalQuestion question_of(const RentOptions& options) {
  if (!options.cases.contains("model"))
    throw CallError("rent: --model is missing; give one, such as `epochbench rent --model bert-base --epochs 3`");
  if (const std::string& first = options.cases.at("model").values.front(); first.ends_with(".json"))
    throw CallError("rent: plans a model; a result stands beside rented devices with `epochbench plan " + shell_word(first) +
                    " --on T4,h100-sxm --price cpu=0.09`");
  if (options.samples && options.tokens) throw CallError("--samples is the size of an epoch and needs --epochs; leave it out");
  if (contains(options.on, std::string("cpu")))
    throw CallError(
        "--on cpu: this machine is not for rent; measure it, and compare with `epochbench plan FILE.json --on "
        "T4,h100-sxm --price cpu=0.09`");
  CaseBlock cases = options.cases;
  std::vector<Precision> precisions;
  if (const auto given = cases.find("precision"); given != cases.end()) {
    for (const CaseSpec& spec : expand({*given})) precisions.push_back(spec.precision);
    cases.erase(given);
  }
  if (options.samples) cases["epoch_samples"] = {{std::to_string(*options.samples)}, "--samples"};
  RentalQuestion question;
  question.request = prediction_request(options.on, std::move(cases), options.epochs, options.tokens);
  if (options.epochs.has_value() == options.tokens.has_value())
    throw CallError(options.epochs ? "--tokens replaces --epochs; give one of them"
                                   : "rent: give --epochs N, or for a language model --tokens N");
  if (!precisions.empty()) question.request.fastest_of = precisions;
  question.request.prices = price_list(options.prices);
  question.max_usd = options.max_usd;
  return question;
}

// The same question about each model, since an epoch of each is another; in the order of the call.
std::vector<RentalQuestion> by_model(const RentalQuestion& question) {
  std::vector<RentalQuestion> questions;
  for (const CaseSpec& spec : question.request.cases) {
    const auto same = [&](const RentalQuestion& each) { return each.request.cases.front().model.name == spec.model.name; };
    auto place = std::ranges::find_if(questions, same);
    if (place == questions.end()) {
      place = questions.insert(place, question);
      place->request.cases.clear();
    }
    place->request.cases.push_back(spec);
  }
  return questions;
}

// With 1 if a model has no instance within --max-cost.
int rent(const RentOptions& options) {
  std::vector<Rentals> answers;
  for (const RentalQuestion& question : by_model(question_of(options))) answers.push_back(rentals_of(question));
  const bool none_matches =
      options.max_usd && std::ranges::any_of(answers, [](const Rentals& each) { return each.predictions.empty(); });
  const int code = none_matches ? kExitAnswerIsNo : kExitDone;
  if (options.json) {
    print(print_json(answers.size() == 1
                         ? rentals_json(answers.front())
                         : Json{{"evidence", name(EvidenceClass::predicted)}, {"models", json_list(answers, rentals_json)}}));
    return code;
  }
  std::string text;
  for (const Rentals& rentals : answers) append(text, rentals_text(rentals, options.verbose), "\n");
  print_fitted(text);
  return code;
}

}  // namespace

void add_rent(Commands& commands) {
  auto [command, options] =
      commands.add("rent", "predict what training costs on each instance; measures nothing", kRentExamples, rent);
  commands.add_case_options(command, options.cases, OfferedTo::calls, {"model", "batch", "precision"});
  command.get_option("--batch")->description(
      "samples per update, or max: the most that fit into the memory (default: 256, halved until it fits)");
  command.get_option("--precision")->description("fp32, tf32, bf16 or fp16 (default: the fastest of each device)");
  commands.add_model_argument(command, options.cases);
  add_parsed(command, "--epochs", options.epochs, whole(1, kMaxEpochs), "epochs to train for")->type_name("N");
  add_parsed(command, "--samples", options.samples, whole(1, kMaxSamples),
             "samples in an epoch (default: those of the model's usual data set)")
      ->type_name("N");
  add_parsed(command, "--tokens", options.tokens, parse_tokens, "tokens to train on, instead of epochs, such as 10e9")
      ->type_name("N");
  add_parsed(command, "--max-cost", options.max_usd, real({0, 1e12, false, true}),
             "leave out instances that are expected to cost more; exits with 1 if none is left")
      ->type_name("USD");
  add_parsed(command, "--on", options.on, split_list, "instances, or devices on any instance (default: all with a price)")
      ->type_name("DEVICE,...");
  add_price_list_options(command, options.prices);
  command.add_flag("-v,--verbose", options.verbose, "print all notes, also on a terminal");
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace epochbench
