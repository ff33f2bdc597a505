#include "src/analysis/cost/price_share.h"

#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/result/price_source.h"

namespace epochbench {
namespace {

std::string vcpus_text(int count) { return counted(static_cast<std::size_t>(count), "vCPU", "vCPUs"); }
std::string gpus_text(int count) { return counted(static_cast<std::size_t>(count), "GPU", "GPUs"); }

std::string cores_text(int count) { return counted(static_cast<std::size_t>(count), "core", "cores"); }

// "8 vCPUs on 4 cores".
std::string cpus_text(int vcpus, int cores) {
  return vcpus_text(vcpus) + (cores > 0 && cores != vcpus ? " on " + cores_text(cores) : "");
}

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

bool knows_cores(const CatalogPrice& price, const UsedMachine& used) { return price.cores > 0 && used.cores > 0; }

// "c7i.2xlarge has 8 vCPUs on 4 cores, and 2 vCPUs are used".
std::string difference(const CatalogPrice& price, const UsedMachine& used) {
  const bool cores = knows_cores(price, used) && price.vcpus * used.cores != price.cores * used.vcpus;
  const std::string size = price.vcpus == 0 ? gpus_text(price.gpu_count) : cpus_text(price.vcpus, cores ? price.cores : 0);
  return price.instance + " has " + size +
         (price.vcpus > 0 && price.gpu_count > 0 ? " and " + gpus_text(price.gpu_count) : "") + ", and " +
         vcpus_text(used.vcpus) + (cores ? " on " + cores_text(used.cores) : "") +
         (price.gpu_count > 0 || used.gpus > 0 ? " and " + gpus_text(used.gpus) : "") +
         (used.vcpus + used.gpus == 1 ? " is" : " are") + " used";
}

bool is_same_size(const CatalogPrice& price, const UsedMachine& used) {
  return price.vcpus == used.vcpus && price.gpu_count == used.gpus && (!knows_cores(price, used) || price.cores == used.cores);
}

// Why this scaling has no meaning here; "" if it has one.
std::string obstacle_to(PriceScaling scaling, const CatalogPrice& price, const UsedMachine& used) {
  const bool cores = knows_cores(price, used);
  switch (scaling) {
    case PriceScaling::per_core:
      return cores ? ""
                   : std::string("the cores of ") + (price.cores > 0 ? "this machine" : price.instance) +
                         " are not known, so --price-scaling per-core has no meaning; use per-vcpu, " +
                         (price.gpu_count > 0 && used.gpus > 0 ? "per-gpu " : "") + "or whole";
    case PriceScaling::per_vcpu:
      return cores && price.vcpus * used.cores != price.cores * used.vcpus
                 ? difference(price, used) +
                       ", so a vCPU there is another part of a core than a CPU here; use --price-scaling per-core or whole"
                 : "";
    case PriceScaling::per_gpu:
      return price.gpu_count > 0 && used.gpus > 0
                 ? ""
                 : difference(price, used) + ", so --price-scaling per-gpu has no meaning; use " +
                       (cores ? "per-core" : "per-vcpu") + " or whole";
    case PriceScaling::whole:
      break;
  }
  return "";
}

}  // namespace

PriceShare share_of(const CatalogPrice& price, const UsedMachine& used, std::optional<PriceScaling> scaling) {
  if (is_same_size(price, used)) return {};
  const bool by_gpu = price.gpu_count > 0 && used.gpus > 0;
  if (used.gpus > 0 && price.gpu_count == 0)
    throw CallError(price.instance +
                    " has no GPU, so it is not the price of one; name an instance with a GPU, or give USD per hour");
  if (!scaling)
    throw CallError(difference(price, used) + "; add --price-scaling " +
                    (by_gpu                     ? "per-gpu"
                     : knows_cores(price, used) ? "per-core"
                                                : "per-vcpu") +
                    " for that share of its price or --price-scaling whole for all of it, or give this machine's own price in "
                    "USD per hour");
  if (const std::string obstacle = obstacle_to(*scaling, price, used); !obstacle.empty()) throw CallError(obstacle);
  const auto share = [&](int part, int all, const std::string& units) {
    return PriceShare{static_cast<double>(part) / all, share_text(units, part), scaling};
  };
  switch (*scaling) {
    case PriceScaling::per_core:
      return share(used.cores, price.cores, cores_text(price.cores));
    case PriceScaling::per_vcpu:
      return share(used.vcpus, price.vcpus, vcpus_text(price.vcpus));
    case PriceScaling::per_gpu:
      return share(used.gpus, price.gpu_count, gpus_text(price.gpu_count));
    case PriceScaling::whole:
      break;
  }
  return {1, "whole price for " + size_text(price) + ", " + used_text(price, used), scaling};
}

}  // namespace epochbench
