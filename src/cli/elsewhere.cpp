#include "src/cli/elsewhere.h"

#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/report/text/answer_text.h"

namespace epochbench {

void add_on_option(CLI::App& command, std::vector<std::string>& on) {
  add_parsed(command, "--on", on, split_list, "add these devices of the catalog, published and predicted: T4,a100,h100-sxm")
      ->type_name("DEVICE,...");
}

int print_elsewhere(const std::vector<NamedResult>& results, const ElsewhereRequest& request, bool verbose, bool json) {
  const std::vector<Elsewhere> answers = elsewhere(results, request);
  if (json)
    print(print_json(elsewhere_json(answers)));
  else
    print_fitted(elsewhere_text(answers, verbose));
  return kExitDone;
}

}  // namespace epochbench
