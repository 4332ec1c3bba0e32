#pragma once

// Guards of which more is to be said than the purpose of their word.

#include <span>

#include "absl/strings/string_view.h"
#include "core/rules/purpose.h"

namespace quotient::rules {

struct GuardNote {
  const char* rule;
  const char* guard;  // As in the text: "not weight(?x)".
  // What it is for in this rule. kEquation: part of the equation, though no graph that is tried
  // shows that.
  Purpose purpose;
  const char* why;
};

std::span<const GuardNote> GuardNotes();
// Null if there is none.
const GuardNote* NoteOn(absl::string_view rule, absl::string_view guard);

}  // namespace quotient::rules
