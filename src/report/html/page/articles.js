// The page's section about the articles: their sentences, what was found, and on which evidence.
"use strict";

const CLASSES = {measured: "measured here", planned: "computed", published: "published by others", predicted: "predicted"};

// "why models need gpus" of why-models-need-gpus.txt.
const articleTitle = (file) => file.replace(/\.[^.]*$/, "").replaceAll("-", " ");

function quoteBlock(quote) {
  return element("blockquote", {}, `“${quote.text}”`, quote.reads ? ` (which reads ${quote.reads})` : null);
}

// Only a web address becomes a link.
function sourceItem({text, url}) {
  const isAddress = /^https:\/\/[^\s]+$/.test(url || "");
  return element("li", {}, isAddress ? element("a", {href: url, rel: "noreferrer"}, breakable(text)) : breakable(text));
}

function uniqueSources(answers) {
  const known = new Map();
  for (const source of answers.flatMap((answer) => answer.sources || [])) known.set(source.text + source.url, source);
  return [...known.values()];
}

function foundItem(answer) {
  const about = [answer.quantity, answer.conditions, given(answer.reason)].filter(Boolean).join("; ");
  return element("li", {}, element("strong", {}, answer.found_text), `, claimed ${answer.claimed_text}: `, breakable(about));
}

// What one class of evidence says: its verdict, its numbers, and its sources a click away.
function classPart(claim, kind) {
  const answers = (claim.parts || [claim]).filter((answer) => answer.evidence === kind && isKnown(answer.measured));
  const verdict = claim.verdicts[kind];
  if (!verdict && !answers.length) return null;
  const sources = uniqueSources(answers);
  return element("div", {class: "found"},
    element("h5", {}, `${CLASSES[kind]}: `, verdict ? colored(verdict) : "no verdict"),
    element("ul", {}, answers.map(foundItem)),
    sources.length ? folded(plural(sources.length, "source"), element("ul", {class: "notes"}, sources.map(sourceItem))) : null);
}

function saidCard(claim, file) {
  const found = Object.keys(CLASSES).map((kind) => classPart(claim, kind)).filter(Boolean);
  return element("article", {class: "card"},
    element("h4", {}, `${claim.text}: `, colored(claim.verdict_text)),
    claim.quotes.filter((quote) => quote.article === file).map(quoteBlock),
    given(claim.claim_conditions) ? element("p", {class: "muted"}, `said of: ${claim.claim_conditions}`) : null,
    found.length ? found : element("p", {}, `Not decided: ${given(claim.reason) || "nothing was found"}`));
}

function articlesSection(data) {
  if (!data.articles) return null;
  const {articles, claims} = data.articles;
  const decided = claims.filter((claim) => claim.verdict !== "not_testable").length;
  return [
    element("p", {}, `${plural(articles.length, "article")}, ${plural(claims.length, "claim")}, ${format.count(decided)} with a ` +
      "verdict. Each is shown below its sentence, quoted word for word, with a verdict per class of evidence: measured in these results, " +
      "computed by arithmetic, published by others, or predicted as a bound. Classes are never mixed; of others' figures the " +
      "range takes the place of an interval over repetitions."),
    articles.map(({file}) => [
      element("h3", {}, articleTitle(file)),
      element("div", {class: "claims"}, claims.filter((claim) => claim.quotes.some((quote) => quote.article === file))
        .map((claim) => saidCard(claim, file)))])].flat(2);
}
