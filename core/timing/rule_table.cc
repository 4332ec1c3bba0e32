#include "core/timing/rule_table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/timing/frame.h"

namespace quotient::timing {
namespace {

constexpr int64_t kMostCounted = int64_t{1} << 53;
constexpr double kMostSaved = 1e15;  // More than so many jobs can save.
constexpr size_t kDeviceHeadSize = 2 * 8 + 2 * 4;
constexpr size_t kRuleHeadSize = 2 * 4 + 9 * 8;

// The entries of a map that were used last, up to `most`, in the map's order. For each,
// is_kept(key) says whether it comes before all others, whenever it was used.
template <typename Map, typename IsKept>
std::vector<const typename Map::value_type*> Newest(const Map& map, size_t most,
                                                    const IsKept& is_kept) {
  std::vector<const typename Map::value_type*> entries;
  for (const auto& entry : map) entries.push_back(&entry);
  if (entries.size() <= most) return entries;
  std::ranges::stable_sort(entries, std::ranges::greater(), [&is_kept](const auto* entry) {
    return std::pair(is_kept(entry->first), entry->second.last_unix_s);
  });
  entries.resize(most);
  std::ranges::sort(entries, {}, [](const auto* entry) { return entry->first; });
  return entries;
}

std::string Payload(const std::string& fingerprint, const DeviceRules& device) {
  const auto rules =
      Newest(device.rules, kMostRulesOfDevice, [](const RuleVersion&) { return false; });
  std::string payload;
  AppendNumber(device.jobs, &payload);
  AppendNumber(device.last_unix_s, &payload);
  AppendNumber(static_cast<uint32_t>(fingerprint.size()), &payload);
  AppendNumber(static_cast<uint32_t>(rules.size()), &payload);
  payload += fingerprint;
  for (const auto* const entry : rules) {
    const auto& [rule, totals] = *entry;
    AppendNumber(static_cast<uint32_t>(rule.name.size()), &payload);
    AppendNumber(static_cast<uint32_t>(rule.version.size()), &payload);
    for (const int64_t count : {totals.jobs, totals.jobs_won, totals.matches, totals.applied,
                                totals.enodes, totals.uses}) {
      AppendNumber(count, &payload);
    }
    AppendNumber(totals.saved, &payload);
    AppendNumber(totals.saved_alone, &payload);
    AppendNumber(totals.last_unix_s, &payload);
    payload += rule.name;
    payload += rule.version;
  }
  return payload;
}

// Takes fields from the front of a payload. After something that cannot be right, good() is false.
class Fields {
 public:
  explicit Fields(absl::string_view rest) : rest_(rest) {}

  bool good() const { return good_; }
  bool at_end() const { return rest_.empty(); }
  // Whether so many bytes are left. If not, nothing more may be taken.
  bool Expect(size_t bytes) {
    good_ &= rest_.size() >= bytes;
    return good_;
  }
  int64_t Count() {
    const auto count = TakeNumber<int64_t>(rest_);
    good_ &= count >= 0 && count <= kMostCounted;
    return count;
  }
  double Saved() {
    const auto saved = TakeNumber<double>(rest_);
    good_ &= std::isfinite(saved) && std::abs(saved) <= kMostSaved;
    return saved;
  }
  uint32_t Size() { return TakeNumber<uint32_t>(rest_); }
  std::string Text(size_t size, size_t most) {
    if (size == 0 || size > most) good_ = false;
    if (!Expect(size)) return {};
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }

