// epochbench list published: the results of others that the binary carries.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/base/json.h"

namespace epochbench {

Json published_json();

// The rows with these indices, one table per source: figures of MLPerf Training share no row or table with others, and each has
// its citation.
std::string published_text(const Json&, const std::vector<std::size_t>& kept);

}  // namespace epochbench
