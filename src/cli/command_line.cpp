// From argc and argv to a subcommand, and from what it throws to an exit code.
#include "src/cli/command_line.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>

#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "epochbench/backend.h"
#include "epochbench/dataset.h"
#include "epochbench/executable.h"
#include "src/base/errors.h"
#include "src/base/files.h"
#include "src/base/gpu_code.h"
#include "src/base/inherited.h"
#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/help.h"
#include "src/cli/parse_message.h"
#include "src/machine/environment.h"

namespace epochbench {
namespace {

// What a terminal shows for a call without a command.
constexpr const char* kFirstQuestions = R"(What does training cost on this machine, in time, money and energy?

How fast is this machine, and how near to its peak?
  epochbench run
How much faster is a T4, an A100, an H100?
  epochbench plan RESULT.json --on T4,a100,h100-sxm
How much faster is B than A, and why?
  epochbench speedup RESULT.json
Did a change make training slower?
  epochbench compare --interleave OLD NEW

All commands: epochbench --help
)";

constexpr const char* kExamples = R"(Examples:
  epochbench run                        measures the suite `quick` in minutes
  epochbench run resnet20 --batch 128   one model
  epochbench help run                   all options; run -h: those used most)";

// "epochbench 0.1.0 (1a2b3c4, Release, gcc 12.2.0)", and a line each for what the build contains.
std::string version_text() {
  const BuildInfo build = build_info();
  std::string text = "epochbench " + build.version + " (";
  if (build.git_sha) text += build.git_sha->substr(0, 12) + (build.git_dirty.value_or(false) ? "-dirty, " : ", ");
  text += build.build_type + ", " + build.compiler + ")\nCPU kernels: " + joined(*build.cpu_kernels);
  if (const std::vector<std::string> libraries = cpu_libraries(); !libraries.empty())
    text += "\nCPU libraries: " + joined(libraries);
  return text + "\nGPU code: " + gpu_code_text(*build.gpu_code);
}

// "help run" as "run --help". Errors: CallError.
void take_help_command(const CLI::App& app, std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || arguments[1] != "help") return;
  if (arguments.size() > 3) throw CallError("help: unexpected argument '" + arguments[3] + "'; name one command");
  if (arguments.size() == 3 && !arguments[2].starts_with("-")) {
    if (!contains(shown_commands(app), arguments[2])) throw CallError("help: " + unknown_command(app, arguments[2]));
    arguments[1] = arguments[2];
    arguments.pop_back();
  } else {
    arguments.resize(1);
  }
  arguments.emplace_back("--help");
}

// The arguments with earlier names of options, which are still accepted, replaced. In reverse, as CLI11 takes them.
std::vector<std::string> renamed(std::vector<std::string> arguments) {
  arguments.erase(arguments.begin());
  for (std::string& argument : arguments) {
    if (argument == "--") break;
    const std::string given = argument.substr(0, argument.find('='));
    if (given == "--utilisation") argument.replace(0, given.size(), "--utilization");
    for (const CaseOption& option : case_options())
      if (!option.old_key.empty() && given == "--" + name_part(option)) argument.replace(0, given.size(), flag(option));
  }
  std::ranges::reverse(arguments);
  return arguments;
}

void refuse_empty_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && option->get_type_size() > 0 && option->results().front().empty())
      throw CallError(option->get_name() + ": an empty value; give one or leave the option out");
}

// A shell replaces ~ only where a word begins; in --data images:~/set it would be a folder of that name.
void refuse_home_signs(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    for (std::string value : option->results()) {
      const std::size_t at = value.starts_with("~/") ? 0 : value.find(":~/") + 1;
      if (!value.substr(at).starts_with("~/")) continue;
      const std::string given = value;
      throw CallError(option->get_name() + ": no shell has replaced the ~ in '" + given + "' by your home; write " +
                      value.replace(at, 1, "$HOME"));
    }
}

// A full disk shows only when the output is flushed. A later write may succeed, but ferror remembers all failures.
void require_output_written() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  if (poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) return;  // the reader is gone
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return;
  const std::string why = flushed || errno == 0 ? "a part of it was not taken" : error_text(errno);
  throw FileError("cannot write the output: " + why + "; send stdout elsewhere");
}

// Some systems have small stacks. This thread's grows up to the limit, which also sets those of other threads and of cases.
void require_stack() {
  constexpr rlim_t kNeeded = 1 << 20, kDefault = 8 << 20;
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= kNeeded) return;
  stack.rlim_cur = std::min(kDefault, stack.rlim_max);
  if (stack.rlim_cur < kNeeded || setrlimit(RLIMIT_STACK, &stack) != 0)
    throw CallError("the limit of the stack is " + std::to_string(stack.rlim_max >> 10) +
                    " KiB, and epochbench needs 1024; raise it with ulimit -s 8192");
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack.rlim_cur);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

template <class... Errors>
bool is_one(const std::exception& error) {
  return (... || dynamic_cast<const Errors*>(&error));
}

}  // namespace

Commands::Commands(int argc, char** argv)
    : app_("What does it cost, in time and money, to train this model on this CPU and on this GPU?", "epochbench"),
      arguments_(argv, argv + argc) {
  app_.require_subcommand(1);
  app_.set_help_flag("-h", "the options used most, and examples");
  app_.set_help_all_flag("--help", "all options and examples");
  app_.set_version_flag("-V,--version", version_text, "the version");
  app_.footer(kExamples);
  app_.formatter_fn([](const CLI::App* command, const std::string& call, CLI::AppFormatMode mode) {
    return help_text(*command, call, mode == CLI::AppFormatMode::All ? HelpForm::complete : HelpForm::brief, output_columns());
  });
}

