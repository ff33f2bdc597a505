// Builds the page: the sections that have data, and the contents above them.
"use strict";

// [id, title in the contents, heading, builder, width]. Width: half of the page, or half if another half is alone ("fill").
const SECTIONS = [
  ["runs", "Runs", "Runs", runsSection],
  ["turns", "Interleaved", "Two interleaved binaries", turnsSection],
  ["history", "History", "History", historySection],
  ["throughput", "Throughput", "Throughput", throughputSection, "half"],
  ["epoch", "Epoch", "Time of an epoch", epochSection, "half"],
  ["cost", "Cost", "Cost of an epoch", costSection, "half"],
  ["energy", "Energy", "Energy of an epoch", energySection, "half"],
  ["memory", "Memory", "Memory", memorySection, "half"],
  ["steps", "Steps", "Step by step", stepsSection, "fill"],
  ["sweeps", "Sweeps", "Rate against size", sweepsSection],
  ["speedup", "Speedup", "Speedup", speedupSection],
  ["elsewhere", "Elsewhere", "On other devices", elsewhereSection],
  ["losses", "Loss", "Loss", lossSection],
  ["profiles", "Profile", "Where a step's time goes", profilesSection],
  ["claims", "Claims", "What articles claim", claimsSection],
  ["articles", "Articles", "What the articles say, and what was found", articlesSection],
  ["left-out", "Left out", "Not shown above", leftOutSection],
  ["places", "Where", "What was measured where", placesSection],
];

// The sections whose charts the first screen can show, with their headings there.
const LEADS = {throughput: ["How fast", fastestSection], speedup: ["GPU against CPU", acrossSection],
               sweeps: ["Rate against size", sweepsSection], turns: ["Two interleaved binaries", turnsSection],
               elsewhere: ["On other devices", elsewhereSection]};

function readData() {
  const data = JSON.parse(document.getElementById("data").textContent);
  data.rows = data.rows.map((row) => Object.fromEntries(data.columns.map((column, at) => [column, row[at]])));
  return data;
}

// Draws a section unless it is empty; returns whether it did.
function drawSection(place, id, title, kind, build) {
  const section = element("section", {id, class: kind, "aria-labelledby": `${id}-title`},
                          element("h2", {id: `${id}-title`}, title));
  orTrouble("This section", section, () => section.append(...[build()].flat().filter(isSomething)));
  if (section.childElementCount === 1) return false;
  place.append(section);
  return true;
}

function drawPage() {
  const data = readData(), [leadTitle, leadChart] = LEADS[data.head.lead] || [];
  preparePatterns();
  drawHead(data);
  if (leadChart) drawSection(document.getElementById("head"), "lead", leadTitle, "lead", () => leadChart(data));
  const contents = element("ul", {}, element("li", {class: "muted"}, "On this page:")), page = document.getElementById("page");
  let halves = 0;
  for (const [id, brief, title, build, width] of SECTIONS) {
    const half = width === "half" || (width === "fill" && halves % 2 === 1) ? "half" : null;
    if (build === leadChart || !drawSection(page, id, title, half, () => build(data))) continue;
    halves += half ? 1 : 0;
    contents.append(element("li", {}, element("a", {href: `#${id}`}, brief)));
  }
  document.getElementById("contents").append(contents);
  document.getElementById("contents").hidden = contents.childElementCount < 3;  // one section needs no list
  document.getElementById("plain").remove();
  for (const box of document.querySelectorAll(".panel")) box.redraw();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

try {
  drawPage();
} catch (error) {
  document.getElementById("page").append(element("p", {class: "trouble"}, `This page could not be drawn: ${error.message}`));
  throw error;
}
