#include "kernels/cuda/libraries/library_error.h"

#include <algorithm>
#include <string_view>

namespace epochbench::cuda {

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(std::string(what) + ": " + cublasLtGetStatusString(status));
}

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char details[512] = "";
  cudnnGetLastErrorString(details, sizeof details);
  throw Error(std::string(what) + ": " + cudnnGetErrorString(status) + (*details ? std::string(", ") + details : ""));
}

std::string short_message(const std::string& message) {
  constexpr std::string_view kReason = "Reason: ";
  constexpr std::size_t kLongest = 300;
  std::string text;
  for (std::size_t at = message.find(kReason); at != std::string::npos; at = message.find(kReason, at)) {
    at += kReason.size();
    // What the engine itself reported; the lines below it name the callers.
    const std::string reason = message.substr(at, message.find('\n', at) - at);
    if (text.find(reason) == std::string::npos) text += (text.empty() ? "" : "; ") + reason;
    at = std::min(message.find("\n\n", at), message.size());
  }
  if (text.empty()) text = message.substr(0, message.find('\n'));
  return text.size() > kLongest ? text.substr(0, kLongest) + " ..." : text;
}

}  // namespace epochbench::cuda
