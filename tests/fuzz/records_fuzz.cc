// Any bytes are statistics of rules, which the process of a job leaves for the server, or a
// refusal, and any record is the timing of a kernel or none; what is taken for one can be written
// and read again, and can be added up. With the right checksums around the parts of the input
// ("####" between them), so that these do not hide what is inside, and without.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/timing/frame.h"
#include "core/timing/record.h"
#include "core/timing/rule_table.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/understood.h"

namespace {

using namespace quotient;  // NOLINT: one file, one purpose
using quotient::testing::Check;

constexpr char kBetweenParts[] = "####";

// Whether the bytes have statistics of a device.
bool ReadRules(absl::string_view bytes) {
  const auto read = timing::DecodeRuleTable(bytes);
  if (!read.ok()) return false;
  Check(read->dropped <= bytes.size(), "no more is lost than there was");
  const auto again = timing::DecodeRuleTable(timing::EncodeRuleTable(read->table));
  Check(again.ok() && again->dropped == 0, "statistics can be written", again.status());
  const bool is_whole = read->table.size() <= timing::kMostRuleDevices;
  Check(!is_whole || again->table == read->table, "statistics stay the same");

  timing::RuleTable sums = read->table;
  for (auto& [fingerprint, device] : sums) device += read->table.at(fingerprint);
  const auto added = timing::DecodeRuleTable(timing::EncodeRuleTable(sums));
  Check(added.ok() && added->dropped == 0, "sums can be written", added.status());
  return !read->table.empty();
}

// Whether the payload is that of a timing.
bool ReadTiming(absl::string_view payload) {
  const std::string frame = timing::Framed(payload);
  const timing::DecodeResult read = timing::DecodeRecord(frame);
  if (read.outcome != timing::DecodeResult::Outcome::kRecord) return false;
  Check(timing::EncodeRecord(read.record) == frame, "a timing has one text");
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  bool understood = ReadRules(text);
  std::string sealed = timing::kRuleFileMagic;
  for (const absl::string_view part : absl::StrSplit(text, kBetweenParts)) {
    sealed += timing::Framed(part);
    understood |= ReadTiming(part);
  }
  understood |= ReadRules(sealed);
  if (understood) testing::NoteUnderstood();
  return 0;
}
