// The first screen: the title by subject, a card per question with its answer, and how far the answers can be trusted.
"use strict";

const doubtMark = (doubts) => doubts.length ? element("abbr", {class: "doubt-mark", title: doubts.join("; ")}, "†") : null;

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

// A bar of a ratio's factors, each as long as its logarithm; those below 1 are hatched.
function factorBar(factors) {
  const total = factors.reduce((sum, {value}) => sum + Math.abs(Math.log(value)), 0);
  if (!(total > 0)) return null;
  return element("div", {class: "factors", "aria-hidden": "true"}, factors.map(({name, value, text}) => element("span",
    {class: value < 1 ? `${name} less` : name, style: `flex-grow: ${Math.abs(Math.log(value)) / total}`,
     title: `${text} ${name}`})));
}

const explained = ({explanation, factors}) =>
  explanation ? [factorBar(factors), element("p", {class: "explanation"}, `= ${explanation}`)] : [];

function answerOf(entry) {
  const {subject, finding, text, spread, doubts} = entry;
  return [element("p", {class: finding ? `answer ${verdictClass(finding)}` : "answer"}, finding || valueAndUnit(text), doubtMark(doubts)),
          element("p", {class: "subject"}, subject),
          spread ? element("p", {class: "spread"}, spread) : null, ...explained(entry)];
}

const NO_PRICE = () => [element("p", {class: "answer muted"}, "not known"),
  element("p", {class: "subject"}, "No price was given: ", element("code", {}, "--price cpu=USD_PER_HOUR"))];

// `said`: the reasons for doubt that earlier cards have.
function answerCard({title, entries, foot}, said) {
  const [first, ...others] = entries;
  return element("article", {class: "card answers"}, element("h2", {}, title), first ? answerOf(first) : NO_PRICE(),
    others.map(({subject, text, spread, doubts}) => element("p", {class: "other"},
      element("strong", {}, text, doubtMark(doubts)), ` ${subject}`, element("span", {class: "spread"}, spread))),
    doubtLines(entries).filter((line) => !said.has(line) && said.add(line)).map((line) => element("p", {class: "doubts"}, line)),
    foot ? element("p", {class: "foot"}, foot) : null);
}

function drawHead(data) {
  const {title, cards, trust} = data.head, said = new Set();
  document.getElementById("head").append(element("h1", {}, title), element("p", {class: "muted"}, data.content),
    ...(cards.length ? [element("div", {class: "cards answers"}, cards.map((card) => answerCard(card, said)))] : []),
    ...(trust.lines.length ? [element("p", {class: trust.sure ? "trust sure" : "trust"},
      element("strong", {}, trust.sure ? "✓ Can be trusted. " : "Read with care. "), trust.lines.join(" "))] : []));
}
