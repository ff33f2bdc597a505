// Many results of one workload over time: series of points, and the commits at which their level changed. Advisory, no verdict.
//
// A point is one file. From dated results it is the median over repetitions of their median step, and a series is of one
// machine, since two are never compared. From documents of interleaved turns it is the median over pairs of the ratio to the
// pinned reference binary that took turns with it: what happens to the machine meanwhile cancels, and slow creeps show.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/compare/change_points.h"
#include "src/result/turns.h"

namespace epochbench {

enum class HistoryOf : unsigned char { step_seconds, ratio };

struct HistoryPoint {
  std::string date;  // RFC 3339, of the measurement
  std::optional<std::string> git_sha;
  std::optional<bool> git_dirty;
  std::string path;
  double value = 0;           // seconds, or new time / reference time; above 0
  std::size_t processes = 0;  // repetitions, or pairs
  bool loaded = false;        // other processes disturbed one of the pairs (src/result/load.h)
};

struct HistorySeries {
  std::string name;  // the run's
  HistoryOf of = HistoryOf::step_seconds;
  // What all points have in common: machine, device, threads, compiler and build type; for ratios the reference instead of the
  // last two. "box, AMD EPYC, 2 threads, gcc 12.2.0, Release"
  std::string setting;
  std::vector<HistoryPoint> points;  // by date, then by path
  // Changes in the logarithms of the values. Indices are those of `points`.
  std::vector<LevelChange> changes;
  std::string reason;  // why changes were not searched for in some or all points; empty: in all they were
};

struct LeftOutPoint {
  std::string name, path, reason;
};

struct History {
  std::vector<HistorySeries> series;  // in the order in which their first points were given
  std::vector<LeftOutPoint> left_out;
};

// A series has one name, workload (as workload_difference() compares it) and setting. A repetition during which other processes
// used kQuietForeignCores or more is left out of a dated point, and so is a point that has no other; ratios need no such care.
History history_of(const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns);

}  // namespace epochbench
