// Builds the page: the sections that have data, and the contents above them.
"use strict";

const SECTIONS = [  // [id, in the contents, heading, what makes it]
  ["places", "Where", "What was measured where", placesSection],
  ["runs", "Runs", "Runs", runsSection],
  ["throughput", "Throughput", "Throughput", throughputSection],
  ["epoch", "Epoch", "Time of an epoch", epochSection],
  ["speedup", "Speedup", "Speedup", speedupSection],
  ["cost", "Cost", "Cost of an epoch", costSection],
  ["energy", "Energy", "Energy of an epoch", energySection],
  ["sweeps", "Sweeps", "Rate against size", sweepsSection],
  ["turns", "Interleaved", "Two interleaved binaries", turnsSection],
  ["history", "History", "History", historySection],
  ["losses", "Loss", "Loss", lossSection],
  ["steps", "Steps", "Step by step", stepsSection],
  ["memory", "Memory", "Memory", memorySection],
  ["profiles", "Profile", "Where a step's time goes", profilesSection],
  ["claims", "Claims", "What articles claim", claimsSection],
  ["left-out", "Left out", "What no chart shows", leftOutSection],
];

function readData() {
  const data = JSON.parse(document.getElementById("data").textContent);
  data.rows = data.rows.map((row) => Object.fromEntries(data.columns.map((column, at) => [column, row[at]])));
  return data;
}

function drawHead(data) {
  const dates = [...data.files, ...data.turns].map(({date}) => format.day(date)).sort();
  const runs = d3.sum(data.files, (file) => file.runs), cases = d3.sum(data.turns, (turns) => turns.cases.length);
  const content = [data.files.length ? `${plural(runs, "run")} in ${plural(data.files.length, "result file")}` : null,
                   data.turns.length ? `${plural(cases, "case")} of two interleaved binaries` : null].filter(Boolean);
  const days = dates[0] === dates[dates.length - 1] ? dates[0] : `${dates[0]} to ${dates[dates.length - 1]}`;
  document.getElementById("head").append(element("h1", {}, "epochbench report"),
    element("p", {class: "muted"}, `${content.join(" and ")}, of ` +
      `${plural(data.machines.length, "machine")}, ${days}`));
}

function drawPage() {
  const data = readData();
  preparePrecisions(data.precisions);
  drawHead(data);
  const contents = element("ul");
  for (const [id, brief, title, build] of SECTIONS) {
    const section = element("section", {id, "aria-labelledby": `${id}-title`}, element("h2", {id: `${id}-title`}, title));
    orTrouble("This section", section, () => section.append(...[build(data)].flat().filter(isSomething)));
    if (section.childElementCount === 1) continue;
    document.getElementById("page").append(section);
    contents.append(element("li", {}, element("a", {href: `#${id}`}, brief)));
  }
  document.getElementById("contents").append(contents);
  for (const box of document.querySelectorAll(".panel")) box.redraw();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

try {
  drawPage();
} catch (error) {
  document.getElementById("page").append(element("p", {class: "trouble"}, `This page could not be drawn: ${error.message}`));
  throw error;
}
