#pragma once

// Every command and option of the program. Parsing, help and shell completion are drawn from these
// two tables and from nothing else.

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cli/settings.h"

namespace quotient::cli {

// Bits, so that an option can name the commands that take it.
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
};

// What a shell should offer for a value.
enum class Completion { kNothing, kFile, kModelFile, kChoices };

struct Command {
  CommandBit bit;
  const char* name;
  const char* positional;  // as shown in the usage; empty: none
  int positional_count;    // exactly so many
  Completion completion;   // of the positional
  std::vector<const char*> choices;
  const char* summary;
  const char* description;  // paragraphs of the help
  std::vector<const char*> examples;
};

struct Option {
  const char* name;   // without the dashes
  char short_name;    // 0: none
  const char* value;  // what stands for the value in the help; nullptr: a switch
  unsigned commands;  // CommandBits that take it
  bool repeatable;
  Completion completion;
  std::vector<const char*> choices;
  const char* help;
  absl::Status (*apply)(absl::string_view value, Settings* settings);
};

std::span<const Command> Commands();
std::span<const Option> Options();

const Command* FindCommand(absl::string_view name);

// Where commands look for a server if nothing says otherwise.
inline constexpr char kDefaultServer[] = "127.0.0.1:7070";
inline constexpr char kServerVariable[] = "QUOTIENT_SERVER";

}  // namespace quotient::cli
