#pragma once

// What a user can ask with Options::why_not: RULE@NODE.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/stop.h"

namespace quotient::optimize {

struct Question {
  std::string rule;
  std::string node;  // The name of a node, or of one of its outputs.
};

// Each question takes a look at the whole e-graph, so a job may have this many.
inline constexpr size_t kMostQuestions = 32;

// OPTION_INVALID for a text that is none. The name of a node may have an @ itself.
absl::StatusOr<Question> ParseQuestion(absl::string_view text);

// OPTION_INVALID, naming the first question that is none or that asks for a rule that there is not,
// and names that are near to the rule's.
absl::Status CheckQuestions(const std::vector<std::string>& texts);

// The names, at most three, that a user may have meant by `wanted`: those with the fewest
// differences in characters, or of which it is a part. Only those that were looked at when `stop`
// fires.
std::vector<std::string> NearNames(absl::string_view wanted, const std::vector<std::string>& names,
                                   const StopCondition& stop = StopCondition());

// ", but 'a' or 'b'": what near names add to a sentence. Empty if there are none.
std::string NearNamesText(absl::string_view wanted, const std::vector<std::string>& names,
                          const StopCondition& stop = StopCondition());

}  // namespace quotient::optimize
