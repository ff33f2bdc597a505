// The commits between two of a git repository, and a binary of each: built in a worktree of their own and kept by commit.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/compare/bisection.h"

namespace epochbench {

// The repository of the current folder. Errors of all: CallError; one line. Calls of git end early with an interrupt.
class Repository {
 public:
  Repository();

  Commit commit(const std::string& revision) const;
  // The commits after `good` up to `bad`, along first parents: what a merge brought counts as one.
  std::vector<Commit> line(const Commit& good, const Commit& bad) const;
  // The commit's files in a worktree at `folder`, which is made where it is missing; what a build left there stays.
  void check_out(const Commit& commit, const std::filesystem::path& folder) const;

 private:
  std::string ask(const std::vector<std::string>& arguments, const std::string& problem) const;

  std::string git_;
};

struct BuildRecipe {
  std::string command = "scripts/run --version";  // of a shell, in the root of the worktree
  std::string binary = "build/epochbench";        // that it leaves there
};

class CommitBuilds {
 public:
  // `folder` has the worktree and the binaries; it need not exist.
  CommitBuilds(const Repository& repository, const std::filesystem::path& folder, BuildRecipe recipe);

  struct Built {
    std::string binary;  // its path; empty: there is none
    std::string reason;  // why
  };
  // What is kept of the commit and this recipe: a binary, or that it does not build. Empty: nothing.
  std::optional<Built> kept(const Commit& commit) const;
  Built build(const Commit& commit);
  void forget_failures() const;  // so that they are tried again

  std::optional<double> usual_seconds() const;  // of the builds of this object

 private:
  std::filesystem::path place_of(const Commit& commit) const;

  const Repository& repository_;
  std::filesystem::path folder_;
  BuildRecipe recipe_;
  double seconds_ = 0;
  std::size_t builds_ = 0;
};

}  // namespace epochbench
