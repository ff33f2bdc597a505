// Prints the complete result, for tests that read it as others do.
#include <cstdio>

#include "src/result/result_json.h"
#include "support/complete_result.h"

int main() {
  std::fputs(epochbench::result_to_text(epochbench::complete_result()).c_str(), stdout);
  return 0;
}
