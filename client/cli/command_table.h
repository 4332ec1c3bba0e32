#pragma once

// Every command of the program. Parsing, help and shell completion are drawn from this table and
// that of options (option_table.h), and from nothing else.

#include <span>
#include <vector>

#include "absl/strings/string_view.h"

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

std::span<const Command> Commands();

const Command* FindCommand(absl::string_view name);

// Where commands look for a server if nothing says otherwise.
inline constexpr char kDefaultServer[] = "127.0.0.1:7070";
inline constexpr char kServerVariable[] = "QUOTIENT_SERVER";

}  // namespace quotient::cli
