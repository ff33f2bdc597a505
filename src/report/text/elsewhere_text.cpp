// The answer of `plan FILE --on`, `answers --on` and `report --on`.
#include <algorithm>

#include "src/base/cpu_name.h"
#include "src/base/json_fields.h"
#include "src/base/text.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/conclusions.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

Cell figure_cell(const RangedFigure& figure, const NumberText& number) {
  return figure.value ? Cell(number(*figure.value), "", *figure.value) : Cell();
}

Cell ends_cell(const RangedFigure& figure, const NumberText& number = three_digits) {
  return figure.ends ? Cell(range_text(*figure.ends, number)) : Cell();
}

// The second prediction of a GPU has one mark, so that its row stays narrow.
std::string marks(const ElsewhereRow& row, Notes& notes) {
  std::vector<std::string> texts = row.notes;
  if (row.usd_per_epoch.value) texts.push_back("price: " + row.price);
  if (row.tuned) texts = {joined(texts, "; ")};
  return joined(
      texts, [&](const std::string& text) { return notes.mark(text); }, "");
}

// "resnet50; cpu: AMD EPYC, Zen 4 (Genoa); an epoch: ImageNet, 1,281,167 images".
std::string subject_line(const Elsewhere& answer) {
  const Run& run = *answer.baseline;
  return run.workload.model + "; cpu: " + short_cpu_name(run.device.name) + "; an epoch: " + epochs_text({&run.workload});
}

// " (batch 128)" where the setting leaves room for another batch than the device's row has.
std::string batch_note(const ElsewhereChange::Ratio& ratio, const Elsewhere& answer) {
  for (const ElsewhereRow& row : answer.rows)
    if (row.evidence == EvidenceClass::predicted && row.device == ratio.device && row.batch != ratio.batch &&
        ratio.batch != answer.baseline->workload.batch)
      return " (batch " + format_count(ratio.batch) + ")";
  return "";
}

// In parentheses where they cannot carry an answer, as in the tables of `speedup`.
NumberText ratio_text(const Elsewhere& answer) {
  return [usable = answer.unusable.empty()](double ratio) {
    return usable ? format_times(ratio) : "(" + format_times(ratio) + ")";
  };
}

// At most three lines on what would change the answer.
std::vector<std::string> change_lines(const Elsewhere& answer) {
  std::vector<std::string> lines;
  for (const ElsewhereChange& change : answer.changes)
    lines.push_back(change.setting + ": " + joined(change.ratios, [&](const ElsewhereChange::Ratio& ratio) {
                      if (!ratio.value) return without_maker(ratio.device) + " not known";
                      return without_maker(ratio.device) + " " + ratio_text(answer)(*ratio.value) + batch_note(ratio, answer);
                    }));
  const ElsewhereRow& fastest =
      *std::ranges::max_element(answer.rows, {}, [](const ElsewhereRow& row) { return row.rate.value.value_or(0); });
  const Workload& work = answer.baseline->workload;
  if (work.dataset == "synthetic" && !work.tokens_per_sample && &fastest != &answer.rows.front())
    lines.push_back("with images from disk, reading and decoding must keep up with the " + format_rate(*fastest.rate.value) +
                    " images/s of " + device_text(fastest) + ", or the input decides (epochbench run --data images:DIR)");
  return lines;
}

Json figure_json(const RangedFigure& figure) { return {{"value", json_of(figure.value)}, {"interval", json_of(figure.ends)}}; }

Json row_json(const ElsewhereRow& row) {
  return {{"evidence", name(row.evidence)},
          {"device", row.device},
          {"program", row.program},
          {"precision", name(row.precision)},
          {"batch", row.batch},
          {kThroughput.key, figure_json(row.rate)},
          {"ratio", figure_json(row.ratio)},
          {"epoch_seconds", figure_json(row.epoch_seconds)},
          {"usd_per_epoch", figure_json(row.usd_per_epoch)},
          {"whole_usd_per_epoch", figure_json(row.whole_usd_per_epoch)},
          {"price_source", text_or_null(row.price)},
          {"notes", row.notes}};
}

Json elsewhere_json(const Elsewhere& answer) {
  Json changes = Json::array();
  for (const ElsewhereChange& change : answer.changes) {
    const auto ratio_json = [](const ElsewhereChange::Ratio& ratio) {
      return Json{{"device", ratio.device}, {"ratio", json_of(ratio.value)}, {"batch", ratio.batch}};
    };
    changes.push_back({{"setting", change.setting}, {"ratios", json_list(change.ratios, ratio_json)}});
  }
  return {{"model", answer.baseline->workload.model},
          {"cpu", short_cpu_name(answer.baseline->device.name)},
          {"samples_per_epoch", answer.baseline->workload.samples_per_epoch},
          {"unusable", text_or_null(answer.unusable)},
          {"conclusions", conclusions(answer)},
          {"rows", json_list(answer.rows, row_json)},
          {"changes", std::move(changes)}};
}

}  // namespace

View elsewhere_view(const Elsewhere& answer) {
  View view = {answer.baseline->workload.model + " elsewhere: what was measured here (cpu: " +
                   short_cpu_name(answer.baseline->device.name) + "), published by others and predicted" +
                   joined(
                       conclusions(answer), [](const std::string& line) { return "; " + line; }, ""),
               columns("/device|evidence|-program|-precision|->batch|>samples/s|>ratio|->interval|>epoch|>cost/epoch|"
                       "-->interval of cost|notes")};
  Notes notes;
  const NumberText ratio = ratio_text(answer);
  for (const ElsewhereRow& row : answer.rows)
    view.rows.push_back({device_text(row), name(row.evidence), row.program, name(row.precision), format_count(row.batch),
                         figure_cell(row.rate, format_rate), figure_cell(row.ratio, ratio), ends_cell(row.ratio),
                         figure_cell(row.epoch_seconds, format_seconds), figure_cell(row.usd_per_epoch, format_usd),
                         ends_cell(row.usd_per_epoch, format_usd), marks(row, notes)});
  view.notes = notes.all();
  return view;
}

std::string elsewhere_text(const std::vector<Elsewhere>& answers, bool verbose) {
  std::string text;
  for (const Elsewhere& answer : answers) {
    const View view = elsewhere_view(answer);
    append(text, subject_line(answer) + "\n", "\n");
    text += terminal_table(view);
    for (const std::string& line : conclusions(answer)) text += wrapped("", "", line);
    for (const std::string& line : change_lines(answer)) text += wrapped("", "", line);
    text += notes_below(numbered(view.notes), verbose);
  }
  return text + "\n" +
         wrapped("", "",
                 "ratio: samples per second over the first row's. Intervals: 95 % over processes where measured; 80 % where "
                 "predicted, over the interval of the first row. Published and predicted rows are of other programs, so their "
                 "ratios compare programs as well as devices, and their costs are of the whole cheapest instance with the "
                 "device; measured costs are as their notes say. The cheapest and the fastest are chosen among rows that were "
                 "measured "
                 "or predicted as most people run them.");
}

Json elsewhere_json(const std::vector<Elsewhere>& answers) {
  return json_list(answers, [](const Elsewhere& answer) { return elsewhere_json(answer); });
}

}  // namespace epochbench
