#pragma once

// What programs for developers have in common: help, errors, exit status.

#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient {

struct Program {
  const char* name;
  const char* usage;  // what --help prints
};

// "NAME: what" on standard error, without what a terminal would obey. Returns false.
bool Complain(const Program& program, absl::string_view what);

// What follows are the parts of RunProgram; each returns the exit status.
bool WantsHelp(std::span<const char* const> words);
int Help(const Program& program);
int RefuseArguments(const Program& program, const absl::Status& status);
int ExitStatus(const Program& program, const absl::StatusOr<bool>& ran);

// `words` without the program's name. Returns the exit status: 0 after --help or -h, or if `run`
// returns true; 1 for its errors, and for false, of which it has told; 2 for what `parse` refuses,
// and then nothing is run.
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
