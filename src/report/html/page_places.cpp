// Where the page's results were measured: machines, result files and builds. GPU identifiers stay in the result: a page is sent
// to others.
#include <algorithm>
#include <set>
#include <utility>

#include "src/analysis/compare/comparison.h"
#include "src/base/cpu_name.h"
#include "src/base/json_fields.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/html/page_parts.h"
#include "src/report/text/text_parts.h"
#include "src/report/view.h"

namespace epochbench {
namespace {

constexpr std::size_t kMaxMachines = 4, kMaxCommits = 3;  // by name above the cards

bool same_gpus(const std::vector<GpuInfo>& a, const std::vector<GpuInfo>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const GpuInfo& x, const GpuInfo& y) { return x.name == y.name && x.uuid == y.uuid; });
}

// Without a host name two machines of one kind cannot be distinguished, so each file gets its own.
bool same_machine(const Context& a, const Context& b) {
  return a.host_name && a.host_name == b.host_name &&
         (a.cpu.model == b.cpu.model || match_cpus(a.cpu.model, b.cpu.model) != CpuMatch::different) &&
         a.cpu.cores == b.cpu.cores && same_gpus(a.gpus, b.gpus);
}

std::string machine_name(std::size_t number) {
  return number < 26 ? std::string(1, static_cast<char>('A' + number)) : "M" + std::to_string(number + 1);
}

std::string known(const std::optional<std::string>& text) { return text && !text->empty() ? *text : kNotKnown; }

std::string per_second(const std::optional<double>& value, const char* unit) {
  return value ? format_si(*value, unit) : kNotKnown;
}

std::string bytes_or_unknown(const std::optional<std::int64_t>& bytes) {
  return bytes ? format_bytes(static_cast<double>(*bytes)) : kNotKnown;
}

std::string peaks_text(const std::map<std::string, std::optional<double>>& peaks, const std::optional<int>& threads) {
  std::vector<std::string> texts;
  for (const auto& [precision, peak] : peaks)
    if (peak) texts.push_back(precision + " " + format_si(*peak, "FLOP/s"));
  if (texts.empty()) return kNotKnown;
  if (threads) texts.push_back("with " + counted(static_cast<std::size_t>(std::max(*threads, 0)), "thread", "threads"));
  return joined(texts);
}

// A card: title, [term, text] of each line, and a note, which may be "".
Json card(const std::string& title, const std::vector<std::pair<std::string, std::string>>& terms, const std::string& note) {
  return {{"title", title}, {"terms", json_of(terms)}, {"note", note}};
}

Json cpu_card(const CpuInfo& cpu, const std::string& title, const std::string& note) {
  const std::string cores = cores_text(cpu),
                    threads = counted(static_cast<std::size_t>(std::max(cpu.threads_available, 0)), "thread", "threads");
  return card(title,
              {{"CPU", cpu.model + ", " + (cores.empty() ? "cores not known" : cores) + ", " + threads + " to use"},
               {"instructions", cpu.isa.empty() ? kNotKnown : joined(cpu.isa, " ")},
               {"memory", bytes_or_unknown(cpu.memory_bytes)},
               {"measured peaks", peaks_text(cpu.peak_flops_per_second, cpu.peak_threads)},
               {"bandwidth", per_second(cpu.memory_bandwidth_bytes_per_second, "B/s")},
               {"clock scaling", cpu.frequency_scaling == "unknown" ? kNotKnown : cpu.frequency_scaling}},
              note);
}

Json gpu_card(const GpuInfo& gpu, const std::string& title) {
  return card(title,
              {{"memory", bytes_or_unknown(gpu.memory_bytes)},
               {"capability", known(gpu.compute_capability)},
               {"driver", known(gpu.driver)},
               {"libraries", "CUDA " + known(gpu.cuda) + ", cuBLAS " + known(gpu.cublas) + ", cuDNN " + known(gpu.cudnn)},
               {"measured peaks", peaks_text(gpu.peak_flops_per_second, std::nullopt)},
               {"bandwidth", per_second(gpu.memory_bandwidth_bytes_per_second, "B/s")},
               {"from the host", per_second(gpu.host_to_device_bytes_per_second, "B/s")}},
              "");
}

// `name`: "A" if there are several machines, else "".
Json machine_cards(const Context& context, const std::string& name, const std::string& measured_in) {
  const std::string head = name.empty() ? "" : name + ": ";
  std::string note = context.gpus.empty() ? "No GPU was seen." : "";
  const bool any_peak =
      std::ranges::any_of(context.cpu.peak_flops_per_second, [](const auto& peak) { return peak.second.has_value(); });
  if (!measured_in.empty() && any_peak) append(note, "Peaks are those of " + measured_in + ".", " ");
  Json cards = Json::array({cpu_card(context.cpu, head + context.host_name.value_or("a machine without a name"), note)});
  for (const GpuInfo& gpu : context.gpus) cards.push_back(gpu_card(gpu, head + gpu.name));
  return cards;
}

// "box, AMD EPYC, 2 cores, NVIDIA H100".
std::string machine_line(const Context& context) {
  std::string line = context.host_name.value_or("");
  for (const std::string& part : {short_cpu_name(context.cpu.model), cores_text(context.cpu)}) append(line, part);
  for (const GpuInfo& gpu : context.gpus) append(line, gpu.name);
  return line;
}

