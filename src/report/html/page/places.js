// The sections of text and tables: all runs, what is in no chart, and where it was measured.
"use strict";

const dirtyMark = (dirty) => dirty ? ", with changes not committed" : "";
const shortSha = ({git_sha: sha}) => sha && sha.slice(0, 12);
const commitText = (file) => file.git_sha ? shortSha(file) + dirtyMark(file.git_dirty) : UNKNOWN;
const machineName = (index) => index < 26 ? String.fromCharCode(65 + index) : `M${index + 1}`;
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

function peaksText(peaks, threads) {
  const measured = Object.entries(peaks || {}).filter(([, value]) => isKnown(value));
  if (!measured.length) return UNKNOWN;
  return measured.map(([precision, value]) => `${precision} ${format.si(value, "FLOP/s")}`).join(", ") +
    (isKnown(threads) ? `, with ${plural(threads, "thread")}` : "");
}

function cpuWords(cpu) {
  const cores = isKnown(cpu.cores) ? plural(cpu.cores, "core") : "cores not known";
  return definitions([
    ["CPU", `${cpu.model}, ${cores}, ${plural(cpu.threads_available, "thread")} to use`],
    ["instructions", cpu.isa.length ? cpu.isa.join(" ") : UNKNOWN],
    ["memory", format.bytes(cpu.memory_bytes)],
    ["measured peaks", peaksText(cpu.peak_flops_per_second, cpu.peak_threads)],
    ["bandwidth", format.si(cpu.memory_bandwidth_bytes_per_second, "B/s")],
    ["clock scaling", cpu.frequency_scaling === "unknown" ? UNKNOWN : cpu.frequency_scaling],
  ]);
}

function gpuCard(gpu, name) {
  const libraries = [["CUDA", gpu.cuda], ["cuBLAS", gpu.cublas], ["cuDNN", gpu.cudnn]];
  return element("div", {class: "card"}, element("h3", {}, name), definitions([
    ["memory", format.bytes(gpu.memory_bytes)],
    ["capability", gpu.compute_capability || UNKNOWN],
    ["driver", gpu.driver || UNKNOWN],
    ["libraries", libraries.map(([name, version]) => `${name} ${version || UNKNOWN}`).join(", ")],
    ["measured peaks", peaksText(gpu.peak_flops_per_second)],
    ["bandwidth", format.si(gpu.memory_bandwidth_bytes_per_second, "B/s")],
    ["from the host", format.si(gpu.host_to_device_bytes_per_second, "B/s")],
  ]));
}

// A card for the machine, and one for each of its GPUs.
function machineCards(machine, index, data) {
  const several = data.machines.length > 1, name = machine.host || "a machine without a name";
  return [element("div", {class: "card"},
    element("h3", {}, several ? `${machineName(index)}: ${name}` : name),
    cpuWords(machine.cpu),
    machine.gpus.length ? null : element("p", {class: "muted"}, "No GPU was seen."),
    data.files.length + data.turns.length > 1 && peaksText(machine.cpu.peak_flops_per_second) !== UNKNOWN
      ? element("p", {class: "muted"}, `Peaks are those of ${machine.measured_in}.`) : null),
  ...machine.gpus.map((gpu) => gpuCard(gpu, several ? `${machineName(index)}: ${gpu.name}` : gpu.name))];
}

function placesSection(data) {
  const one = data.machines.length === 1;
  const columns = [
    {title: "file", value: (file) => file.file, head: true},
    {title: "date", value: (file) => file.date, text: format.moment},
    one ? null : {title: "machine", value: (file) => machineName(file.machine)},
    {title: "epochbench", value: (file) => file.version},
    {title: "commit", value: commitText},
    {title: "build", value: (file) => `${file.build_type}, ${file.compiler}`},
    numberColumn("runs", (file) => file.runs, format.count),
    numberColumn("of these ok", (file) => file.ok, format.count),
    numberColumn("skipped", (file) => file.skipped, format.count),
    {title: "commands", value: (file) => file.commands.join("; ") || UNKNOWN, prose: true,
     node: (file) => file.commands.length
       ? element("div", {}, file.commands.map((command) => element("div", {}, element("code", {}, command)))) : UNKNOWN},
  ].filter(Boolean);
  return folded("Machines, result files and builds",
    element("div", {class: "cards"}, data.machines.flatMap((machine, index) => machineCards(machine, index, data))),
    data.files.length ? sortableTable("Result files", columns, data.files) : null);
}

const partText = (row) => row.joules_part ? ` (${row.joules_part} alone)` : "";

function runColumns(data) {
  return [
    {...nameColumn("run", (row) => row.name + (row.doubts.length ? " †" : "")),
     small: (row) => [data.files.length > 1 ? fileOf(data, row).file : null, ...row.doubts].filter(Boolean).join("; ")},
    ...data.case_columns.map(({key, title, follows_speed: followsSpeed}, at) => ({
      title, number: key !== null, value: (row) => key === null ? row.cells[at][0] : row[key], text: (_, row) => row.cells[at][0],
      small: (row) => row.cells[at][1], gray: (row) => followsSpeed && row.doubts.length > 0})),
  ];
}

function runsSection(data) {
  if (!data.files.length) return null;
  if (!data.rows.length && !data.left_out.length) return [element("p", {}, "The files contain no run.")];
  if (!data.rows.length) return [element("p", {}, "No run succeeded; the last section says why.")];
  const columns = runColumns(data);
  const empty = columns.filter((column) => !data.rows.some((row) => isSomething(column.value(row))));
  const missing = empty.map((column) => column.title).filter((title) => !title.startsWith("latency"));
  const unknown = missing.length ? ` Not known of any run: ${missing.join(", ")}.` : "";
  const reasons = new Set(data.rows.map((row) => row.energy_reason).filter(Boolean));
  const why = missing.includes("energy/epoch") && reasons.size ? ` Energy: ${[...reasons].slice(0, 3).join("; ")}.` : "";
  return [
    element("p", {class: "muted"}, "Samples per second: the geometric mean of n processes, with its 95 % interval (from five on) or " +
      "range. Epoch, cost and energy follow from it." + epochsNote(data) +
      data.capped_shares.map((sentence) => ` Of peak: ${sentence}.`).join("") + unknown + why),
    loadBanner(data.rows),
    sortableTable("Runs", columns.filter((column) => !empty.includes(column)), inGroups(data.rows))];
}

const MOST_NAMES = 4;

function leftOutSection(data) {
  if (!data.left_out.length) return null;
  const names = ({names: all}) => all.slice(0, MOST_NAMES).join(", ") +
    (all.length > MOST_NAMES ? ` and ${all.length - MOST_NAMES} more` : "");
  return sortableTable("Runs that failed, were skipped or are duplicates, grouped by reason", [
    {title: "reason", value: (entry) => entry.reason, head: true},
    numberColumn("runs", (entry) => entry.runs, format.count),
    {title: "which", value: names, prose: true},
  ], data.left_out);
}
