// The subcommands. Each file of this folder adds one: its options, the struct that they fill in, and what it does with them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "src/base/errors.h"
#include "src/case/case_block.h"
#include "src/cli/known_names.h"

namespace epochbench {

struct Measurement;
struct MeasuringRequest;
struct PriceListOptions;
struct PriceOptions;
enum class PriceScaling : std::uint8_t;

class Commands {
 public:
  Commands(int argc, char** argv);  // of the call

  // Adds a subcommand. `run` gets the options of the call, returns the exit code, and throws errors.
  template <class Options>
  std::pair<CLI::App&, Options&> add(const char* name, const char* about, const std::string& examples,
                                     int (*run)(const Options&)) {
    CLI::App* command = app_.add_subcommand(name, about)->footer(examples);
    auto options = std::make_shared<Options>();
    command->callback([this, options, run] { chosen_ = [options, run] { return run(*options); }; });
    return {*command, *options};
  }

  // Adds every case option to a command, as text: values are checked where cases are built, in the same way for calls and
  // suites. `keys`: those of a command that takes one value of each; empty: all options, with their lists.
  void add_case_options(CLI::App& command, CaseBlock& block, OfferedTo caller = OfferedTo::calls,
                        const std::vector<std::string>& keys = {});

  // MODEL, which is the same as --model. Must be added after it. `result`: takes a text that ends in .json instead.
  void add_model_argument(CLI::App& command, CaseBlock& block, std::string* result = nullptr);

  // Reads the call, runs the subcommand that it names, prints an error in one line. Returns the exit code.
  int run();
  // The first half of run(): what the call asks for, checked except for the values of its cases. Errors: CallError.
  std::function<int()> parse();
  const CaseBlock* cases() const;  // that the call asks for; nullptr: the command has none
  NamingCall naming() const;       // what the devices and precisions of the call may be

  const std::vector<std::string>& arguments() const { return arguments_; }  // of the call, the program's name first

 private:
  CLI::App app_;
  std::vector<std::string> arguments_;
  std::vector<std::pair<const CLI::App*, const CaseBlock*>> blocks_;
  std::function<int()> chosen_;
  bool two_models_ = false;
};

// An option whose text is parsed as soon as it is read; an error begins with the flag.
template <class T, class Parse>
CLI::Option* add_parsed(CLI::App& command, const std::string& flag, T& value, const Parse& parse, const std::string& help) {
  return command.add_option_function<std::string>(
      flag,
      [&value, parse, flag](const std::string& text) {
        if (text.empty()) throw CallError(flag + ": an empty value; give one or leave the option out");
        value = located(flag, [&] { return parse(text); });
      },
      help);
}

// What --dry-run does: prints the cases that would run, with planned memory and expected time. Returns the exit code.
int dry_run(const MeasuringRequest& request);

// Prints the tables of `run` or `sweep` on `out`: above them the CPU and the measured GPUs with their measured limits, one line
// per device; below them disturbed runs, projected epochs, the tables' remarks and prices, which `all_notes` shows on a
// terminal too, and where the result is.
void print_tables(const Measurement& measured, const std::string& tables, bool all_notes, std::FILE* out);
// Prints the result as JSON on stdout and removes the file that kept it meanwhile.
void print_result(const MeasuringRequest& request, const Measurement& measurement);
// After an interrupt, prints the command that continues to stderr, unless the call is quiet.
void print_resume_command(const MeasuringRequest& request, const Measurement& measurement);

// Prints one line on stderr about what disturbs measurements on this machine, if anything does.
void print_disturbances();

// --price and --price-scaling; the latter alone.
void add_price_options(CLI::App& command, PriceOptions& prices);
void add_price_scaling(CLI::App& command, std::optional<PriceScaling>& scaling);
// --price-file, and --price as `rent` has it.
void add_price_file(CLI::App& command, std::string& file);
void add_price_list_options(CLI::App& command, PriceListOptions& prices);

// --out, --also, --overwrite, --dry-run, --resume, --anonymous and --quiet.
void add_options_of_result(CLI::App& command, MeasuringRequest& request);
// The same, --price, --price-scaling and --allow-skipped.
void add_options_of_measuring(CLI::App& command, MeasuringRequest& request);

void print(const std::string& text);                             // on stdout, as it is
void print_to(const std::string& out, const std::string& text);  // in a file; on stdout if it is "" or "-"
void print_fitted(const std::string& text);                      // for people: in lines as wide as the terminal

void add_answers(Commands& commands);
void add_bisect(Commands& commands);
void add_case(Commands& commands);  // hidden: the process of one case, driven by its parent over standard input and output
void add_claims(Commands& commands);
void add_compare(Commands& commands);
void add_completion(Commands& commands);
void add_cost(Commands& commands);
void add_export(Commands& commands);
void add_import(Commands& commands);
void add_info(Commands& commands);
void add_interleave(Commands& commands);  // hidden: what scripts/peers/take_turns calls
void add_list(Commands& commands);
void add_man(Commands& commands);
void add_plan(Commands& commands);
void add_rent(Commands& commands);
void add_report(Commands& commands);
void add_reproduce(Commands& commands);
void add_run(Commands& commands);
void add_speedup(Commands& commands);
void add_sweep(Commands& commands);
void add_system(Commands& commands);
void add_verify(Commands& commands);

void add_all(Commands& commands);  // in the order of the help

}  // namespace epochbench
