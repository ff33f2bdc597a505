// The page's section of claims: what articles say, what was measured, under which conditions, and the verdict.
"use strict";

const given = (text) => text && text !== "none given" ? text : null;
const isMeasured = (answer) => isKnown(answer.measured) || (answer.parts || []).some(isMeasured);

// The claimed range as a band, the measured value with its interval over it; null if one of them is missing.
function rangeStrip(answer) {
  const {claimed, measured, measured_ci95: ends} = answer, width = 160;
  if (!isKnown(measured) || !claimed.some(isKnown) || (ends && !ends.every(isKnown))) return null;
  const [low, high] = d3.extent([...claimed.filter(isKnown), measured, ...(ends || [])]);
  const margin = (high - low || Math.abs(high) || 1) * 0.15;
  const scale = d3.scale.linear().domain([low - margin, high + margin]).range([0, width]);
  const [from, to] = [isKnown(claimed[0]) ? scale(claimed[0]) : 0, isKnown(claimed[1]) ? scale(claimed[1]) : width];
  const box = element("div", {class: "strip"}), strip = d3.select(box).append("svg").attr({width, height: 24, role: "img",
    "aria-label": `claimed ${answer.claimed_text}, found ${answer.found_text}`});
  strip.append("line").attr({class: "base", x1: 0, x2: width, y1: 12.5, y2: 12.5});
  strip.append("rect").attr({class: "band", x: from, y: 2, width: Math.max(to - from, 2), height: 20});
  if (ends) whisker(strip, scale(ends[0]), scale(ends[1]), 12);
  placeMark(strip.append("g").attr("class", "ink-1"), "circle", 60, scale(measured), 12);
  return box;
}

// The table of a claim's answers, with a strip beside each number that was found.
function answersTable(table, answers) {
  const rows = table.rows.map((row) => tableRow(table.columns, row)), found = table.columns.findIndex(([title]) => title === "found");
  rows.forEach((row, at) => row.children[found].append(...[rangeStrip(answers[at])].filter(Boolean)));
  return [scrollableTable(table.title, table.columns.map(([title]) => title), element("tbody", {}, rows)), numberedNotes(table)];
}

function claimCard(claim, table) {
  const parts = (claim.parts || []).filter(isMeasured);
  return element("article", {class: "card"},
    element("h3", {}, claim.id, " ", colored(claim.verdict_text)), element("p", {}, claim.text),
    definitions([["said of", given(claim.claim_conditions)], ["origin", given(claim.origin)],
                 ["verdict", given(claim.verdict_follows)], ["reason", parts.length ? given(claim.reason) : null]]),
    answersTable(table, parts.length ? parts : [claim]));
}

function claimsSection(data) {
  if (!data.claims) return null;
  const {claims, conflicts, counts} = data.claims, tested = claims.filter(isMeasured), others = data.tables.claims;
  return [
    element("p", {}, `${counts}. A verdict compares the measured 95 % interval of repetitions or seeds with the claimed range ` +
      "(the band): inside it reproduced, on the far side of the claim exceeded, on the near side not reproduced, across a bound " +
      "undecided."),
    element("div", {class: "claims"}, tested.map((claim) => claimCard(claim, data.tables[`claim ${claim.id}`]))),
    others.rows.length ? folded(`${plural(others.rows.length, "claim")} not measured, and why`, sortableTable(others)) : null,
    conflicts.length ? folded("Claims that cannot hold together", element("ul", {},
      conflicts.map((conflict) => element("li", {}, `${conflict.claims.join(", ")}: ${conflict.why}`)))) : null];
}
