#include "core/rules/certificates.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace quotient::rules {

extern const char kCertificates[];  // The content of certificates.txt.

absl::StatusOr<RecordedCertificates> ParseCertificates(absl::string_view text) {
  RecordedCertificates certificates;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    RecordedCertificate certificate;
    if (fields.size() != 8 || !absl::SimpleAtoi(fields[2], &certificate.instances) ||
        !absl::SimpleAtoi(fields[3], &certificate.exact) ||
        !absl::SimpleAtoi(fields[4], &certificate.symbolic) ||
        !absl::SimpleAtoi(fields[5], &certificate.equations) ||
        !absl::SimpleAtod(fields[6], &certificate.largest_error)) {
      return absl::InvalidArgumentError(absl::StrCat("no certificate: ", line));
    }
    certificate.tier = fields[1];
    certificate.note = fields[7];
    certificates[fields[0]] = std::move(certificate);
  }
  return certificates;
}

std::string ToText(const RecordedCertificates& certificates) {
  std::string text;
  for (const auto& [name, certificate] : certificates) {
    absl::StrAppendFormat(&text, "%s\t%s\t%d\t%d\t%d\t%d\t%.1e\t%s\n", name, certificate.tier,
                          certificate.instances, certificate.exact, certificate.symbolic,
                          certificate.equations, certificate.largest_error, certificate.note);
  }
  return text;
}

const RecordedCertificates& Certificates() {
  static const auto& certificates = *new RecordedCertificates(*ParseCertificates(kCertificates));
  return certificates;
}

}  // namespace quotient::rules
