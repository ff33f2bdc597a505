#include "src/worker/launcher.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include <pwd.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/base/process.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr const char* kMpirun = "mpirun";

std::string ranks_program() {  // beside this one
  std::error_code error;
  const std::filesystem::path self = std::filesystem::canonical(own_program(), error);
  const std::string file = self.parent_path() / kRanksProgram;
  return error || access(file.c_str(), X_OK) != 0 ? "" : file;
}

constexpr const char *kOpenMpi = "Open MPI", *kMpich = "MPICH";
constexpr std::string_view kBuiltWith = EPOCHBENCH_MPI;  // of the program of ranks; empty: another MPI

// The MPI of a launcher; empty: unknown, such as srun, which starts ranks of any MPI. Names differ between versions and
// distributions.
std::string mpi_name(const std::string& launcher) {
  std::error_code error;
  const std::string name = std::filesystem::canonical(launcher, error).filename().string();
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("orterun") || has("prterun") || has("openmpi")) return kOpenMpi;
  if (has("hydra") || has("mpich")) return kMpich;
  return "";
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

std::vector<std::string> command_parts(const CaseSpec& spec) {
  const std::string text = spec.launcher.empty() ? std::string(kMpirun) + " -n " + kRanksPlaceholder : spec.launcher;
  std::vector<std::string> parts = split_command(text).value();  // as parse_launcher() has checked
  for (std::string& part : parts) replace_all(part, kRanksPlaceholder, std::to_string(spec.ranks));
  return parts;
}

}  // namespace

std::optional<std::string> launch_obstacle(const CaseSpec& spec, int cores) {
  const std::string ranks = "--ranks " + std::to_string(spec.ranks);
  if (ranks_program().empty())
    return ranks + ": " + kRanksProgram + " was not found next to epochbench; copy it there, or install libopenmpi-dev and " +
           "openmpi-bin, and build again";
  const std::string name = command_parts(spec).front();
  const auto launcher = find_program({name});
  if (!launcher)
    return ranks + ": the launcher " + name + " was not found; " +
           (spec.launcher.empty() ? "install openmpi-bin, or name another one (--launcher)" : "name one that is installed");
  if (const std::string mpi = mpi_name(*launcher); !mpi.empty() && !kBuiltWith.empty() && mpi != kBuiltWith)
    return ranks + ": the launcher " + name + " belongs to " + mpi + ", but " + kRanksProgram + " was built with " +
           std::string(kBuiltWith) + "; use a launcher of " + std::string(kBuiltWith) + " (--launcher)";
  if (!spec.launcher.empty()) return std::nullopt;  // the launcher knows its machines
  const int threads = spec.threads.value_or(1), exchanging = exchange_threads(spec);
  if (std::int64_t{spec.ranks} * (threads + exchanging) > cores && !spec.oversubscribe)
    return ranks + (threads > 1 ? " of --threads " + std::to_string(threads) : "") +
           (exchanging > 0 ? ", with --communication-threads " + std::to_string(exchanging) : "") + ": more than the " +
           std::to_string(cores) + (cores == 1 ? " core" : " cores") + " here; ask for fewer, or add --oversubscribe";
  if (geteuid() == 0 && mpi_name(*launcher) == kOpenMpi &&
      !(is_set("OMPI_ALLOW_RUN_AS_ROOT") && is_set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")))
    return ranks +
           ": Open MPI does not run as root; be another user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and "
           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1";
  return std::nullopt;
}

WorkerCommand launch_command(const CaseSpec& spec, double patience_seconds) {
  std::vector<std::string> parts = command_parts(spec);
  const std::string launcher = find_program({parts.front()}).value_or(parts.front());
  if (spec.launcher.empty() && mpi_name(launcher) == kOpenMpi) {  // ranks place their threads themselves
    parts.insert(parts.end(), {"--bind-to", "none"});
    if (spec.oversubscribe) parts.insert(parts.end(), {"--oversubscribe", "--mca", "mpi_yield_when_idle", "1"});
  }
  parts.insert(parts.end(), {ranks_program(), std::to_string(spec.ranks), std::to_string(spec.threads.value_or(1)),
                             name(spec.pin), std::to_string(patience_seconds)});
  WorkerCommand command(launcher, std::move(parts));
  command.called = "the launcher of the ranks";
  return command;
}

EnvironmentSettings rank_settings(const CaseSpec& spec) {
  // Open MPI would write these in front of what rank 0 answers.
  EnvironmentSettings settings = {{"OMPI_MCA_orte_tag_output", "0"}, {"OMPI_MCA_orte_timestamp_output", "0"}};
  if (spec.launcher.empty()) {  // ranks run here, whatever machines a batch system or the administrator names
    settings["OMPI_MCA_ras"] = settings["OMPI_MCA_plm"] = "^slurm,gridengine,tm,lsf,loadleveler,alps";
    settings["OMPI_MCA_orte_default_hostfile"] = "none";
  }
  if (!is_set("HOME") && getpwuid(geteuid()) == nullptr) settings["HOME"] = is_set("TMPDIR") ? std::getenv("TMPDIR") : "/tmp";
  char from = 1, to = 0;
  const iovec source{&from, 1}, target{&to, 1};
  constexpr const char *kVader = "OMPI_MCA_btl_vader_single_copy_mechanism", *kSmsc = "OMPI_MCA_smsc";  // Open MPI 4 and 5
  if (process_vm_readv(getpid(), &target, 1, &source, 1, 0) != 1) {
    if (!is_set(kVader)) settings[kVader] = "none";
    if (!is_set(kSmsc)) settings[kSmsc] = "^cma";
  }
  return settings;
}

std::string launch_remark(const CaseSpec& spec) {
  constexpr double kNeededPerRank = 8 << 20;  // Open MPI's segment has 4 MiB
  struct statvfs shared {};
  const char* folder = "/dev/shm";
  if (spec.ranks == 1 || !spec.launcher.empty() || statvfs(folder, &shared) != 0) return "";
  const double room = static_cast<double>(shared.f_bavail) * static_cast<double>(shared.f_frsize);
  if (room >= spec.ranks * kNeededPerRank) return "";
  return std::string("note: ") + folder + " has room for " + format_bytes(room) + ", and " + std::to_string(spec.ranks) +
         " ranks need about " + format_bytes(spec.ranks * kNeededPerRank) +
         " of shared memory to exchange fast; make it larger (docker run --shm-size=1g)";
}

void refuse_several_copies() {
  for (const char* count : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS", "WORLD_SIZE"})
    if (const char* text = std::getenv(count); text && std::atoi(text) > 1)
      throw CallError("a launcher has started " + std::string(text) + " copies of epochbench (" + count +
                      "), which would measure each other; start it once, with --ranks " + text +
                      " for a case that several processes share, or unset " + count + " if this is the only copy here");
}

ProcessLimits launcher_limits(ProcessLimits limits, const CaseSpec& spec) {
  constexpr double kGraceSeconds = 3;  // Open MPI takes a second
  limits.grace_seconds = kGraceSeconds;
  if (!spec.launcher.empty()) limits.hung_seconds = std::numeric_limits<double>::infinity();
  return limits;
}

}  // namespace epochbench
