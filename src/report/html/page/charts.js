// Charts on D3's scales, axes and shapes: bars with whiskers, and points or lines over two axes. They know nothing of results.
//
// A panel holds one chart and draws it again when its width changes, so that text keeps its size on a phone.
"use strict";

// Names that have their own color, by device and precision; the last color is for all others.
const INKS = ["CPU fp32", "CPU bf16", "GPU fp32", "GPU bf16", "GPU tf32", "GPU fp16", "PyTorch fp32", "PyTorch bf16"];
const SYMBOLS = {cpu: "circle", cuda: "triangle-up", pytorch: "diamond"};

// Makes a hatched pattern for each color.
function preparePatterns() {
  const pattern = d3.select(".patterns defs").selectAll("pattern").data([...INKS, "other"]).enter().append("pattern")
    .attr({id: (_, index) => `hatch-${index}`, class: (_, index) => `ink-${index}`, width: 6, height: 6,
           patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)"});
  pattern.append("rect").attr({width: 6, height: 6});
  pattern.append("path").attr("d", "M0 0V6");
}

// "GPU bf16": a name that has one color.
const inkName = (precision, onGpu, backend) => `${backend === "pytorch" ? "PyTorch" : onGpu ? "GPU" : "CPU"} ${precision}`;

// Classes that give a mark its color, and its hatching or dash (device).
function looks(precision, onGpu, backend) {
  const device = onGpu ? "on-gpu" : backend === "cpu" ? "on-cpu" : "on-other";
  const ink = INKS.indexOf(inkName(precision, onGpu, backend));
  return `ink-${ink < 0 ? INKS.length : ink} ${device}`;
}

// Lines that would share a color get different ones.
function distinct(lines) {
  if (new Set(lines.map((line) => line.classes)).size === lines.length) return lines;
  return lines.map((line, at) => ({...line, classes: line.classes.replace(/ink-\d/, `ink-${at % (INKS.length + 1)}`)}));
}
const hatching = (classes) => `url(#hatch-${/ink-(\d)/.exec(classes)[1]})`;
const symbolOf = (backend) => SYMBOLS[backend] || "square";
const shapeOf = (symbol, size = 64) => d3.svg.symbol().type(symbol).size(size)();

// Shows an error in a chart or section in its place, so that the rest of the page is drawn.
function orTrouble(what, place, draw) {
  try {
    draw();
  } catch (error) {
    console.error(error);
    place.append(element("p", {class: "trouble"}, `${what} could not be drawn: ${error.message}`));
  }
}

const watcher = new ResizeObserver((entries) => entries.forEach((entry) => entry.target.redraw()));

// draw(box, width) appends one svg of newChart() to the box.
function panel(title, draw, ...notes) {
  const box = element("div", {class: "panel"}, title ? element("h3", {}, title) : null, ...notes);
  let drawn = 0;
  box.redraw = () => {
    const width = Math.floor(box.clientWidth);
    if (width === drawn || width === 0) return;
    drawn = width;
    d3.select(box).selectAll("svg.chart, .trouble").remove();
    orTrouble("This chart", box, () => draw(box, width));
    box.dataset.drawn = "true";
  };
  watcher.observe(box);
  return box;
}

const barsPanel = (title, bars, axis, ...notes) => panel(title, (box, width) => drawBars(box, width, bars, axis), ...notes);
const curvesPanel = (title, chart, ...notes) => panel(title, (box, width) => drawCurves(box, width, chart), ...notes);

// [choice, place]: a list to choose one of `names` from, and the place that shows `make(its index)`; initially the first.
function choiceOf(label, names, place, make) {
  const show = (index) => {
    for (const old of place.querySelectorAll(".panel")) watcher.unobserve(old);
    place.replaceChildren(...[make(index)].flat());
  };
  const list = element("select", {onchange: (event) => show(Number(event.target.value))},
    names.map((name, index) => element("option", {value: index}, name)));
  show(0);
  return [element("div", {class: "controls"}, element("label", {}, label, list)), place];
}

// One panel per item: the first few at once, the others on demand.
function panels(items, make, {wide = items.length === 1, first = 12, what}) {
  const box = element("div", {class: wide ? "grid wide" : "grid"});
  const more = element("button", {type: "button", class: "more", onclick: () => show(items.length)});
  let shown = 0;
  const show = (count) => {
    box.append(...items.slice(shown, count).map(make));
    shown = Math.min(count, items.length);
    more.textContent = `Draw the other ${format.count(items.length - shown)} ${what}`;
    more.hidden = shown === items.length;
  };
  show(first);
  return element("div", {}, box, more);
}

function newChart(box, width, height, label) {
  return d3.select(box).append("svg")
    .attr({class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label});
}

// The width of a text in a chart, since SVG has no layout.
const ruler = document.createElement("canvas").getContext("2d");
function textWidth(text) {
  ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width + 4;
}

// Breaks a text into lines that fit, after blanks and slashes, and within a word if necessary.
function linesOf(text, width) {
  const fits = (line) => textWidth(line.trimEnd()) <= width, lines = [""];
  const add = (part) => {
    if (lines.at(-1) === "" || fits(lines.at(-1) + part)) lines.push(lines.pop() + part);
    else lines.push(part);
  };
  for (const word of text.split(/(?<=[ /])/)) (fits(word) ? [word] : [...word]).forEach(add);
  return lines;
}

function placeMark(group, symbol, size, x, y) {
  return group.append("path").attr({class: "dot", d: shapeOf(symbol, size), transform: `translate(${x},${y})`});
}

function whisker(group, low, high, y) {
  group.append("path").attr({class: "whisker", d: `M${low},${y - 4}v8M${low},${y}H${high}M${high},${y - 4}v8`});
}

// ticks: the values to mark; null: as many as there is room for. size: of the lines, below 0 across the chart.
function drawAxis(area, scale, side, at, {size, room, log = false, ticks = null, text = short}) {
  const across = side === "bottom", many = Math.max(2, Math.floor(room / (across ? 76 : 44)));
  const axis = d3.svg.axis().scale(scale).orient(side).outerTickSize(0).innerTickSize(size).tickPadding(6);
  axis.tickValues(ticks || (log ? logTicks : linearTicks)(scale.domain(), many)).tickFormat(text);
  area.append("g").attr({class: "axis quiet", transform: `translate(0,${at})`}).call(axis);
}

const linearTicks = (domain, many) => d3.scale.linear().domain(domain).ticks(many);

// Powers of ten, and 2 and 5 times them if there is room; below a decade as on a linear axis.
function logTicks([low, high], many) {
  const decades = Math.log10(high) - Math.log10(low), steps = decades * 3 <= many + 1 ? [1, 2, 5] : [1];
  if (decades < 0.9) return linearTicks([low, high], many).filter((value) => value > 0);
  const powers = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
  const kept = powers.filter((power) => power % Math.max(1, Math.round(decades / (many + 1))) === 0);
  return kept.flatMap((power) => steps.map((step) => step * 10 ** power)).filter((value) => value >= low && value <= high);
}

// Whether a value can be placed on an axis: 0 cannot on a logarithmic one.
const isOn = (axis, value) => isKnown(value) && (!axis.log || value > 0);

// A logarithmic scale that reaches `below` and `above` times beyond the values. Values beyond its ends are clamped.
function logScale([low, high], below, above = below) {
  const ends = [Math.max(low / below, Number.MIN_VALUE), Math.min(high * above, Number.MAX_VALUE)];
  return d3.scale.log().domain(ends).clamp(true);
}

const NARROW = 480;  // pixels; below this, labels beside the bars leave no room for the bars

const reachOf = (bar) => [bar.value, bar.tick, ...(bar.ends || []), ...(bar.each || [])].filter(isKnown);

// bars: {label, value, text, classes, hatched}; may have: group (a heading above those that share it), ends (an interval or a
// range), each (single values), tick (a vertical line), hint, symbol (on a logarithmic axis). axis: {unit, factor (to that
// unit), label, log}; may have: line, a value to mark; marks, the ticks of a logarithmic axis [value, text].
function drawBars(box, width, bars, axis) {
  const above = width < NARROW, longest = d3.max(bars, (bar) => textWidth(bar.label));  // above: labels on separate lines
  const left = above ? 14 : Math.min(longest, width * 0.4) + 6, right = d3.max(bars, (bar) => textWidth(bar.text)) + 12;
  const plot = Math.max(width - left - right, 40);
  const room = above ? width - left : left - 6;
  const heads = bars.map((bar) => textWidth(bar.label) <= room ? [bar.label] : linesOf(bar.label, room));
  const {tops, titles, foot} = barPlaces(bars, heads, above), line = isKnown(axis.line) ? [axis.line] : [];
  const reach = [...bars.flatMap(reachOf).map((value) => value * axis.factor), ...line].filter((value) => isOn(axis, value));
  const scale = axis.log ? logScale(reach.length ? d3.extent(reach) : [1, 1], 1.5, 1.2)
    : d3.scale.linear().domain([0, d3.max(reach) || 1]);
  scale.range([0, plot]);
  const values = bars.map((bar) => `${bar.group ? `${bar.group}, ` : ""}${bar.label}: ${bar.text}`).join("; ");
  const area = newChart(box, width, foot + 34, `${axis.label}. ${values}`).append("g").attr("transform", `translate(${left},0)`);
  drawAxis(area, scale, "bottom", foot, {size: -foot, room: plot, log: axis.log, ...marksOn(axis, scale.domain(), plot)});
  area.append("text").attr({class: "quiet", x: 0, y: foot + 31}).text(axis.log ? `${axis.unit}, logarithmic` : axis.unit);
  const at = (value) => scale(value * axis.factor);
  for (const place of axis.log ? line.map(scale) : [0.5]) area.append("path").attr({class: "base", d: `M${place},0V${foot}`});
  for (const {text, y} of titles) area.append("text").attr({class: "group", x: -left, y}).text(text);
  bars.forEach((bar, index) => drawBar(area, {...bar, lines: heads[index]}, tops[index], above, axis, at));
}

// The marks within the domain, thinned to the available room.
function marksOn({log, marks}, [low, high], room) {
  const within = log && marks ? marks.filter(([value]) => value >= low && value <= high) : [];
  const every = Math.ceil(within.length / Math.max(2, Math.floor(room / 70)));
  const kept = new Map(within.filter((_, index) => index % every === 0));
  return kept.size < 2 ? {} : {ticks: [...kept.keys()], text: (value) => kept.get(value) || short(value)};
}

// Where each bar begins, and the heading of each group. heads: the lines of each label.
function barPlaces(bars, heads, above) {
  const tops = [], titles = [];
  let foot = 0, group = null;
  bars.forEach((bar, index) => {
    if (bar.group && bar.group !== group) {
      foot += group === null ? 18 : 26;
      titles.push({text: bar.group, y: foot - 3});
      group = bar.group;
    }
    const lines = heads[index].length, head = above ? 5 + 14 * lines : 6 + 7 * (lines - 1);
    tops.push(foot + head);
    foot += head + (above ? 19 : 16 + 7 * (lines - 1));
  });
  return {tops, titles, foot};
}

function drawBar(area, bar, top, above, axis, at) {
  const thick = above ? 14 : 12, middle = top + thick / 2, row = area.append("g").attr("class", bar.classes);
  row.append("title").text(bar.hint || `${bar.label}: ${bar.text}`);
  bar.lines.forEach((line, number) => row.append("text").text(line)
    .attr(above ? {x: -14, y: top - 5 - 14 * (bar.lines.length - 1 - number)}
      : {x: -6, y: middle + 4 + 14 * (number - (bar.lines.length - 1) / 2), "text-anchor": "end"}));
  if (axis.log && isOn(axis, bar.value))
    placeMark(row, bar.symbol || (bar.hatched ? "triangle-up" : "circle"), 90, at(bar.value), middle);
  if (!axis.log)
    row.append("rect").attr({class: "bar", x: 0, y: top, height: thick, width: Math.max(at(bar.value), 1)})
      .style("fill", bar.hatched ? hatching(bar.classes) : null);
  if (isKnown(bar.tick)) row.append("path").attr({class: "limit", d: `M${at(bar.tick)},${top - 3}v${thick + 6}`});
  if (bar.ends) whisker(row, at(bar.ends[0]), at(bar.ends[1]), middle);
  else for (const one of (bar.each || []).filter((each) => isOn(axis, each)))
    row.append("circle").attr({class: "single", r: 2.6, cx: at(one), cy: middle});
  row.append("text").attr({class: "value", x: d3.max(reachOf(bar).map(at)) + 8, y: middle + 4}).text(bar.text);
}

// chart: {label, x, y: {label, log, ticks, text}, lines: [{points: [{x, y, ends, ring, hint}], classes, symbol, size, dots}]};
// may have: height; bands, {from, to, text} across all y or {left, right, low, high, text}; marks, vertical lines {x, text};
// missing, points without a y {x, text}, which include those with a hint that a logarithmic axis cannot place.
function drawCurves(box, width, chart) {
  const {lines, bands = []} = chart, marks = (chart.marks || []).filter((mark) => isOn(chart.x, mark.x));
  const isPoint = (point) => isOn(chart.x, point.x) && isOn(chart.y, point.y);
  const off = lines.flatMap((line) => line.points).filter((point) => point.hint && isKnown(point.y) && !isPoint(point));
  const missing = [...(chart.missing || []), ...off.map(({x, hint}) => ({x, text: hint}))].filter(({x}) => isOn(chart.x, x));
  const left = 52, top = 24 + 14 * marks.length, foot = 42;
  const plot = Math.max(width - left - 14, 60), deep = (chart.height || 260) - 62;
  const svg = newChart(box, width, top + deep + foot, chart.label);
  const points = lines.flatMap((line) => line.points).filter(isPoint);
  if (!points.length) {
    svg.append("text").attr({class: "quiet", x: 0, y: 30}).text("No point can be drawn.");
    return;
  }
  const xs = [...points, ...missing].map((point) => point.x);
  const ys = points.flatMap((point) => [point.y, ...(point.ends || [])]).filter((value) => isOn(chart.y, value));
  const x = scaleOf(chart.x, d3.extent(xs), chart.x.log ? 0.03 : 0).range([0, plot]);
  const y = scaleOf(chart.y, d3.extent(ys), 0.06).range([deep, 0]);
  const area = svg.append("g").attr("transform", `translate(${left},${top})`);
  bands.forEach((band) => drawBand(area, band, x, y, deep));
  drawAxis(area, y, "left", 0, {...chart.y, size: -plot, room: deep});
  drawAxis(area, x, "bottom", deep, {...chart.x, size: 5, room: plot});
  svg.append("text").attr({class: "quiet", x: 0, y: 11}).text(axisTitle(chart.y));
  area.append("text").attr({class: "quiet", x: plot, y: deep + foot - 6, "text-anchor": "end"}).text(axisTitle(chart.x));
  marks.forEach((mark, index) => drawVertical(area, mark, x(mark.x), -6 - 14 * index, plot, deep));
  lines.forEach((line) => drawLine(area, line, x, y, isPoint));
  for (const point of missing)
    area.append("path").attr({class: "missing", d: "M-4,-4L4,4M-4,4L4,-4", transform: `translate(${x(point.x)},${deep - 8})`})
      .append("title").text(point.text);
}

const axisTitle = (axis) => axis.label + (axis.log ? ", logarithmic" : "");

// `margin`: room beyond the values, as a fraction of their range; for a single value half of it.
function scaleOf(axis, [low, high], margin) {
  if (axis.log) return logScale([low, high], low === high ? 2 : 10 ** ((Math.log10(high) - Math.log10(low)) * margin));
  const room = low === high ? Math.abs(high) / 2 || 1 : (high - low) * margin;
  return d3.scale.linear().domain([low - room, high + room]);
}

function drawBand(area, band, x, y, deep) {
  const level = isKnown(band.low), begin = x(level ? band.left : band.from), end = x(level ? band.right : band.to);
  const top = level ? y(band.high) : 0, height = level ? Math.max(y(band.low) - top, 1) : deep;
  area.append("rect").attr({class: "band", x: begin, y: top, width: Math.max(end - begin, 2), height})
    .append("title").text(band.text);
}

// A dashed line with its text at height `level`, towards the middle of the chart.
function drawVertical(area, mark, at, level, plot, deep) {
  const before = at > plot / 2;
  area.append("path").attr({class: "mark", d: `M${at},${level - 6}V${deep}`});
  area.append("text").attr({class: "quiet", x: at + (before ? -5 : 5), y: level, "text-anchor": before ? "end" : "start"})
    .text(mark.text);
}

function drawLine(area, line, x, y, isPoint) {
  const group = area.append("g").attr("class", line.classes), path = d3.svg.line().defined(isPoint);
  path.x((point) => x(point.x)).y((point) => y(point.y));
  group.append("path").attr({class: "line", d: path(line.points)});
  for (const point of line.points.filter(isPoint)) {
    const at = x(point.x);
    if (point.ends) {
      const [low, high] = point.ends.map(y);
      group.append("path").attr({class: "whisker", d: `M${at - 4},${low}h8M${at},${low}V${high}M${at - 4},${high}h8`});
    }
    if (point.ring) group.append("circle").attr({class: "ring", r: 9, cx: at, cy: y(point.y)});
    if (line.dots === false) continue;
    const dot = placeMark(group, line.symbol || "circle", line.size, at, y(point.y));
    if (point.hint) dot.append("title").text(point.hint);
  }
}

// entries: {label, classes, symbol}; line: false leaves out the stroke.
function legend(entries) {
  return element("ul", {class: "legend"}, entries.map((entry) => {
    const item = element("li"), key = d3.select(item).append("svg").attr({width: entry.line === false ? 14 : 30, height: 12,
      "aria-hidden": "true"}).append("g").attr("class", entry.classes || null);
    if (entry.line !== false) key.append("path").attr({class: "line", d: "M0,6H30"});
    if (entry.symbol) placeMark(key, entry.symbol, 64, entry.line === false ? 7 : 15, 6);
    item.append(entry.label);
    return item;
  }));
}
