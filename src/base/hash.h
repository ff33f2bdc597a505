// Hashes that tell texts apart, here and on every other machine. Not against somebody who looks for two texts with one hash.
#pragma once

#include <string>
#include <string_view>

namespace epochbench {

std::string text_hash(std::string_view text);  // XXH3 of 128 bits, as 32 hexadecimal digits

}  // namespace epochbench
