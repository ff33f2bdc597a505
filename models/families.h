// The model families of the registry, one file per family.
#pragma once

#include "epochbench/model.h"

namespace epochbench {

ModelFamily mlp_family();
ModelFamily lenet5_family();
ModelFamily resnet20_family();
std::vector<ModelFamily> resnet_families();  // 18, 34, 50, 101, 152

std::vector<ModelFamily> bert_families();  // tiny, base, large

}  // namespace epochbench
