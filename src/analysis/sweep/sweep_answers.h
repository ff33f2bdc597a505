// The answers of a sweep: best, where the curve flattens, where curves cross, and over threads how cores scale.
#pragma once

#include <span>

#include "src/analysis/sweep/curves.h"
#include "src/result/result.h"

namespace epochbench {

// Over all curves of the result. Each is compared with the CPU's of its precision and in fp32, and with fp32 of its own
// device; on the axis threads, which a GPU does not have, devices are compared by scaling alone.
SweepAnswers answers_of(const Result& result, Axis axis);

// The same of these of its curves alone.
SweepAnswers answers_of(std::span<const Curve> curves, const Result& result, Axis axis);

}  // namespace epochbench
