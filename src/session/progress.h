// The progress of a run, on stderr: one line updated in place on a terminal; elsewhere lines without escape sequences, one
// every ten seconds and one per finished case.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "src/result/result.h"
#include "src/worker/case_driver.h"

namespace epochbench {

class ProgressDisplay {
 public:
  // `quiet`: shows nothing. In place only if stderr is a terminal and TERM is not "dumb"; NO_COLOR disables color.
  ProgressDisplay(std::size_t cases, bool quiet);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  void note(const std::string& text);  // what happens outside of cases: "measuring the peaks of this CPU"
  void log(const std::string& text);   // a line for a log, where nothing is shown in place
  void line(const std::string& text);  // a line that stays
  void begin(const std::string& name);
  // In place at most ten times per second, else one line every ten seconds. `left`: "about 2 min left".
  void update(const Progress& progress, const std::string& left = "");
  void end(const Run& run);
  void clear();  // so that another line may be printed

 private:
  void draw(const std::string& text);
  std::string place() const;  // "[2/3]"
  std::string head() const;   // "[2/3] lenet5/cpu/fp32/b64"

  std::size_t cases_, index_ = 0;
  bool quiet_, in_place_, color_, drawn_ = false;
  std::string name_;
  std::chrono::steady_clock::time_point last_shown_{};
};

}  // namespace epochbench
