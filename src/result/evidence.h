// Where a number comes from. Each class has its own conclusions; classes are never averaged or paired.
#pragma once

#include <array>
#include <cstdint>

namespace epochbench {

enum class EvidenceClass : std::uint8_t {
  measured,   // by a run or on the machine of a result
  planned,    // by arithmetic: counted from a model's graph, or computed from the user's figures
  published,  // by others
  predicted,  // by a model of a device that was not present
};
constexpr auto texts_of(EvidenceClass) { return std::array{"measured", "planned", "published", "predicted"}; }

}  // namespace epochbench