 private:
  absl::string_view rest_;
  bool good_ = true;
};

bool DecodeRule(Fields& fields, DeviceRules& device) {
  if (!fields.Expect(kRuleHeadSize)) return false;
  const uint32_t name_size = fields.Size();
  const uint32_t version_size = fields.Size();
  RuleTotals totals;
  for (int64_t* const count : {&totals.jobs, &totals.jobs_won, &totals.matches, &totals.applied,
                               &totals.enodes, &totals.uses}) {
    *count = fields.Count();
  }
  totals.saved = fields.Saved();
  totals.saved_alone = fields.Saved();
  totals.last_unix_s = fields.Count();
  RuleVersion rule;
  rule.name = fields.Text(name_size, kMostNameBytes);
  rule.version = fields.Text(version_size, kMostNameBytes);
  return fields.good() && device.rules.emplace(std::move(rule), totals).second;
}

std::optional<std::pair<std::string, DeviceRules>> DecodeDevice(absl::string_view payload) {
  Fields fields(payload);
  if (!fields.Expect(kDeviceHeadSize)) return std::nullopt;
  DeviceRules device;
  device.jobs = fields.Count();
  device.last_unix_s = fields.Count();
  const uint32_t fingerprint_size = fields.Size();
  const uint32_t num_rules = fields.Size();
  std::string fingerprint = fields.Text(fingerprint_size, kMostFingerprintBytes);
  if (!fields.good() || num_rules > kMostRulesOfDevice) return std::nullopt;
  for (uint32_t i = 0; i < num_rules; ++i) {
    if (!DecodeRule(fields, device)) return std::nullopt;
  }
  if (!fields.at_end()) return std::nullopt;
  return std::pair(std::move(fingerprint), std::move(device));
}

int64_t Sum(int64_t a, int64_t b) { return std::min(a + b, kMostCounted); }

}  // namespace

RuleTotals& RuleTotals::operator+=(const RuleTotals& other) {
  jobs = Sum(jobs, other.jobs);
  jobs_won = Sum(jobs_won, other.jobs_won);
  matches = Sum(matches, other.matches);
  applied = Sum(applied, other.applied);
  enodes = Sum(enodes, other.enodes);
  uses = Sum(uses, other.uses);
  saved = std::clamp(saved + other.saved, -kMostSaved, kMostSaved);
  saved_alone = std::clamp(saved_alone + other.saved_alone, -kMostSaved, kMostSaved);
  last_unix_s = std::max(last_unix_s, other.last_unix_s);
  return *this;
}

DeviceRules& DeviceRules::operator+=(const DeviceRules& other) {
  jobs = Sum(jobs, other.jobs);
  last_unix_s = std::max(last_unix_s, other.last_unix_s);
  for (const auto& [rule, totals] : other.rules) rules[rule] += totals;
  return *this;
}

void ClampTimes(int64_t now_unix_s, RuleTable* table) {
  for (auto& [fingerprint, device] : *table) {
    device.last_unix_s = std::min(device.last_unix_s, now_unix_s);
    for (auto& [rule, totals] : device.rules) {
      totals.last_unix_s = std::min(totals.last_unix_s, now_unix_s);
    }
  }
}

std::string EncodeRuleTable(const RuleTable& table, absl::string_view added) {
  const auto is_added = [added](const std::string& fingerprint) { return fingerprint == added; };
  std::string bytes = kRuleFileMagic;
  for (const auto* const entry : Newest(table, kMostRuleDevices, is_added)) {
    bytes += Framed(Payload(entry->first, entry->second));
  }
  return bytes;
}

absl::StatusOr<DecodedRules> DecodeRuleTable(absl::string_view bytes) {
  const absl::string_view head = bytes.substr(0, kRuleFileMagicSize);
  if (absl::string_view(kRuleFileMagic).substr(0, head.size()) != head) {
    return absl::DataLossError("is not a file of rule statistics, or one of another version");
  }
  DecodedRules decoded;
  bytes.remove_prefix(head.size());
  while (!bytes.empty()) {
    const Frame frame = ReadFrame(bytes);
    if (frame.outcome == Frame::Outcome::kDamaged) {
      const size_t lost = BytesBeforeWholeFrame(bytes);
      decoded.dropped += lost;
      bytes.remove_prefix(lost);
      continue;
    }
    bytes.remove_prefix(frame.size);
    auto device = DecodeDevice(frame.payload);
    if (!device.has_value() || !decoded.table.insert(*std::move(device)).second) {
      decoded.dropped += frame.size;
    }
  }
  return decoded;
}

}  // namespace quotient::timing
