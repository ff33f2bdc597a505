// The shares of two images that are mixed (Zhang et al., "mixup: Beyond Empirical Risk Minimization", 2018).
#pragma once

#include "src/data/images/augmentation.h"

namespace epochbench {

// Drawn from Beta(alpha, alpha), with `draw.sample` the number of the pair's first row in its epoch; alpha > 0.
float mixup_share(double alpha, const SampleDraw& draw);

}  // namespace epochbench
