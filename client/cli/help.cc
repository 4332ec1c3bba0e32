#include "client/cli/help.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/cli/exit_code.h"
#include "client/cli/option_table.h"

namespace quotient::cli {
namespace {

std::string OptionText(const Option& option) {
  std::string text = option.short_name == 0 ? absl::StrCat("    --", option.name)
                                            : absl::StrCat("-", std::string(1, option.short_name),
                                                           ", --", option.name);
  if (option.value != nullptr) absl::StrAppend(&text, " ", option.value);
  return text;
}

constexpr size_t kColumns = 100;       // Of a line.
constexpr size_t kHelpOfOptions = 33;  // The column where the help of options begins.

// Breaks the lines of `text` between words, so that they end within kColumns. All but the first
// begin at the column `indent`.
std::string Wrapped(absl::string_view text, size_t indent) {
  const std::string margin(indent, ' ');
  std::string wrapped;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!wrapped.empty()) absl::StrAppend(&wrapped, "\n", margin);
    size_t column = indent;
    for (const absl::string_view word : absl::StrSplit(line, ' ')) {
      if (column > indent && column + 1 + word.size() > kColumns) {
        absl::StrAppend(&wrapped, "\n", margin);
        column = indent;
      }
      absl::StrAppend(&wrapped, column > indent ? " " : "", word);
      column += (column > indent ? 1 : 0) + word.size();
    }
  }
  return wrapped;
}

struct ExitCodeRow {
  ExitCode code;
  const char* meaning;
};

// README.md and client/README.md have the same rows (tests/e2e/help_pages_test.py).
constexpr ExitCodeRow kExitCodes[] = {
    {kExitDone, "done; optimize: a valid OUT.onnx is written, improved or not"},
    {kExitNo,
     "check, verify: the models are not the same; validate: a job would return the model as it "
     "came; replay: the result does not follow; --journal: the result has no journal, and all else "
     "is written"},
    {kExitUsage,
     "the command line is wrong, or a file that it names; an output would replace an input; there "
     "is no such job"},
    {kExitModelRefused,
     "the model is refused: malformed, hostile, over a limit, or, by profile, nothing that the "
     "device can run; the message says why"},
    {kExitServer,
     "the server cannot be reached, or failed, or refuses more of this client (QUOTA_...); the "
     "device is not there; memory, threads or the disk have run out"},
    {kExitNoResult,
     "deadline or cancellation before there was a result; the job has not ended; none is cached "
     "(--only-cached)"},
    {kExitTooSmall,
     "the result gains less than --require-improvement demands, and OUT.onnx is not written"},
    {kExitLock, "the lock file of --lock is missing, or pins something else (LOCK_...)"},
};
constexpr size_t kMeaningOfExitCodes = 5;  // The column where their meaning begins.

std::string ExitCodesHelp() {
  std::string help = "\nExit codes:\n";
  for (const ExitCodeRow& row : kExitCodes) {
    absl::StrAppend(&help, "  ", static_cast<int>(row.code), "  ",
                    Wrapped(row.meaning, kMeaningOfExitCodes), "\n");
  }
  return help;
}

}  // namespace

std::string GeneralHelp() {
  std::string help =
      "Usage: quotient COMMAND [OPTION]...\n"
      "Makes ONNX models faster, and proves it.\n\nCommands:\n";
  for (const Command& command : Commands()) {
    absl::StrAppendFormat(&help, "  %-11s %s\n", command.name, command.summary);
  }
  absl::StrAppend(&help, ExitCodesHelp(), "\n'quotient COMMAND --help' tells more.\n");
  return help;
}

std::string CommandHelp(const Command& command) {
  std::string help = absl::StrCat("Usage: quotient ", command.name);
  if (command.positional_count > 0) absl::StrAppend(&help, " ", command.positional);
  absl::StrAppend(&help, " [OPTION]...\n\n", Wrapped(command.description, 0), "\n\nOptions:\n");
  for (const Option& option : Options()) {
    if ((option.commands & command.bit) == 0) continue;
    const std::string text = absl::StrCat(option.help, option.repeatable ? " (repeatable)" : "");
    absl::StrAppendFormat(&help, "  %-30s %s\n", OptionText(option), Wrapped(text, kHelpOfOptions));
  }
  absl::StrAppend(&help, "\nExamples:\n");
  for (const char* example : command.examples) absl::StrAppend(&help, "  ", example, "\n");
  absl::StrAppend(&help, ExitCodesHelp());
  return help;
}

}  // namespace quotient::cli
