#pragma once

// Code shared by developers' programs: help, error messages, exit status.

#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient {

struct Program {
  const char* name;
  const char* usage;  // The text that --help prints.
};

// Prints "NAME: what" to standard error, without control characters. Returns false.
bool Complain(const Program& program, absl::string_view what);

// The parts of RunProgram. Those that return int return the exit status.
bool WantsHelp(std::span<const char* const> words);
int Help(const Program& program);
int RefuseArguments(const Program& program, const absl::Status& status);
int ExitStatus(const Program& program, const absl::StatusOr<bool>& ran);

// Parses the arguments `words`, which do not include the program's name, runs the program, and
// returns the exit status: 0 after --help or -h, and if `run` returns true; 1 if `run` fails, or
// returns false after it has printed the reason; 2, without a call of `run`, if `parse` fails.
template <typename Options>
int RunProgram(const Program& program, std::span<const char* const> words,
               absl::StatusOr<Options> (*parse)(std::span<const char* const>),
               absl::StatusOr<bool> (*run)(const Options&)) {
  if (WantsHelp(words)) return Help(program);
  const absl::StatusOr<Options> options = parse(words);
  return options.ok() ? ExitStatus(program, run(*options))
                      : RefuseArguments(program, options.status());
}

}  // namespace quotient
