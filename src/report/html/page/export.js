// Charts as separate files: each as SVG that does not depend on the page, and as PNG. Only in the page of `report --charts`.
"use strict";

const KEPT_STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "font-family", "font-size",
                     "font-weight", "text-anchor", "paint-order", "opacity", "display"];
const CHART_HEAD = 34, CHART_MARGIN = 16, PNG_SCALE = 2;

function withStyles(node) {
  const copy = node.cloneNode(true), originals = [node, ...node.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((each, at) => {
    const style = getComputedStyle(originals[at]);
    for (const key of KEPT_STYLES) each.style.setProperty(key, style.getPropertyValue(key));
    each.removeAttribute("class");
  });
  return copy;
}

// [name, title] of a chart: its section, and its number there if there are several.
function chartName(svg) {
  const section = svg.closest("section"), others = [...section.querySelectorAll("svg.chart")];
  const panelTitle = svg.closest(".panel").querySelector("h3"), number = others.length > 1 ? `-${others.indexOf(svg) + 1}` : "";
  return [section.id + number, section.querySelector("h2").textContent + (panelTitle ? `: ${panelTitle.textContent}` : "")];
}

function standalone(svg, title) {
  const width = svg.clientWidth + 2 * CHART_MARGIN, height = svg.clientHeight + CHART_HEAD + CHART_MARGIN;
  const file = d3.select(document.body).append("svg").attr({xmlns: "http://www.w3.org/2000/svg", width, height,
    viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": svg.getAttribute("aria-label")});
  const page = getComputedStyle(document.body);
  file.append("rect").attr({width, height, fill: page.backgroundColor});
  file.append("text").attr({x: CHART_MARGIN, y: 21, "font-family": page.fontFamily, "font-size": 15, "font-weight": 600,
                            fill: page.color}).text(title);
  const hatched = [...svg.querySelectorAll("rect")].map((rect) => /#(hatch-\d)/.exec(rect.style.fill)).filter(Boolean);
  const patterns = [...new Set(hatched.map(([, id]) => id))].map((id) => withStyles(document.getElementById(id)));
  const drawn = withStyles(svg);
  for (const [key, value] of [["x", CHART_MARGIN], ["y", CHART_HEAD], ["overflow", "visible"]]) drawn.setAttribute(key, value);
  if (patterns.length) file.append("defs").node().append(...patterns);
  file.node().append(drawn);
  file.remove();
  return {text: new XMLSerializer().serializeToString(file.node()), width, height};
}

async function pngOf({text, width, height}) {
  const image = new Image(width, height), canvas = document.createElement("canvas");
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  [canvas.width, canvas.height] = [width * PNG_SCALE, height * PNG_SCALE];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png").replace(/^data:image\/png;base64,/, "");
}

// Stores the charts as JSON in the page, so that reading them needs no browser.
async function exportCharts() {
  const charts = [];
  for (const svg of document.querySelectorAll("section .panel svg.chart")) {
    const [name, title] = chartName(svg), file = standalone(svg, title);
    charts.push({name, svg: file.text, png: await pngOf(file)});
  }
  document.body.append(element("script", {type: "application/json", id: "charts"},
    JSON.stringify(charts).replaceAll("<", "\\u003c").replaceAll("&", "\\u0026")));
}

exportCharts();
