#include "client/cli/completion.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/cli/command_table.h"
#include "client/cli/option_table.h"
#include "core/base/log.h"
#include "core/base/reason.h"

namespace quotient::cli {
namespace {

std::vector<const Option*> OptionsOf(const Command& command) {
  std::vector<const Option*> options;
  for (const Option& option : Options()) {
    if ((option.commands & command.bit) != 0) options.push_back(&option);
  }
  return options;
}

std::string CommandNames() {
  return absl::StrJoin(Commands(), " ", [](std::string* out, const Command& command) {
    absl::StrAppend(out, command.name);
  });
}

// What an option is for, in one line. Its values are offered anyway.
std::string ShortHelp(const Option& option) {
  const absl::string_view help = option.help;
  return std::string(absl::StripSuffix(help.substr(0, help.find('\n')), ":"));
}

// --- bash: word lists, chosen by the command and the word before the cursor ---

// Returns the bash command whose output fills COMPREPLY for a value.
std::string BashValue(Completion completion, const std::vector<std::string>& choices) {
  switch (completion) {
    case Completion::kFile:
      return "compgen -f -- \"$cur\"";
    case Completion::kModelFile:
      return "compgen -f -X '!*.onnx' -- \"$cur\"; compgen -d -- \"$cur\"";
    case Completion::kChoices:
      return absl::StrCat("compgen -W '", absl::StrJoin(choices, " "), "' -- \"$cur\"");
    case Completion::kNothing:
      break;
  }
  return ":";
}

// Completes the values of one command's options. Other commands may have options of the same name
// with other values.
std::string BashOptionValues(const Command& command) {
  std::string cases;
  for (const Option* option : OptionsOf(command)) {
    if (option->value == nullptr) continue;
    absl::StrAppend(&cases, "        --", option->name);
    if (option->short_name != 0) absl::StrAppend(&cases, "|-", std::string(1, option->short_name));
    absl::StrAppend(&cases, ") COMPREPLY=($(", BashValue(option->completion, option->choices),
                    ")); return;;\n");
  }
  return absl::StrCat("      case $prev in\n", cases, "      esac\n");
}

std::string BashCommands() {
  std::string cases;
  for (const Command& command : Commands()) {
    const std::string names = absl::StrJoin(
        OptionsOf(command), " ",
        [](std::string* out, const Option* option) { absl::StrAppend(out, "--", option->name); });
    absl::StrAppend(&cases, "    ", command.name, ")\n", BashOptionValues(command),
                    "      if [[ $cur == -* ]]; then\n        COMPREPLY=($(compgen -W '", names,
                    "' -- \"$cur\"))\n      else\n        COMPREPLY=($(",
                    BashValue(command.completion, command.choices), "))\n      fi;;\n");
  }
  return cases;
}

std::string BashScript() {
  return absl::StrCat(
      "# bash completion for quotient\n"
      "_quotient() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  COMPREPLY=()\n"
      "  if [[ $COMP_CWORD == 1 ]]; then\n"
      "    COMPREPLY=($(compgen -W '",
      CommandNames(),
      "' -- \"$cur\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${COMP_WORDS[1]} in\n",
      BashCommands(),
      "  esac\n"
      "}\n"
      "complete -o filenames -F _quotient quotient\n");
}

// --- zsh: _arguments specifications ---

std::string ZshQuoted(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

std::string ZshValue(Completion completion, const std::vector<std::string>& choices) {
  switch (completion) {
    case Completion::kFile:
      return "_files";
    case Completion::kModelFile:
      return "_files -g \"*.onnx(-.)\"";
    case Completion::kChoices: {
      return absl::StrCat("(", ZshQuoted(absl::StrJoin(choices, " ")), ")");
    }
    case Completion::kNothing:
      break;
  }
  return " ";
}

std::string ZshOption(const Option& option) {
  const std::string value = option.value == nullptr
                                ? ""
                                : absl::StrCat(":", ZshQuoted(option.value), ":",
                                               ZshValue(option.completion, option.choices));
  std::string specification;
  const auto add = [&](const std::string& flag) {
    absl::StrAppend(&specification, "        '", option.repeatable ? "*" : "", flag, "[",
                    ZshQuoted(ShortHelp(option)), "]", value, "' \\\n");
  };
  add(absl::StrCat("--", option.name));
  if (option.short_name != 0) add(absl::StrCat("-", std::string(1, option.short_name)));
  return specification;
}

std::string ZshScript() {
  std::string script =
      "#compdef quotient\n"
      "_quotient() {\n"
      "  if (( CURRENT == 2 )); then\n"
      "    local -a commands=(\n";
  for (const Command& command : Commands()) {
    absl::StrAppend(&script, "      '", command.name, ":", ZshQuoted(command.summary), "'\n");
  }
  absl::StrAppend(&script, "    )\n    _describe command commands\n    return\n  fi\n",
                  "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n",
                  "  case $command in\n");
  for (const Command& command : Commands()) {
    absl::StrAppend(&script, "    ", command.name, ")\n      _arguments \\\n");
    for (const Option* option : OptionsOf(command)) absl::StrAppend(&script, ZshOption(*option));
    for (int at = 1; at <= command.positional_count; ++at) {
      const bool is_last = at == command.positional_count;
      absl::StrAppend(&script, "        '", at, ":",
                      at > command.positional_count - command.optional_positionals ? ":" : "",
                      ZshQuoted(command.positional), ":",
                      ZshValue(command.completion, command.choices), "'", is_last ? "\n" : " \\\n");
    }
    if (command.positional_count == 0) {
      absl::StrAppend(&script, "        '*: :'\n");
    }
    absl::StrAppend(&script, "      ;;\n");
  }
  // A file in $fpath is only read when completion is first needed, and must then complete at once.
  absl::StrAppend(&script,
                  "  esac\n}\n"
                  "if [[ ${funcstack[1]} == _quotient ]]; then\n"
                  "  _quotient \"$@\"\n"
                  "else\n"
                  "  compdef _quotient quotient\n"
                  "fi\n");
  return script;
}

// --- fish: one line per command and option ---

std::string FishQuoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

std::string FishValue(Completion completion, const std::vector<std::string>& choices) {
  switch (completion) {
    case Completion::kFile:
      return " -r -F";
    case Completion::kModelFile:
      return " -r -k -a '(__fish_complete_suffix .onnx)'";
    case Completion::kChoices:
      return absl::StrCat(" -x -a '", absl::StrJoin(choices, " "), "'");
    case Completion::kNothing:
      break;
  }
  return " -x";
}

std::string FishScript() {
  std::string script =
      "# fish completion for quotient\n"
      "complete -c quotient -f\n";
  for (const Command& command : Commands()) {
    absl::StrAppend(&script, "complete -c quotient -n __fish_use_subcommand -a ", command.name,
                    " -d ", FishQuoted(command.summary), "\n");
  }
  for (const Command& command : Commands()) {
    const std::string condition =
        absl::StrCat("complete -c quotient -n '__fish_seen_subcommand_from ", command.name, "'");
    if (command.positional_count > 0 && command.completion != Completion::kNothing) {
      absl::StrAppend(&script, condition, FishValue(command.completion, command.choices), "\n");
    }
    for (const Option* option : OptionsOf(command)) {
      absl::StrAppend(&script, condition, " -l ", option->name);
      if (option->short_name != 0) {
        absl::StrAppend(&script, " -s ", std::string(1, option->short_name));
      }
      if (option->value != nullptr) {
        absl::StrAppend(&script, FishValue(option->completion, option->choices));
      }
      absl::StrAppend(&script, " -d ", FishQuoted(ShortHelp(*option)), "\n");
    }
  }
  return script;
}

}  // namespace

absl::StatusOr<std::string> CompletionScript(absl::string_view shell) {
  if (shell == "bash") return BashScript();
  if (shell == "zsh") return ZshScript();
  if (shell == "fish") return FishScript();
  return MakeError(Reason::kOptionInvalid,
                   absl::StrCat("no completion for '", Escaped(shell), "': bash, zsh or fish"));
}

}  // namespace quotient::cli
