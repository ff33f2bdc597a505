// The commits between two commits of a git repository, and a binary of each, built in a separate worktree and kept by commit.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/compare/bisection.h"

namespace epochbench {

// The repository of the current folder. Errors of all: CallError, one line. After an interrupt a running git command still
// finishes, because git may leave a lock behind when a signal ends it.
class Repository {
 public:
  Repository();

  Commit commit(const std::string& revision) const;
  // The commits after `good` up to `bad`, along first parents: a merge counts as one commit.
  std::vector<Commit> line(const Commit& good, const Commit& bad) const;
  // Checks the commit out into a worktree at `folder`, which is created if missing; what a build left there stays.
  void check_out(const Commit& commit, const std::filesystem::path& folder) const;

 private:
  std::string ask(const std::vector<std::string>& arguments, const std::string& problem) const;

  std::string git_;
};

struct BuildRecipe {
  std::string command = "scripts/run --version";  // run by a shell in the root of the worktree
  std::string binary = "build/epochbench";        // that the command leaves there
};

class CommitBuilds {
 public:
  // `folder` holds the worktree and the binaries; it need not exist.
  CommitBuilds(const Repository& repository, const std::filesystem::path& folder, BuildRecipe recipe);

  struct Built {
    std::string binary;  // its path; empty: there is none
    std::string reason;  // why
  };
  // What is kept for the commit and this recipe: a binary, or that it does not build. Empty: nothing.
  std::optional<Built> kept(const Commit& commit) const;
  Built build(const Commit& commit);
  void forget_failures() const;  // so that they are tried again

  std::optional<double> mean_seconds() const;  // of the builds of this object

 private:
  std::filesystem::path place_of(const Commit& commit) const;

  const Repository& repository_;
  std::filesystem::path folder_;
  BuildRecipe recipe_;
  double seconds_ = 0;
  std::size_t builds_ = 0;
};

}  // namespace epochbench