void Commands::add_model_argument(CLI::App& command, CaseBlock& block, std::string* result) {
  const CaseOption& option = *find_case_option("model");
  const auto take = [this, &option, &block, result](const std::string& text) {
    constexpr const char* kWhere = "MODEL";
    if (result && text.ends_with(".json")) return void(*result = text);
    two_models_ |= block.contains(option.key);
    block[option.key] = {located(kWhere, [&] { return split_values(option, text); }), kWhere};
  };
  command.add_option_function<std::string>("MODEL", take,
                                           result ? "the same as --model; or, with --on, a result" : "the same as --model");
}

void Commands::add_case_options(CLI::App& command, CaseBlock& block, OfferedTo caller, const std::vector<std::string>& keys) {
  for (const CaseOption& option : case_options()) {
    if (option.offered_to > caller || option.key == "repetitions") continue;  // each command has its own
    if (!keys.empty() && !contains(keys, option.key)) continue;
    const auto take = [&option, &block](const std::string& text) {
      block[option.key] = {located(flag(option), [&] { return split_values(option, text); }), flag(option)};
    };
    auto* added = option.value_name.empty()
                      ? command.add_flag_callback(
                            flag(option), [take] { take("on"); }, option.help)
                      : command.add_option_function<std::string>(flag(option), take, option.help)->type_name(option.value_name);
    if (keys.empty()) added->group(option.group);
    if (keys.empty() && option.offered_to == OfferedTo::peers) added->group("");  // works, but is not in the help
  }
  blocks_.emplace_back(&command, &block);
}

const CaseBlock* Commands::cases() const {
  const auto found = std::ranges::find_if(blocks_, [](const auto& block) { return block.first->parsed(); });
  return found == blocks_.end() ? nullptr : found->second;
}

NamingCall Commands::naming() const {
  const auto chosen = app_.get_subcommands();
  const std::string name = chosen.empty() ? "" : chosen.front()->get_name();
  NamingCall call{name == "plan" ? DeviceUse::plan : name == "rent" ? DeviceUse::predict : DeviceUse::run, {}, cases()};
  const CLI::Option* on = chosen.empty() ? nullptr : chosen.front()->get_option_no_throw("--on");
  if (!on || on->count() == 0) return call;
  call.use = DeviceUse::predict;
  call.on = split(on->results().front());
  return call;
}

std::function<int()> Commands::parse() {
  std::vector<std::string> arguments = arguments_;
  if (arguments.size() == 1 && isatty(STDOUT_FILENO))
    return [] {
      print_fitted(kFirstQuestions);
      return kExitDone;
    };
  take_help_command(app_, arguments);
  arguments = renamed(std::move(arguments));
  refuse_printed_dashes(app_, arguments);
  refuse_options_as_values(app_, arguments_);
  try {
    app_.parse(std::vector<std::string>(arguments));
    // Not earlier: the value of a mistyped option is also read as MODEL.
    if (two_models_) throw CallError("MODEL and --model exclude each other; give one of them");
    refuse_empty_values(*app_.get_subcommands().front());
    refuse_home_signs(*app_.get_subcommands().front());
    return chosen_;
  } catch (const CLI::Success& done) {  // help or version
    app_.exit(done);
    return [] { return kExitDone; };
  } catch (const CLI::ParseError& error) {
    throw CallError(parse_message(app_, arguments, error));
  }
}

int Commands::run() try {
  const int code = parse()();
  if (code != kExitInterrupted) require_output_written();
  return code;
} catch (const CallError& error) {
  print_error(error.what() + known_names(error, naming()));
  return error.code();
} catch (const DeviceError& error) {
  print_error(error.what());
  return kExitDeviceMissing;
} catch (const std::bad_alloc&) {
  print_error("out of memory before anything ran; free some, or raise the limit");
  return kExitCallIsWrong;
} catch (const std::exception& error) {
  const bool expected = is_one<std::invalid_argument, FormatError, FileError, DataError>(error);
  print_error((expected ? "" : "unexpected error: ") + error_text(error));
  return kExitCallIsWrong;
}

void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

void print_to(const std::string& out, const std::string& text) {
  if (out.empty() || out == kStandardStream)
    print(text);
  else if (is_stream(out))
    write_text_file(out, text);
  else
    ResultFile(out).write(text);
}

void print_fitted(const std::string& text) { print(fitted(text)); }

void add_all(Commands& commands) {
  for (const auto add :
       {add_run,     add_sweep,  add_list,       add_info,      add_system,     add_plan,    add_rent,   add_cost,
        add_speedup, add_claims, add_verify,     add_reproduce, add_export,     add_compare, add_bisect, add_answers,
        add_report,  add_import, add_completion, add_man,       add_interleave, add_case})
    add(commands);
}

int command_line(int argc, char** argv) try {
  repair_inherited_state();
  const bool is_case = argc > 1 && std::string_view(argv[1]) == "case";  // whose parent says it
  if (restore_float_rounding() && !is_case)
    print_error(
        "note: a library that was loaded before (LD_PRELOAD) had changed how floats are rounded; epochbench rounds to nearest "
        "and "
        "keeps subnormal numbers");
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit becomes a failed write
  require_stack();
  Commands commands(argc, argv);
  add_all(commands);
  return commands.run();
} catch (const CallError& error) {
  print_error(error.what());
  return error.code();
}

}  // namespace epochbench
