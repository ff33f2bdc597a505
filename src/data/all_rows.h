// Work on many rows before any step runs, by one thread per available CPU.
#pragma once

#include <cstdint>
#include <functional>

namespace epochbench {

// Calls do_row(0) ... do_row(rows - 1), each once, in several threads, and returns when all are done.
// Errors: the exception of a row, after the other threads have finished their rows.
void for_all_rows(std::int64_t rows, const std::function<void(std::int64_t row)>& do_row);

}  // namespace epochbench
