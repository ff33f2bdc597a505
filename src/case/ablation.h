// What a case leaves out on purpose, so that its effect can be measured. Where there is nothing of the kind to leave out,
// src/workload/workload.h says why.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

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

std::vector<std::string> names(const Without& without);  // {"fusion", "prefetch"}
std::string to_string(const Without& without);           // "fusion+prefetch", by name; "" where nothing is left out

// Parts joined by +, in any order, or "none". Errors: CallError with the known parts.
Without parse_without(const std::string& text);

}  // namespace epochbench
