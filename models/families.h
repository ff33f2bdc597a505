// The families of the registry; each lies in a file of its own.
#pragma once

#include "epochbench/model.h"

namespace epochbench {

ModelFamily mlp_family();
ModelFamily lenet5_family();
ModelFamily resnet20_family();

}  // namespace epochbench
