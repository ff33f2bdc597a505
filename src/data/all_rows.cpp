#include "src/data/all_rows.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

namespace epochbench {

void for_all_rows(std::int64_t rows, const std::function<void(std::int64_t row)>& do_row) {
  if (rows < 1) return;
  const std::int64_t workers = std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, rows);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(workers));
  std::vector<std::jthread> threads;
  for (std::int64_t w = 0; w < workers; ++w) {
    threads.emplace_back([&do_row, w, workers, rows, &error = errors[static_cast<std::size_t>(w)]] {
      try {
        for (std::int64_t row = w * rows / workers; row < (w + 1) * rows / workers; ++row) do_row(row);
      } catch (...) {
        error = std::current_exception();
      }
    });
  }
  threads.clear();  // joins
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace epochbench
