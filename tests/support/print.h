// Prints test parameters of the project's enumerations by name.
#pragma once

#include <ostream>

#include "epochbench/precision.h"
#include "epochbench/tensor.h"

namespace epochbench {

inline void PrintTo(Precision precision, std::ostream* out) { *out << name(precision); }
inline void PrintTo(DType dtype, std::ostream* out) { *out << name(dtype); }

}  // namespace epochbench
