// Numbers for people: three significant digits and a unit. Arguments are in SI base units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace epochbench {

std::string significant(double value, int digits);      // "0.00123", "12.3", "1230", "4.56e-07", "1.00e+15"
std::string format_seconds(double seconds);             // "1.23 ms", "4.56 s", "3 min 20 s", "2.1 h", "3.4 d"
std::string format_si(double value, const char* unit);  // "1.23 GFLOP/s"
std::string format_bytes(double bytes);                 // "1.2 GiB"
std::string format_percent(double fraction);            // "97.2 %"
std::string format_usd(double usd);                     // "$0.00012", "$12.30"
std::string format_count(std::int64_t count);           // "1,281,167"
std::string counted(std::size_t count, const char* one, const char* several);  // "1 run", "2,000 runs"
std::string format_whole(double value);                                        // "1,281,167", "1.00e+15"
std::string format_rate(double per_second);                                    // "12.3", "1,281"
std::string format_times(double ratio);                                        // "1.23x"

}  // namespace epochbench
