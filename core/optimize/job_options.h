#pragma once

// The table of job options: one row per field of Options. Validation, the canonical text, the wire
// format (proto/wire/options.cc) and the command line (client/cli/option_table.cc) are made from
// these rows. So a new option is a field of Options, a row here, and a field of the same name in
// options.proto.

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/optimize/options.h"

namespace quotient::optimize {

using Shapes = std::map<std::string, std::vector<int64_t>>;
using Words = std::vector<std::string>;

// Where an option lies. A bool is a switch, a double is a duration in seconds, and Words are a set,
// whose order does not matter.
using JobOptionField =
    std::variant<bool Options::*, int Options::*, int64_t Options::*, uint64_t Options::*,
                 double Options::*, std::string Options::*, Shapes Options::*, Words Options::*>;

struct JobOption {
  JobOptionField field;
  // The name in the canonical text. It never changes, because stored results are found by it.
  const char* key = nullptr;
  // The name in options.proto. The same, unless given.
  const char* wire_name = key;
  // The name on the command line without the dashes, by which messages name the option, too.
  const char* flag = nullptr;
  // What stands for the value in the help; null for switches.
  const char* placeholder = nullptr;
  std::string help;  // What the command line says about it.
  // The values that shells offer; empty if there is no list.
  Words choices = {};
  // The range of a number.
  int64_t least = std::numeric_limits<int64_t>::min();
  int64_t most = std::numeric_limits<int64_t>::max();
  const char* unit = "";  // Follows the range in messages: " seconds".
  // Whether it says how the model is read and where it runs, so that a profile, too, depends on it.
  bool is_of_running = false;
  // Whether it says how models are read and checked, so that comparing two of them, and simplifying
  // one, depends on it.
  bool is_of_checking = false;
  // Whether it says which graphs may be the result, so that simplifying depends on it, too.
  bool is_of_simplifying = false;
  // Whether it only asks for more in the report, so that the result does not depend on it.
  bool is_of_report = false;
  // What else a value has to fulfil; may be null. OPTION_INVALID, naming the option.
  absl::Status (*check)(const Options& options) = nullptr;

  // Whether it may be given several times.
  bool is_repeatable() const {
    return std::holds_alternative<Shapes Options::*>(field) ||
           std::holds_alternative<Words Options::*>(field);
  }
};

// The rows, in the order of the canonical text.
std::span<const JobOption> JobOptions();

// Sets an option from the text of its value; switches ignore the text. OPTION_INVALID for a text
// that is no such value. Ranges are checked by Options::Validate.
absl::Status SetFromText(const JobOption& option, absl::string_view text, Options* options);

}  // namespace quotient::optimize
