// The page's section of claims: what articles say, what was measured, under which conditions, and the verdict.
"use strict";

const VERDICTS = {reproduced: "✓ reproduced", exceeded: "▲ exceeded", not_reproduced: "✗ not reproduced",
                  undecided: "? undecided", not_testable: "– not testable here"};

const withUnit = (text, unit) => !unit ? text : unit === "x" ? `${text}×` : `${text} ${unit}`;
const given = (text) => text && text !== "none given" ? text : null;
const isMeasured = (answer) => isKnown(answer.measured) || (answer.parts || []).some(isMeasured);

function claimedText({claimed: [low, high], unit}) {
  if (!isKnown(low) && !isKnown(high)) return "no figure";
  if (!isKnown(high)) return `above ${withUnit(significant(low), unit)}`;
  if (!isKnown(low)) return `at most ${withUnit(significant(high), unit)}`;
  if (low === high) return withUnit(significant(low), unit);
  return `${significant(low)} to ${withUnit(significant(high), unit)}`;
}

function measuredText({measured, measured_ci95: ends, unit, evidence}) {
  if (!isKnown(measured)) return UNKNOWN;
  if (!ends) return withUnit(significant(measured), unit);
  if (evidence === "predicted") return `${isKnown(ends[1]) ? "at most" : "at least"} ${withUnit(significant(measured), unit)}`;
  const range = format.interval(ends, significant);
  return `${withUnit(significant(measured), unit)} (${range}${evidence === "published" ? "" : " at 95 %"})`;
}

// Includes the class of evidence unless a run measured it.
const verdictMark = ({verdict, evidence}) =>
  colored(VERDICTS[verdict] + (evidence && evidence !== "measured" ? ` (${evidence})` : ""));

// The claimed range as a band, the measured value with its interval over it; null if one of them is missing.
function rangeStrip(answer) {
  const {claimed, measured, measured_ci95: ends} = answer, width = 160;
  if (!isKnown(measured) || !claimed.some(isKnown) || (ends && !ends.every(isKnown))) return null;
  const [low, high] = d3.extent([...claimed.filter(isKnown), measured, ...(ends || [])]);
  const margin = (high - low || Math.abs(high) || 1) * 0.15;
  const scale = d3.scale.linear().domain([low - margin, high + margin]).range([0, width]);
  const [from, to] = [isKnown(claimed[0]) ? scale(claimed[0]) : 0, isKnown(claimed[1]) ? scale(claimed[1]) : width];
  const box = element("div", {class: "strip"}), strip = d3.select(box).append("svg").attr({width, height: 24, role: "img",
    "aria-label": `claimed ${claimedText(answer)}, found ${measuredText(answer)}`});
  strip.append("line").attr({class: "base", x1: 0, x2: width, y1: 12.5, y2: 12.5});
  strip.append("rect").attr({class: "band", x: from, y: 2, width: Math.max(to - from, 2), height: 20});
  if (ends) whisker(strip, scale(ends[0]), scale(ends[1]), 12);
  placeMark(strip.append("g").attr("class", "ink-1"), "circle", 60, scale(measured), 12);
  return box;
}

// What an answer is based on; its doubts are long, so they are a click away.
function conditionsCell(answer) {
  const doubts = answer.warnings.map((warning) => element("li", {}, warning));
  const about = [answer.conditions, given(answer.reason)].filter(Boolean).join("; ");
  return [about, doubts.length ? folded(plural(doubts.length, "reservation"), element("ul", {class: "notes"}, doubts)) : null];
}

function answersTable(claim, answers) {
  const head = ["of", "verdict", "claimed and found", "found", "claimed", "quantity", "under which conditions"];
  const rows = answers.map((answer) => element("tr", {role: "row"},
    element("th", {scope: "row", role: "rowheader"}, breakable(answer.id)),
    [verdictMark(answer), rangeStrip(answer), measuredText(answer), claimedText(answer), answer.quantity]
      .map((cell, at) => element("td", {role: "cell", "data-label": head[at + 1]}, cell)),
    element("td", {class: "prose", role: "cell", "data-label": head[6]}, conditionsCell(answer))));
  return scrollableTable(`Answers to ${claim.id}`, head, element("tbody", {}, rows));
}

function claimCard(claim) {
  const parts = (claim.parts || []).filter(isMeasured);
  return element("article", {class: "card"},
    element("h3", {}, claim.id, " ", verdictMark(claim)), element("p", {}, claim.text),
    definitions([["said of", given(claim.claim_conditions)], ["origin", given(claim.origin)],
                 ["verdict", given(claim.verdict_follows)], ["reason", parts.length ? given(claim.reason) : null]]),
    answersTable(claim, parts.length ? parts : [claim]));
}

function claimsSection(data) {
  if (!data.claims) return null;
  const {claims, conflicts} = data.claims, tested = claims.filter(isMeasured), others = data.tables.claims;
  const counts = Object.keys(VERDICTS).map((verdict) =>
    [claims.filter((claim) => claim.verdict === verdict).length, VERDICTS[verdict].slice(2)]);
  return [
    element("p", {}, `${plural(claims.length, "claim")}: ` + counts.filter(([count]) => count)
      .map(([count, text]) => `${format.count(count)} ${text}`).join(", ") + ". A verdict compares the measured 95 % " +
      "interval of repetitions or seeds with the claimed range (the band): inside it reproduced, on the far side of the claim " +
      "exceeded, on the near side not reproduced, across a bound undecided."),
    element("div", {class: "claims"}, tested.map(claimCard)),
    others.rows.length ? folded(`${plural(others.rows.length, "claim")} not measured, and why`, sortableTable(others)) : null,
    conflicts.length ? folded("Claims that cannot hold together", element("ul", {},
      conflicts.map((conflict) => element("li", {}, `${conflict.claims.join(", ")}: ${conflict.why}`)))) : null];
}
