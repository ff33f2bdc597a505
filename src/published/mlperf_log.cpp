#include "src/published/mlperf_log.h"

#include <algorithm>
#include <cmath>

#include "src/base/json_fields.h"
#include "src/base/lookup.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr std::string_view kMark = ":::MLLOG", kOlderMark = ":::MLPv";
constexpr std::string_view kNotFinite[] = {"NaN", "Infinity", "-Infinity"};
constexpr double kLatestMs = 4'102'444'800'000;  // the year 2100
constexpr std::int64_t kMaxSamples = 1'000'000'000'000;

// What is collected on the way through a log.
struct Collected {
  std::string benchmark, submitter, division, status;
  std::optional<std::int64_t> batch, start_ms, stop_ms, first_epoch, last_epoch, train_samples;
  std::optional<std::int64_t> abandoned_first_epoch;  // of the attempt before this one
};

// The event with null in place of NaN and Infinity, which Python writes where a run diverged.
std::string without_nan(std::string_view event) {
  std::string text;
  for (bool quoted = false; !event.empty();) {
    std::string_view part = event.substr(0, quoted && event.front() == '\\' ? 2 : 1);
    if (part == "\"") quoted = !quoted;
    const auto* word = std::ranges::find_if(kNotFinite, [&](std::string_view each) { return event.starts_with(each); });
    const bool unknown = !quoted && word != std::end(kNotFinite);
    if (unknown) part = *word;
    text += unknown ? "null" : part;
    event.remove_prefix(part.size());
  }
  return text;
}

// A whole number from 0 on, also written as 35.0; empty for anything else.
std::optional<std::int64_t> whole(const Json* value) {
  if (!value || !value->is_number()) return std::nullopt;
  const auto number = value->get<double>();
  if (!(number >= 0 && number <= static_cast<double>(kMaxSamples)) || number != std::floor(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

void set_once(std::string& text, const JsonFields& from) {
  const std::string value = from.text("value");
  if (!text.empty() && text != value)
    throw FormatError(from.path("value") + ": '" + value.substr(0, 40) + "' contradicts '" + text.substr(0, 40) +
                      "' above; a file is the log of one run");
  text = value;
}

std::int64_t time_of(const JsonFields& from) {
  const double time = from.number("time_ms");  // some clocks write fractions
  if (!(time >= 1 && time <= kLatestMs)) throw FormatError(from.path("time_ms") + ": must be milliseconds since 1970");
  return static_cast<std::int64_t>(time);
}

// A job that died and was started again adds to its log: only the last attempt is the run.
void start(Collected& log, const JsonFields& from) {
  if (log.stop_ms)
    throw FormatError(from.path("key") +
                      ": a run_start after a run_stop; a file is the log of one run: remove the other's lines");
  log.start_ms = time_of(from);
  if (log.first_epoch) log.abandoned_first_epoch = log.first_epoch;
  log.first_epoch.reset();
  log.last_epoch.reset();
}

void start_block(Collected& log, const JsonFields& from, std::optional<std::int64_t> first_epoch) {
  if (log.first_epoch) return;
  log.first_epoch = first_epoch;
  if (log.abandoned_first_epoch && first_epoch && *first_epoch > *log.abandoned_first_epoch)
    throw FormatError(from.path("metadata.first_epoch_num") +
                      ": the run goes on from a checkpoint of one that ended early, so its log does not have its whole time");
}

void stop(Collected& log, const JsonFields& from, const std::optional<JsonFields>& metadata) {
  const auto status = metadata ? metadata->maybe_text("status") : std::nullopt;
  if (!status) throw FormatError(from.path("metadata.status") + ": missing; a run_stop says whether the run succeeded");
  log.stop_ms = time_of(from);
  log.status = *status;
}

void take(Collected& log, const JsonFields& from) {
  const std::string key = from.text("key");
  const auto metadata = [&] { return from.maybe_group("metadata"); };
  const auto epoch = [&](const char* name) {
    const auto group = metadata();
    return group ? whole(group->find(name)) : std::nullopt;
  };
  if (key == "submission_benchmark") set_once(log.benchmark, from);
  if (key == "submission_org") set_once(log.submitter, from);
  if (key == "submission_division") set_once(log.division, from);
  if (key == "global_batch_size") {
    const auto batch = whole(from.find("value"));
    if (!batch || *batch == 0 || (log.batch && log.batch != batch))
      throw FormatError(from.path("value") + ": must be a batch size, the same throughout");
    log.batch = batch;
  }
  if (key == "run_start") start(log, from);
  if (key == "run_stop") stop(log, from, metadata());
  if (key == "block_start") start_block(log, from, epoch("first_epoch_num"));
  if (key == "eval_accuracy") log.last_epoch = epoch("epoch_num");
  if (key == "train_samples") log.train_samples = whole(from.find("value"));
}

// What ResNet's epoch_num counts are epochs, what BERT's counts are samples.
void count_samples(MlperfLog& log, const Collected& found) {
  if (!found.last_epoch || !found.train_samples || *found.train_samples == 0) return;
  if (log.benchmark == "bert") {
    if (found.last_epoch == found.train_samples) log.samples = found.train_samples;
  } else if (found.first_epoch && *found.first_epoch <= *found.last_epoch) {
    const std::int64_t epochs = *found.last_epoch - *found.first_epoch + 1;
    if (epochs > kMaxSamples / *found.train_samples) return;
    log.epochs = epochs;
    log.samples = epochs * *found.train_samples;
  }
}

[[noreturn]] void incomplete(const std::string& path, const char* key) {
  throw FormatError(path + ": no " + key + " in a line of :::MLLOG; name the whole log of a run of MLPerf Training");
}

}  // namespace

MlperfLog parse_mlperf_log(const NamedText& file) {
  Collected found;
  std::size_t number = 0;
  for (std::string_view rest = file.text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    ++number;
    const std::string place = file.path + ":" + std::to_string(number);
    if (line.find(kOlderMark) != std::string_view::npos)
      throw FormatError(place + ": a line of MLPerf Training v0.5 or v0.6; logs of v0.7 and later are read");
    const auto mark = line.find(kMark);
    if (mark == std::string_view::npos) continue;
    const std::string_view text = trimmed(line.substr(mark + kMark.size()));
    if (!text.starts_with('{')) continue;  // MLPerf's logger writes [convert-error: ...] for a value that it cannot encode
    const Json event = parse_json(without_nan(text), place, RepeatedKeys::last_counts);
    take(found, JsonFields(event, place));
  }
  for (const auto& [text, key] : {std::pair{&found.benchmark, "submission_benchmark"},
                                  {&found.submitter, "submission_org"},
                                  {&found.division, "submission_division"}})
    if (text->empty()) incomplete(file.path, key);
  if (!found.start_ms) incomplete(file.path, "run_start");
  if (!found.stop_ms) incomplete(file.path, "run_stop");
  if (*found.stop_ms <= *found.start_ms) throw FormatError(file.path + ": run_stop is not after run_start");
  if (found.benchmark != "resnet" && found.benchmark != "bert")
    throw FormatError(file.path + ": a log of '" + found.benchmark.substr(0, 40) + "'; resnet and bert are read");
  MlperfLog log{
      found.benchmark, found.submitter, found.division, found.batch, *found.start_ms, *found.stop_ms, found.status, {}, {}};
  count_samples(log, found);
  return log;
}

}  // namespace epochbench
