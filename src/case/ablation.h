// What a case leaves out on purpose, so that what it is worth can be measured. How it is left out is the business of those
// who have it; where there is nothing of the kind to leave out, src/workload/workload.h says why.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace epochbench {

struct Without {
  bool fusion = false;         // composite nodes: a step runs their parts
  bool graph_capture = false;  // of CUDA: a step's kernels are enqueued one by one
  bool prefetch = false;       // a batch is begun when a step asks for it
  bool winograd = false;       // convolutions that multiply less than the FLOPs that are counted
  bool operator==(const Without&) const = default;
};

struct WithoutPart {
  const char* name;
  bool Without::*left_out;
};
inline constexpr std::array kWithoutParts{WithoutPart{"fusion", &Without::fusion},  // by name
                                          WithoutPart{"graph-capture", &Without::graph_capture},
                                          WithoutPart{"prefetch", &Without::prefetch},
                                          WithoutPart{"winograd", &Without::winograd}};

// "fusion+prefetch", by name; "" where nothing is left out.
std::string to_string(const Without& without);
// Parts joined by +, in any order, or "none". Empty where a word is neither.
std::optional<Without> without_from_text(std::string_view text);

}  // namespace epochbench
