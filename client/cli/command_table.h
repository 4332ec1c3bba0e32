#pragma once

// The table of all commands. Parsing, help and shell completion are generated from this table and
// the table of options (option_table.h) alone.

#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace quotient::cli {

// The commands as bits, so that an option can list the commands that accept it.
enum CommandBit : unsigned {
  kOptimize = 1u << 0,
  kSubmit = 1u << 1,
  kWatch = 1u << 2,
  kResult = 1u << 3,
  kCancel = 1u << 4,
  kJobs = 1u << 5,
  kInspect = 1u << 6,
  kVersion = 1u << 7,
  kCompletion = 1u << 8,
  kSnapshot = 1u << 9,
  kProfile = 1u << 10,
  kRules = 1u << 11,
  kBisect = 1u << 12,
  kCheck = 1u << 13,
  kSimplify = 1u << 14,
  kExplain = 1u << 15,
  kStop = 1u << 16,
  kDelete = 1u << 17,
  kValidate = 1u << 18,
  kVerify = 1u << 19,
  kReplay = 1u << 20,
};

// What a shell should offer as completions of a value.
enum class Completion { kNothing, kFile, kModelFile, kChoices };

struct Command {
  CommandBit bit;
  const char* name;
  const char* positional;  // As shown in the usage; empty if there is none.
  int positional_count;    // Number of positional arguments, those that may be left out included.
  Completion completion;   // Completion of the positional argument.
  std::vector<std::string> choices;  // Its values, if `completion` is kChoices.
  const char* summary;
  const char* description;  // Text of the help between usage and options.
  std::vector<const char*> examples;
  int optional_positionals = 0;  // How many of them, the last ones, may be left out.
};

std::span<const Command> Commands();

const Command* FindCommand(absl::string_view name);

// The default address of the server, and the environment variable that replaces it.
inline constexpr char kDefaultServer[] = "127.0.0.1:7070";
inline constexpr char kServerVariable[] = "QUOTIENT_SERVER";

}  // namespace quotient::cli
