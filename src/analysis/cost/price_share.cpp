#include "src/analysis/cost/price_share.h"

#include "src/base/errors.h"
#include "src/base/numbers.h"

namespace epochbench {
namespace {

std::string vcpus_text(int count) { return counted(static_cast<std::size_t>(count), "vCPU", "vCPUs"); }
std::string gpus_text(int count) { return counted(static_cast<std::size_t>(count), "GPU", "GPUs"); }

std::string size_text(const CatalogPrice& price) {  // "96 vCPUs and 8 GPUs"
  if (price.vcpus == 0) return gpus_text(price.gpu_count);
  return vcpus_text(price.vcpus) + (price.gpu_count > 0 ? " and " + gpus_text(price.gpu_count) : "");
}

// GPUs are left out if neither side has one.
std::string used_text(const CatalogPrice& price, const UsedMachine& used) {
  const bool gpus = price.gpu_count > 0 || used.gpus > 0;
  if (price.vcpus == 0) return std::to_string(used.gpus) + " used";
  return std::to_string(used.vcpus) + (gpus ? " and " + std::to_string(used.gpus) : "") + " used";
}

std::string difference(const CatalogPrice& price, const UsedMachine& used) {
  return price.instance + " has " + size_text(price) + ", and " + vcpus_text(used.vcpus) +
         (price.gpu_count > 0 || used.gpus > 0 ? " and " + gpus_text(used.gpus) : "") +
         (used.vcpus + used.gpus == 1 ? " is" : " are") + " used";
}

}  // namespace

PriceShare share_of(const CatalogPrice& price, const UsedMachine& used, std::optional<PriceScaling> scaling) {
  if (price.vcpus == used.vcpus && price.gpu_count == used.gpus) return {};
  const bool by_gpu = price.gpu_count > 0 && used.gpus > 0;
  if (used.gpus > 0 && price.gpu_count == 0)
    throw CallError(price.instance +
                    " has no GPU, so it is not the price of one; name an instance with a GPU, or give USD per hour");
  if (!scaling)
    throw CallError(difference(price, used) + "; add --price-scaling " + (by_gpu ? "per-gpu" : "per-vcpu") +
                    " for that share of its price or --price-scaling whole for all of it, or give this machine's own price in "
                    "USD per hour");
  if (*scaling == PriceScaling::per_gpu && !by_gpu)
    throw CallError(difference(price, used) + ", so --price-scaling per-gpu has no meaning; use per-vcpu or whole");
  switch (*scaling) {
    case PriceScaling::per_vcpu:
      return {static_cast<double>(used.vcpus) / price.vcpus,
              "price for " + vcpus_text(price.vcpus) + ", " + std::to_string(used.vcpus) + " used", scaling};
    case PriceScaling::per_gpu:
      return {static_cast<double>(used.gpus) / price.gpu_count,
              "price for " + gpus_text(price.gpu_count) + ", " + std::to_string(used.gpus) + " used", scaling};
    case PriceScaling::whole:
      break;
  }
  return {1, "whole price for " + size_text(price) + ", " + used_text(price, used), scaling};
}

}  // namespace epochbench
