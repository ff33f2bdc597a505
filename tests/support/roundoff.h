// How far a precision rounds.
#pragma once

#include "epochbench/precision.h"

namespace epochbench::test {

// The unit roundoff: half the distance between 1 and the next number.
constexpr double unit_roundoff(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return 0x1p-24;
    case Precision::bf16:
      return 0x1p-8;
    case Precision::tf32:
    case Precision::fp16:
      return 0x1p-11;
    case Precision::int8:  // not for training
      break;
  }
  return 0;
}

// That of operands that a precision rounds beyond floats: 0 for fp32.
constexpr double roundoff_beyond_floats(Precision precision) {
  return precision == Precision::fp32 ? 0 : unit_roundoff(precision);
}

}  // namespace epochbench::test
