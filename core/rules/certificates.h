#pragma once

// What is known of each rule's correctness: its certificate as `quotient-rules check` found it
// (core/prove), recorded in certificates.txt.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::rules {

struct RecordedCertificate {
  std::string tier;   // As prove::NameOf names it: "exact", ...
  int instances = 0;  // Graphs with numbers in which what the rule changed was compared.
  int exact = 0;      // Those of them that agreed in the prime field.
  int symbolic = 0;   // Graphs with symbols, each for several sizes.
  int64_t equations = 0;
  double largest_error = 0;  // In double, as prove::Certificate has it.
  // The functions that were left open, or why the rule is not exact.
  std::string note;
};

using RecordedCertificates = std::map<std::string, RecordedCertificate, std::less<>>;

// By the names of rules. INVALID_ARGUMENT names the line that is not as ToText writes it.
absl::StatusOr<RecordedCertificates> ParseCertificates(absl::string_view text);
// One line per rule, sorted: name, tier, instances, exact ones, those with symbols, equations,
// error, note; separated by tabs.
std::string ToText(const RecordedCertificates& certificates);

// Those of this program's rules.
const RecordedCertificates& Certificates();

}  // namespace quotient::rules
