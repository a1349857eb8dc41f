#include <fmt/format.h>

#include <exception>
#include <map>
#include <new>
#include <sstream>

#include "app/cli/commands.hpp"
#include "app/cli/exit_status.hpp"
#include "app/cli/files.hpp"
#include "sim/config/diagnostics.hpp"
#include "sim/config/suggest.hpp"
#include "sim/config/units.hpp"
#include "sim/core/failure.hpp"
#include "sim/core/memory_limit.hpp"
#include "sim/process/log_output.hpp"
#include "sim/process/signals.hpp"
#include "sim/process/standard_streams.hpp"

namespace moire::cli {

namespace {

// Returns a word with the quotes that it needs to pass a shell unchanged.
std::string shell_word(const std::string& word) {
  const auto plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=-+:,%@";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

int report_bug(const char* what, int argc, char** argv) {
  std::vector<std::string> words = {"moire"};
  for (int i = 1; i < argc; ++i) words.push_back(shell_word(argv[i]));
  process::tell(
      "moire: internal error: {}\nThis is a bug in Moire, not in your input; please report it with the command\n  {}\n",
      what, config::join(words, " "));
  return our_bug;
}

int unknown_kind(const CLI::App& command, const std::vector<std::string>& words) {
  std::vector<std::string> kinds;
  for (const CLI::App* kind : command.get_subcommands([](const CLI::App*) { return true; }))
    kinds.push_back(kind->get_name());
  const std::string& name = command.get_name();
  if (words.empty()) {
    process::tell("moire: {} needs a kind: {}; see 'moire {} --help'\n", name, config::join(kinds), name);
  } else {
    process::tell("moire: unknown kind {}; {}; see 'moire {} --help'\n", config::in_quotes(words.front()),
                  config::suggestion(words.front(), kinds, "kinds"), name);
  }
  return bad_input;
}

int wrong_command_line(const CLI::App& app, const CLI::ParseError& error) {
  const auto all = [](const CLI::App*) { return true; };
  const auto chosen = app.get_subcommands();
  if (!chosen.empty()) {
    const CLI::App* command = chosen.front();
    const auto kinds = command->get_subcommands(all);
    if (!kinds.empty() && command->get_subcommands().empty()) return unknown_kind(*command, app.remaining(true));
    const std::string name = kinds.empty() ? "" : " " + command->get_subcommands().front()->get_name();
    process::tell("moire: {}; see 'moire {}{} --help'\n", error.what(), command->get_name(), name);
    return bad_input;
  }
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands(all)) commands.push_back(command->get_name());
  const std::vector<std::string> words = app.remaining();
  if (words.empty()) {
    process::tell("moire: no command; commands: {}; see 'moire --help'\n", config::join(commands));
  } else {
    process::tell("moire: unknown command {}; {}; see 'moire --help'\n", config::in_quotes(words.front()),
                  config::suggestion(words.front(), commands, "commands"));
  }
  return bad_input;
}

struct LogArguments {
  std::string level;
  std::string file;
};

// Adds the options of the log to `moire`. They may precede the command or follow it, because commands pass options that
// they do not know on to `moire`.
void add_log(CLI::App& app, LogArguments& arguments) {
  app.add_option(
         "--log-level", arguments.level,
         "Log the decisions of the program: off, error, warn, info, debug; default: off, or info with --log-file")
      ->check(CLI::IsMember({"off", "error", "warn", "info", "debug"}))
      ->type_name("LEVEL");
  app.add_option("--log-file", arguments.file, "Write the log to this file instead of stderr")
      ->check(a_name())
      ->type_name("FILE");
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    command->fallthrough();
    for (CLI::App* kind : command->get_subcommands([](const CLI::App*) { return true; })) kind->fallthrough();
  }
}

// Adds --memory-limit, which, like --log-level, every command accepts.
void add_memory_limit(CLI::App& app) {
  app.add_option_function<std::string>(
         "--memory-limit",
         [](const std::string& text) {
           Bytes bytes;
           if (const auto problem = config::parse_quantity(text, bytes))
             throw CLI::ValidationError("--memory-limit", problem->str());
           core::set_memory_limit(bytes.value);
         },
         "Refuse runs that need more memory than SIZE, like '8 GB'; default: the memory that the machine has available")
      ->type_name("SIZE");
}

void start_log(const LogArguments& arguments) {
  const std::string level = !arguments.level.empty() ? arguments.level : arguments.file.empty() ? "off" : "info";
  const std::map<std::string, core::LogLevel> levels = {{"off", core::LogLevel::off},
                                                        {"error", core::LogLevel::error},
                                                        {"warn", core::LogLevel::warn},
                                                        {"info", core::LogLevel::info},
                                                        {"debug", core::LogLevel::debug}};
  process::start_log(levels.at(level), arguments.file);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  process::reserve_standard_streams();
  process::handle_signals();
  CLI::App app("Moire, a discrete-event simulator of multi-node GPU systems.", "moire");
  app.require_subcommand(1);
  app.set_version_flag("--version", "moire " MOIRE_VERSION);
  app.footer(
      "Exit status: 0 done, 1 a check failed or standard output was lost, 2 the input is wrong or a file cannot be "
      "written, 3 the simulated program deadlocked, 70 a bug in Moire, 130 and 143 interrupted.");
  Action action;
  add_run(app, action);
  add_advise(app, action);
  add_check(app, action);
  add_validate(app, action);
  add_calibrate(app, action);
  add_compile(app, action);
  add_import(app, action);
  add_explain(app, action);
  LogArguments log;
  add_log(app, log);
  add_memory_limit(app);
  try {
    int status = done;
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() != 0) return wrong_command_line(app, error);
      std::ostringstream help;
      status = app.exit(error, help, help);
      process::print(help.str());
      action = nullptr;
    }
    if (action) {
      start_log(log);
      status = action();
    }
    process::close_output();
    process::end_log();
    return status;
  } catch (const core::RunFailure& failure) {
    core::log_error("{}", failure.what());
    process::tell("moire: {}\n", config::printable(failure.what()));
    return bad_input;
  } catch (const process::OutputLost& lost) {
    core::log_error("{}", lost.what());
    process::tell("moire: {}\n", lost.what());
    return output_lost;
  } catch (const process::Interrupted& interrupted) {
    process::tell("moire: interrupted\n");
    return by_signal + interrupted.signal;
  } catch (const std::bad_alloc&) {
    process::tell("moire: the command needs more memory than is available; simulate fewer ranks\n");
    return bad_input;
  } catch (const std::exception& bug) {
    return report_bug(bug.what(), argc, argv);
  }
}

}  // namespace moire::cli
