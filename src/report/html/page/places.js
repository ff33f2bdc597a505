// The sections of text and tables: all runs, what is in no chart, and where it was measured.
"use strict";

const machineName = (data, index) => data.machines[index].name;
const fileOf = (data, row) => data.files[row.file];
const rowName = (data, row) => row.name + (data.files.length > 1 ? ` (${fileOf(data, row).file})` : "");
const machineOf = (data, row) => fileOf(data, row).machine;

// One or more charts, with what they show and how to read them.
function figure(caption, ...content) {
  return element("figure", {}, element("figcaption", {}, caption), ...content);
}

// pairs: [term, text or node]; a pair without a text is left out.
function definitions(pairs) {
  return element("dl", {}, pairs.filter(([, text]) => text !== null).flatMap(([term, text]) =>
    [element("dt", {}, term), element("dd", {}, text)]));
}

const machineCard = ({title, terms, note}) => element("div", {class: "card"}, element("h3", {}, title), definitions(terms),
  note ? element("p", {class: "muted"}, note) : null);

function placesSection(data) {
  return folded("Machines, result files and builds",
    element("div", {class: "cards"}, data.machines.flatMap(({cards}) => cards.map(machineCard))),
    data.files.length ? sortableTable(data.tables.files) : null);
}

function runsSection(data) {
  if (!data.files.length) return null;
  const {runs, left_out: leftOut} = data.tables;
  if (!runs.rows.length && !leftOut.rows.length) return [element("p", {}, "The files contain no run.")];
  if (!runs.rows.length) return [element("p", {}, "No run succeeded; the last section says why.")];
  return [element("p", {class: "muted"}, data.runs_note), loadBanner(runs), sortableTable(runs)];
}

const leftOutSection = ({tables}) => tables.left_out.rows.length ? sortableTable(tables.left_out) : null;
