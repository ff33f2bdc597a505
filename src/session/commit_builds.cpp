#include "src/session/commit_builds.h"

#include <system_error>
#include <utility>

#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/errors.h"
#include "src/base/files.h"
#include "src/base/hash.h"
#include "src/base/process.h"
#include "src/base/text.h"
#include "src/session/outside_program.h"

namespace epochbench {
namespace {

namespace fs = std::filesystem;

constexpr double kGitSeconds = 600, kBuildSeconds = 86400;
constexpr const char* kCommitFormat = "--format=%H%x09%cs%x09%s";

std::vector<Commit> commits_of(const std::string& log) {
  std::vector<Commit> commits;
  for (const std::string& line : split(log, '\n')) {
    const std::size_t date = line.find('\t'), subject = line.find('\t', date + 1);
    if (date == std::string::npos || subject == std::string::npos) continue;
    commits.push_back({line.substr(0, date), line.substr(date + 1, subject - date - 1), visible(line.substr(subject + 1))});
  }
  return commits;
}

void refuse_interrupted() {
  if (interrupted()) throw CallError("interrupted", kExitInterrupted);
}

}  // namespace

Repository::Repository() {
  const auto git = find_program({"git"});
  if (!git) throw CallError("bisect: git is not installed; install it, as with apt install git");
  git_ = *git;
  ask({"rev-parse", "--git-dir"}, "bisect: the current folder is in no git repository; change into the one of the commits");
}

std::string Repository::ask(const std::vector<std::string>& arguments, const std::string& problem) const {
  std::vector<std::string> command{git_};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const ProgramEnd end = run_program(command, kGitSeconds);
  refuse_interrupted();
  if (!end.reason.empty()) throw CallError(problem + " (git " + arguments.front() + " " + end.reason + ")");
  return end.output;
}

Commit Repository::commit(const std::string& revision) const {
  const std::string problem = "'" + revision + "' names no commit of this repository; git log lists them";
  const std::string sha = ask({"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"}, problem);
  const auto found = commits_of(ask({"log", "-1", kCommitFormat, std::string(trimmed(split(sha, '\n').front()))}, problem));
  if (found.size() != 1) throw CallError(problem);
  return found.front();
}

std::vector<Commit> Repository::line(const Commit& good, const Commit& bad) const {
  if (good.sha == bad.sha) throw CallError("bisect: GOOD and BAD are the same commit; name an older one that is fast as GOOD");
  ask({"merge-base", "--is-ancestor", good.sha, bad.sha},
      "bisect: GOOD is not an ancestor of BAD; name a commit as GOOD that BAD's history contains, such as their merge base");
  auto commits = commits_of(ask({"log", "--first-parent", "--reverse", kCommitFormat, good.sha + ".." + bad.sha},
                                "bisect: the commits after GOOD cannot be listed"));
  if (commits.empty() || commits.back().sha != bad.sha) throw CallError("bisect: git lists no commits from GOOD to BAD");
  return commits;
}

void Repository::check_out(const Commit& commit, const fs::path& folder) const {
  const std::string problem = "bisect: " + commit.short_sha() + " cannot be checked out at " + folder.string() +
                              "; remove that folder, call git worktree prune and try again";
  if (fs::exists(folder / ".git"))
    ask({"-C", folder.string(), "checkout", "--quiet", "--detach", "--force", commit.sha}, problem);
  else
    ask({"worktree", "add", "--quiet", "--detach", "--force", folder.string(), commit.sha}, problem);
}

CommitBuilds::CommitBuilds(const Repository& repository, const fs::path& folder, BuildRecipe recipe)
    : repository_(repository), folder_(fs::absolute(folder)), recipe_(std::move(recipe)) {
  std::error_code error;
  fs::create_directories(folder_ / "builds", error);
  if (error) throw FileError(folder_.string() + ": cannot be made: " + error.message() + "; name another --folder");
  if (!fs::exists(folder_ / ".gitignore")) write_text_file((folder_ / ".gitignore").string(), "*\n", Sync::none);
}

fs::path CommitBuilds::place_of(const Commit& commit) const {
  return folder_ / "builds" / (commit.sha + "-" + text_hash(recipe_.command + '\n' + recipe_.binary).substr(0, 8));
}

std::optional<CommitBuilds::Built> CommitBuilds::kept(const Commit& commit) const {
  const fs::path place = place_of(commit);
  if (fs::exists(place / "epochbench")) return Built{(place / "epochbench").string(), ""};
  if (fs::exists(place / "failed")) return Built{"", std::string(trimmed(read_text_file((place / "failed").string())))};
  return std::nullopt;
}

CommitBuilds::Built CommitBuilds::build(const Commit& commit) {
  const fs::path tree = folder_ / "tree", made = tree / recipe_.binary, place = place_of(commit), log = place / "log";
  std::error_code error;
  fs::create_directories(place, error);
  repository_.check_out(commit, tree);
  fs::remove(made, error);  // so that an older binary is not taken for the build's
  const double begin = steady_seconds();
  const ProgramEnd end = run_program(
      {"/bin/sh", "-c", "cd \"$1\" && eval \"$2\" >\"$3\" 2>&1", "build", tree.string(), recipe_.command, log.string()},
      kBuildSeconds, interrupted);
  refuse_interrupted();
  seconds_ += steady_seconds() - begin;
  ++builds_;
  Built built;
  if (!end.reason.empty())
    built.reason = "the build " + end.reason + " (" + log.string() + ")";
  else if (access(made.c_str(), X_OK) != 0 || !fs::is_regular_file(made, error))
    built.reason = "the build leaves no program " + recipe_.binary + " (" + log.string() + ")";
  if (built.reason.empty()) {
    fs::copy_file(made, place / "new", fs::copy_options::overwrite_existing, error);
    if (!error) fs::rename(place / "new", place / "epochbench", error);
    if (error) throw FileError(place.string() + ": the binary cannot be kept: " + error.message() + "; make room there");
    built.binary = (place / "epochbench").string();
  } else {
    write_text_file((place / "failed").string(), built.reason + "\n", Sync::none);
  }
  return built;
}

void CommitBuilds::forget_failures() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_ / "builds", error)) fs::remove(entry.path() / "failed", error);
}

std::optional<double> CommitBuilds::mean_seconds() const {
  return builds_ == 0 ? std::nullopt : std::optional(seconds_ / static_cast<double>(builds_));
}

}  // namespace epochbench