// The command lines of the calls that made the result, oldest first, one a line; those that the file does not name are left
// out.
std::string commands(const Context& context) {
  std::string text;
  const auto add = [&](const auto& call) {
    if (call.command_line) append(text, joined(*call.command_line, shell_word, " "), "\n");
  };
  for (const EarlierCall& call : context.earlier_calls) add(call);
  add(context);
  return text.empty() ? kNotKnown : text;
}

struct File {
  const NamedResult* named;
  std::size_t machine;

  std::size_t count(RunStatus status) const {
    return static_cast<std::size_t>(std::ranges::count(named->result.runs, status, &Run::status));
  }
  std::size_t measured() const { return named->result.runs.size() - count(RunStatus::skipped); }
};

View files_view(const std::vector<File>& files, bool several_machines) {
  View view = {"Result files", columns("file|date|machine|epochbench|commit|build|>runs|>of these ok|>skipped|$commands")};
  for (const File& file : files) {
    const Context& context = file.named->result.context;
    view.rows.push_back({file.named->path, moment_text(context.date), several_machines ? machine_name(file.machine) : "",
                         context.version, page_commit(context.git_sha, context.git_dirty),
                         context.build_type + ", " + context.compiler, count_cell(file.measured()),
                         count_cell(file.count(RunStatus::ok)), count_cell(file.count(RunStatus::skipped)), commands(context)});
  }
  return view;
}

// "12 runs (1 of them without a result) in 1 result file · 2026-01-02 · epochbench at 1234567".
std::string content_line(const std::vector<File>& files, const std::vector<NamedTurns>& turns) {
  std::size_t runs = 0, ok = 0, cases = 0;
  std::set<std::string> days;
  std::vector<std::string> commits;
  for (const File& file : files) {
    const Context& context = file.named->result.context;
    runs += file.measured();
    ok += file.count(RunStatus::ok);
    days.insert(day_text(context.date));
    if (context.git_sha) commits.push_back(context.git_sha->substr(0, 7));
  }
  for (const NamedTurns& named : turns) {
    cases += compare_turns(named.document, rule_of(named.document)).cases.size();
    days.insert(day_text(named.document.context.date));
  }
  const std::string empty =
      runs == ok ? "" : " (" + format_count(static_cast<std::int64_t>(runs - ok)) + " of them without a result)";
  std::string line;
  if (!files.empty())
    line = counted(runs, "run", "runs") + empty + " in " + counted(files.size(), "result file", "result files");
  if (!turns.empty()) append(line, counted(cases, "case", "cases") + " of two interleaved binaries", " · ");
  if (!days.empty()) append(line, *days.begin() + (days.size() > 1 ? " to " + *days.rbegin() : ""), " · ");
  commits = without_repeats(std::move(commits));
  const bool more = commits.size() > kMaxCommits;
  commits.resize(std::min(commits.size(), kMaxCommits));
  if (!commits.empty()) append(line, "epochbench at " + joined(commits) + (more ? ", …" : ""), " · ");
  return line;
}

}  // namespace

std::string machine_letter(const Json& data, const std::string& file) {
  for (const Json& each : data["files"])
    if (each["file"] == file) return data["machines"][each["machine"].get<std::size_t>()]["name"].get<std::string>();
  return "";
}

std::string moment_text(std::string date) {
  replace_all(date, "T", " ");
  replace_all(date, "Z", " UTC");
  return date;
}

std::string page_commit(const std::optional<std::string>& git_sha, const std::optional<bool>& git_dirty) {
  constexpr std::size_t kDigits = 12;
  if (!git_sha) return kNotKnown;
  return git_sha->substr(0, kDigits) + (git_dirty.value_or(false) ? ", with changes not committed" : "");
}

Cell count_cell(std::size_t count) { return {format_count(static_cast<std::int64_t>(count)), "", static_cast<double>(count)}; }

void add_places(Json& data, const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns) {
  std::vector<std::pair<const Context*, std::string>> machines;  // with the file whose peaks are shown
  const auto machine_of = [&](const Context& context, const std::string& path) {
    const auto found = std::ranges::find_if(machines, [&](const auto& other) { return same_machine(*other.first, context); });
    const auto number = static_cast<std::size_t>(found - machines.begin());
    if (found == machines.end()) machines.emplace_back(&context, path);
    return number;
  };
  std::vector<File> files;
  data["files"] = data["turns"] = data["machines"] = Json::array();
  for (const NamedResult& named : results) {
    files.push_back({&named, machine_of(named.result.context, named.path)});
    data["files"].push_back({{"file", named.path}, {"machine", files.back().machine}, {"date", named.result.context.date}});
  }
  for (const auto& [path, document] : turns)
    data["turns"].push_back({{"file", path}, {"date", document.context.date}, {"machine", machine_of(document.context, path)}});
  const bool several = machines.size() > 1, several_files = results.size() + turns.size() > 1;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < machines.size(); ++at) {
    const auto& [context, path] = machines[at];
    const std::string name = several ? machine_name(at) : "", line = machine_line(*context);
    lines.push_back(name.empty() ? line : name + ": " + line);
    data["machines"].push_back({{"name", name}, {"cards", machine_cards(*context, name, several_files ? path : "")}});
  }
  const std::size_t rest = lines.size() - std::min(lines.size(), kMaxMachines);
  lines.resize(lines.size() - rest);
  if (rest > 0) lines.push_back("and " + std::to_string(rest) + " more");
  data["content"] = joined(lines, "; ") + " · " + content_line(files, turns);
  data["tables"]["files"] = page_table(files_view(files, several));
}

}  // namespace epochbench
