// Hashes that tell texts apart, the same on every machine. They do not protect against deliberate collisions.
#pragma once

#include <string>
#include <string_view>

namespace epochbench {

std::string text_hash(std::string_view text);  // XXH3 of 128 bits, as 32 hexadecimal digits

}  // namespace epochbench
