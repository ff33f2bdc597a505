#include "src/result/turns_json.h"

#include <limits>

#include "src/base/json.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

template <class T>
Json nullable(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json(const BuildInfo& build, const std::string& binary) {
  return {{"binary", binary},
          {"epochbench_version", build.version},
          {"git_sha", nullable(build.git_sha)},
          {"git_dirty", nullable(build.git_dirty)},
          {"build_type", build.build_type},
          {"compiler", build.compiler}};
}

Json json(const TurnsSide& side) {
  return {{"status", name(side.status)},
          {"message", nullable(side.message)},
          {"fingerprint", nullable(side.fingerprint)},
          {"isa", nullable(side.isa)},
          {"compile_seconds", nullable(side.compile_seconds)},
          {"step_seconds_median", nullable(side.step_seconds_median)},
          {"peak_bytes", nullable(side.peak_bytes)},
          {"steps", side.steps},
          {"first_losses", side.first_losses},
          {"final_loss", nullable(side.final_loss)},
          {"library_dropout_masks", side.library_dropout_masks},
          {"step_seconds", side.step_seconds}};
}

Json json(const TurnsPair& pair) {
  Json first = Json::array();
  for (const Side side : pair.first) first.push_back(kSideNames[side]);
  return {{"log_ratio", nullable(pair.log_ratio)},
          {"foreign_cpu_cores", nullable(pair.foreign_cpu_cores)},
          {"steps_per_turn", pair.steps_per_turn},
          {"dropped_rounds", pair.dropped_rounds},
          {"started_first", kSideNames[pair.started_first]},
          {"first_by_round", first},
          {kSideNames[kBaseline], json(pair.sides[kBaseline])},
          {kSideNames[kNew], json(pair.sides[kNew])}};
}

Json json(const TurnsCase& turns) {
  Json pairs = Json::array();
  for (const TurnsPair& pair : turns.pairs) pairs.push_back(json(pair));
  return {{"name", turns.name},
          {"model", turns.model},
          {"device", turns.device},
          {"precision", turns.precision},
          {"batch", turns.batch},
          {"threads", nullable(turns.threads)},
          {"skipped", nullable(turns.skipped)},
          {"pairs", pairs}};
}

Side read_side_name(const Json& value, const std::string& where) {
  for (const Side side : kSides)
    if (value.is_string() && value.get<std::string>() == kSideNames[side]) return side;
  throw FormatError(where + ": must be \"baseline\" or \"new\"");
}

BuildInfo read_build(const JsonFields& f) {
  return {f.text("epochbench_version"), f.maybe_text("git_sha"), f.maybe_boolean("git_dirty"), f.text("build_type"),
          f.text("compiler")};
}

TurnsSide read_side(const JsonFields& f) {
  TurnsSide side;
  side.status = read_status(f);
  side.message = f.maybe_text("message");
  side.fingerprint = f.maybe_text("fingerprint");
  side.isa = f.maybe_text("isa");
  side.compile_seconds = f.maybe_number("compile_seconds");
  side.step_seconds_median = f.maybe_number("step_seconds_median");
  side.peak_bytes = f.maybe_integer("peak_bytes");
  side.steps = f.integer("steps");
  side.first_losses = f.numbers("first_losses");
  side.final_loss = f.maybe_number("final_loss");
  side.library_dropout_masks = f.maybe_boolean("library_dropout_masks").value_or(false);
  side.step_seconds = f.numbers("step_seconds");
  return side;
}

TurnsPair read_pair(const JsonFields& f) {
  TurnsPair pair;
  pair.log_ratio = f.maybe_number("log_ratio");
  pair.foreign_cpu_cores = f.maybe_number("foreign_cpu_cores");
  pair.steps_per_turn = f.integer("steps_per_turn");
  pair.dropped_rounds = f.integer("dropped_rounds");
  pair.started_first = read_side_name(f.at("started_first"), f.path("started_first"));
  const Json& first = f.at("first_by_round");
  if (!first.is_array()) throw FormatError(f.path("first_by_round") + ": must be a list");
  for (const Json& side : first) pair.first.push_back(read_side_name(side, f.path("first_by_round")));
  for (const Side side : kSides) pair.sides[side] = read_side(f.group(kSideNames[side]));
  return pair;
}

TurnsCase read_case(const JsonFields& f) {
  TurnsCase turns;
  turns.name = f.text("name");
  turns.model = f.text("model");
  turns.device = f.text("device");
  turns.precision = f.text("precision");
  turns.batch = f.integer("batch");
  if (const auto threads = f.maybe_integer("threads")) {
    if (*threads < 1 || *threads > std::numeric_limits<int>::max()) throw FormatError(f.path("threads") + ": out of range");
    turns.threads = static_cast<int>(*threads);
  }
  turns.skipped = f.maybe_text("skipped");
  for (const JsonFields& pair : f.groups("pairs")) turns.pairs.push_back(read_pair(pair));
  return turns;
}

TurnsDocument read_document(const JsonFields& fields) {
  if (fields.integer("turns_version") < 1) throw FormatError(fields.path("turns_version") + ": must be at least 1");
  TurnsDocument document;
  document.context = read_context(fields.group("context"));
  document.suite = fields.text("suite");
  document.order_seed = fields.unsigned_integer("order_seed");
  document.threshold = fields.maybe_number("threshold");
  if (document.threshold && !(*document.threshold > 0)) throw FormatError(fields.path("threshold") + ": must be above 0");
  document.max_pairs = fields.maybe_integer("max_pairs");
  if (document.max_pairs && (*document.max_pairs < 1 || *document.max_pairs > std::int64_t{kMostPairsOfACall}))
    throw FormatError(fields.path("max_pairs") + ": out of range");
  for (const Side side : kSides) {
    const JsonFields build = fields.group(kSideNames[side]);
    document.builds[side] = read_build(build);
    document.binaries[side] = build.text("binary");
  }
  for (const JsonFields& turns : fields.groups("cases")) document.cases.push_back(read_case(turns));
  return document;
}

}  // namespace

std::string turns_to_text(const TurnsDocument& document) {
  Json cases = Json::array();
  for (const TurnsCase& turns : document.cases) cases.push_back(json(turns));
  Json whole = {{"turns_version", kTurnsVersion},
                {"context", context_to_json(document.context)},
                {"suite", document.suite},
                {"order_seed", document.order_seed},
                {"threshold", nullable(document.threshold)},
                {"max_pairs", nullable(document.max_pairs)}};
  for (const Side side : kSides) whole[kSideNames[side]] = json(document.builds[side], document.binaries[side]);
  whole["cases"] = std::move(cases);
  return print_json(whole);
}

bool is_turns(const Json& document) { return document.is_object() && document.contains("turns_version"); }

TurnsDocument parse_turns(std::string_view text, const std::string& source) {
  return turns_from_json(parse_json(text, source), source);
}

TurnsDocument turns_from_json(const Json& document, const std::string& source) {
  const JsonFields fields(document, source);
  if (!fields.find("turns_version")) throw FormatError(source + ": no turns_version, so not a file of compare --interleave");
  const std::int64_t version = fields.integer("turns_version");
  if (version > kTurnsVersion)
    throw FormatError(source + ": version " + std::to_string(version) + " is newer than this epochbench, which reads up to " +
                      std::to_string(kTurnsVersion) + "; update epochbench");
  try {
    return read_document(fields);
  } catch (const FormatError& error) {
    throw FormatError(std::string(error.what()) + "; results/turns.schema.json says what belongs there");
  }
}

}  // namespace epochbench
