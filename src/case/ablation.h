// Parts that a case leaves out on purpose, to measure their effect. If a case has no such part, nothing_to_leave_out()
// (src/workload/workload.h) says why.
#pragma once

#include <array>

#include "src/case/named_parts.h"

namespace epochbench {

struct Without {
  bool fusion = false;             // composite nodes: a step runs their parts
  bool graph_capture = false;      // on CUDA: a step's kernels are enqueued one by one
  bool library_attention = false;  // on CUDA, in 16 bits: attention is products and our own softmax
  bool packed_weights = false;     // on a CPU, forward: each step packs the weights of its products again
  bool prefetch = false;           // a batch is started only when a step needs it
  bool winograd = false;           // convolutions with fewer multiplications than the counted FLOPs
  bool operator==(const Without&) const = default;
};

constexpr auto parts_of(const Without&) {
  using Part = NamedPart<Without>;
  return std::array{Part{"fusion", &Without::fusion},
                    Part{"graph-capture", &Without::graph_capture},
                    Part{"library-attention", &Without::library_attention},
                    Part{"packed-weights", &Without::packed_weights},
                    Part{"prefetch", &Without::prefetch},
                    Part{"winograd", &Without::winograd}};
}

}  // namespace epochbench
