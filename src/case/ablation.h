// What a case leaves out on purpose, so that its effect can be measured. Where there is nothing of the kind to leave out,
// src/workload/workload.h says why.
#pragma once

#include <array>

#include "src/case/named_parts.h"

namespace epochbench {

struct Without {
  bool fusion = false;         // composite nodes: a step runs their parts
  bool graph_capture = false;  // of CUDA: a step's kernels are enqueued one by one
  bool prefetch = false;       // a batch is begun when a step asks for it
  bool winograd = false;       // convolutions that multiply less than the FLOPs that are counted
  bool operator==(const Without&) const = default;
};

constexpr auto parts_of(const Without&) {
  using Part = NamedPart<Without>;
  return std::array{Part{"fusion", &Without::fusion}, Part{"graph-capture", &Without::graph_capture},
                    Part{"prefetch", &Without::prefetch}, Part{"winograd", &Without::winograd}};
}

}  // namespace epochbench
