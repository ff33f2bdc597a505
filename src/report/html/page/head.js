// The first screen: the title by subject, a card per question with its answer, and how far the answers can be trusted.
"use strict";

const perSample = (value) => `${format.rate(value)} samples/s`;
const bare = (text) => (value, one) => text(value, one).replace(/ samples\/s$| points$|×$/, "");  // for an interval's ends
const asMoney = (value, {currency}) => format.money(value, currency);
const asChange = (ratio) => `${ratio >= 1 ? "+" : "−"}${significant(Math.abs(ratio - 1) * 100)} %`;
const points = (value) => `${value < 0 ? "−" : "+"}${significant(Math.abs(value) * 100, 2)} points`;

function qualityValue(value, {metric, difference}) {
  if (metric !== "accuracy") return `${difference && value >= 0 ? "+" : ""}${significant(value)}`;
  return difference ? points(value) : format.percent(value);
}

function targetNote({target, reached, n, usd}) {
  const count = n > 1 ? `, reached by ${reached} of ${n}` : reached ? "" : ", not reached";
  return target + count + (isKnown(usd) ? `, ${format.money(usd)}` : "");
}

// What a card is called, its value as text, what the value is of, and what it follows from.
const CARDS = {
  speed: {title: "Speed", text: perSample},
  epoch: {title: "Time of an epoch", text: format.seconds, note: ({kind, epoch}) => [kind, epoch].filter(Boolean).join(": ")},
  cost: {title: "Cost of an epoch", text: asMoney,
         foot: ({source}) => source && `price: ${source === "user" ? "as given" : source}`,
         none: ["not known", "No price was given: ", element("code", {}, "--price cpu=USD_PER_HOUR")]},
  speedup: {title: "Speedup", text: format.times},
  target: {title: "Time to the target", text: format.seconds, note: targetNote},
  quality: {title: "Quality", text: qualityValue, note: ({metric, difference}) => difference ? null : `test ${metric}`},
  regression: {title: "Verdict", text: (_, {verdict}) => FINDINGS[verdict], alone: true},
  change: {title: "Largest change", text: asChange, note: () => "step time, new over baseline"},
};

// "95 % interval 11.7 to 14.6, n=5", "range of 3 runs: 6.2 to 7.9", "one run".
function spreadText(one, text) {
  const ends = format.interval(one.ends, (value) => bare(text)(value, one));
  if (one.spread === "ci95" && ends) return `95 % interval ${ends}, n=${one.n}`;
  if (one.spread === "range" && ends) return `range of ${one.n} runs: ${ends}`;
  return one.n === 1 ? `one ${one.unit === "seed" ? "seed" : "run"}, so no interval` : `${one.n} ${one.unit}, so no interval`;
}

const doubtMark = (doubts) => doubts.length ? element("abbr", {class: "doubt-mark", title: doubts.join("; ")}, "†") : null;

function subjectOf(note, one) {
  const aside = note ? note(one) : null;
  return aside ? `${one.subject} (${aside})` : one.subject;
}

// One line for all if they share their reasons, else one per model.
function doubtLines(entries) {
  const texts = entries.map(({doubts}) => doubts.join("; "));
  if (new Set(texts).size === 1) return texts[0] ? [`† ${texts[0]}`] : [];
  return entries.flatMap(({subject}, index) => texts[index] ? [`† ${subject.split(",")[0]}: ${texts[index]}`] : []);
}

// "13.0 samples/s" with its unit in smaller letters.
function valueAndUnit(text) {
  const [, value, unit] = /^(\S*\d)( .*)$/.exec(text) ?? [null, text, null];
  return [value, unit && element("small", {}, unit)];
}

function answerOf({text, note, alone}, one) {
  const classes = alone ? `answer verdict v-${one.verdict}` : "answer";
  return [element("p", {class: classes}, valueAndUnit(text(one.value, one)), doubtMark(one.doubts)),
          element("p", {class: "subject"}, subjectOf(note, one)),
          alone ? null : element("p", {class: "spread"}, spreadText(one, text))];
}

function answerCard({id, entries}) {
  const kind = CARDS[id], [first, ...others] = entries;
  return element("article", {class: "card answers"}, element("h2", {}, kind.title),
    first ? answerOf(kind, first)
      : [element("p", {class: "answer muted"}, kind.none[0]), element("p", {class: "subject"}, kind.none.slice(1))],
    others.map((one) => element("p", {class: "other"}, element("strong", {}, kind.text(one.value, one), doubtMark(one.doubts)),
      ` ${subjectOf(kind.note, one)}`, element("span", {class: "spread"}, spreadText(one, kind.text)))),
    doubtLines(entries).map((line) => element("p", {class: "doubts"}, line)),
    first && kind.foot ? element("p", {class: "foot"}, kind.foot(first)) : null);
}

// "AMD EPYC, 2 cores", with its letter if there are several.
function machineLine(machine, index, data) {
  const cores = isKnown(machine.cpu.cores) ? `, ${plural(machine.cpu.cores, "core")}` : "";
  const name = [machine.host, machine.cpu.model + cores, ...machine.gpus.map((gpu) => gpu.name)].filter(Boolean).join(", ");
  return data.machines.length > 1 ? `${machineName(index)}: ${name}` : name;
}

function contentLine(data) {
  const dates = [...data.files, ...data.turns].map(({date}) => format.day(date)).sort();
  const days = dates[0] === dates[dates.length - 1] ? dates[0] : `${dates[0]} to ${dates[dates.length - 1]}`;
  const commits = [...new Set(data.files.filter((file) => file.git_sha).map((file) => shortSha(file).slice(0, 7)))];
  const runs = d3.sum(data.files, (file) => file.runs), cases = d3.sum(data.turns, (turns) => turns.cases.length);
  const empty = runs - d3.sum(data.files, (file) => file.ok);  // failed and interrupted ones
  const without = empty ? ` (${empty} of them without a result)` : "";
  return [data.files.length ? `${plural(runs, "run")}${without} in ${plural(data.files.length, "result file")}` : null,
          data.turns.length ? `${plural(cases, "case")} of two interleaved binaries` : null, days,
          commits.length ? `epochbench at ${commits.slice(0, 3).join(", ")}${commits.length > 3 ? ", …" : ""}` : null]
    .filter(Boolean).join(" · ");
}

const MOST_MACHINES = 4;  // by name above the cards

function drawHead(data) {
  const {title, cards, trust} = data.head, machines = data.machines.slice(0, MOST_MACHINES);
  const rest = data.machines.length - machines.length;
  document.getElementById("head").append(element("h1", {}, title),
    element("p", {class: "muted"}, machines.map((machine, index) => machineLine(machine, index, data)).join("; ") +
      (rest ? `; and ${rest} more` : "") + " · " + contentLine(data)),
    ...(cards.length ? [element("div", {class: "cards answers"}, cards.map(answerCard))] : []),
    ...(trust.lines.length ? [element("p", {class: trust.sure ? "trust sure" : "trust"},
      element("strong", {}, trust.sure ? "✓ Can be trusted. " : "Read with care. "), trust.lines.join(" "))] : []));
}
