// What Cost::price_source says when only a share of an instance's price counts. Such a price is hypothetical: instances are
// rented whole.
#pragma once

#include <optional>
#include <string>

namespace epochbench {

// "hypothetical price for 16 cores, 2 used". `all`: "16 cores".
std::string share_text(const std::string& all, int used);

// How many times the stated price the whole instance costs; empty if the source states no share.
std::optional<double> whole_over_share(const std::string& source);

// The source with the word "hypothetical", which shares in older results lack.
std::string labeled_share(std::string source);

}  // namespace epochbench
