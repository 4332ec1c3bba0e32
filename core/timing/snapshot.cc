#include "core/timing/snapshot.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "core/base/digest.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/ort_fusions.h"

namespace quotient::timing {
namespace {

constexpr int kFormat = 2;
constexpr size_t kMaxNameBytes = 64;
constexpr size_t kMaxFingerprintBytes = 4096;
constexpr size_t kMaxKeyBytes = size_t{1} << 16;
constexpr size_t kMaxKernels = 200'000;
constexpr int kMaxThreads = 1024;
constexpr int kMaxProtocol = 1'000'000;
constexpr int kMaxSamples = 1'000'000;
constexpr double kMaxUs = 1e12;
constexpr char kUnsupported[] = "unsupported ";
constexpr int64_t kMaxUnixSeconds = 253'402'300'799;  // The last second of the year 9999.

std::string TimeText(int64_t unix_s) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(unix_s), absl::UTCTimeZone());
}

// Returns the shortest text that is parsed as the same number.
std::string ShortestText(double value) {
  std::array<char, 32> digits;
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), result.ptr};
}

double SpreadOf(const Timing& timing) {
  return timing.min_us > 0 ? timing.q25_us / timing.min_us - 1 : 0;
}

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text), rest_(text) {}

  absl::StatusOr<Snapshot> Parse() {
    if (static_cast<int64_t>(text_.size()) > kMaxSnapshotBytes) {
      return MakeError(Reason::kOptionInvalid,
                       absl::StrCat("a snapshot has at most ", kMaxSnapshotBytes, " bytes"));
    }
    QUOTIENT_RETURN_IF_ERROR(ParseHead());
    while (absl::StartsWith(rest_, "kernel ")) QUOTIENT_RETURN_IF_ERROR(ParseKernel());
    QUOTIENT_RETURN_IF_ERROR(CheckDigest());
    if (!rest_.empty()) {
      ++line_;
      return Error("", "nothing may follow the checksum");
    }
    return std::move(snapshot_);
  }

 private:
  absl::Status Error(absl::string_view field, absl::string_view what) const {
    return MakeError(Reason::kOptionInvalid,
                     absl::StrCat("line ", line_, ": ", field, field.empty() ? "" : ": ", what));
  }

  absl::Status ParseHead() {
    QUOTIENT_ASSIGN_OR_RETURN(const int format, Integer("quotient-snapshot", 1, 1'000'000));
    if (format != kFormat) {
      return Error("quotient-snapshot", absl::StrCat("format ", format, " is not known here"));
    }
    QUOTIENT_ASSIGN_OR_RETURN(snapshot_.device, Text("device", kMaxNameBytes));
    QUOTIENT_ASSIGN_OR_RETURN(snapshot_.partition.threads, Integer("threads", 1, kMaxThreads));
    QUOTIENT_ASSIGN_OR_RETURN(snapshot_.partition.channels_last, Boolean("channels-last"));
    QUOTIENT_ASSIGN_OR_RETURN(const bool native, Boolean("native-storage"));
    QUOTIENT_ASSIGN_OR_RETURN(snapshot_.partition.fuses_attention, Boolean("fuses-attention"));
    snapshot_.partition.storage = native ? kernels::Storage::kNative : kernels::Storage::kWide;
    QUOTIENT_RETURN_IF_ERROR(ParseRuntime());
    QUOTIENT_ASSIGN_OR_RETURN(snapshot_.fingerprint, Text("fingerprint", kMaxFingerprintBytes));
    QUOTIENT_ASSIGN_OR_RETURN(snapshot_.protocol, Integer("protocol", 0, kMaxProtocol));
    QUOTIENT_ASSIGN_OR_RETURN(snapshot_.recorded_unix_s, Time("recorded"));
    QUOTIENT_ASSIGN_OR_RETURN(snapshot_.engine, Text("engine", kMaxNameBytes));
    return absl::OkStatus();
  }

  // Takes "runtime NAME", if it is there.
  absl::Status ParseRuntime() {
    if (!absl::StartsWith(rest_, "runtime ")) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(const std::string name, Text("runtime", kMaxNameBytes));
    snapshot_.partition.runtime = kernels::FindRuntimeFusions(name);
    if (snapshot_.partition.runtime == nullptr) return Error("runtime", "not known here");
    return absl::OkStatus();
  }

  // Takes "kernel MIN Q25 MEDIAN SAMPLES STATE KEY" or "kernel unsupported KEY".
  absl::Status ParseKernel() {
    QUOTIENT_ASSIGN_OR_RETURN(absl::string_view line, Line("kernel"));
    if (snapshot_.timings.size() >= kMaxKernels) {
      return Error("kernel", absl::StrCat("more than ", kMaxKernels));
    }
    Timing timing{.state = TimingState::kUnsupported};
    if (!absl::ConsumePrefix(&line, kUnsupported)) {
      QUOTIENT_ASSIGN_OR_RETURN(timing, ParseTiming(line));
    }
    QUOTIENT_RETURN_IF_ERROR(CheckText("key", line, kMaxKeyBytes));
    auto& timings = snapshot_.timings;
    if (!timings.empty() && line <= timings.rbegin()->first) {
      return Error("key", "kernels are not sorted by key, or one is there twice");
    }
    timings.emplace_hint(timings.end(), std::string(line), timing);
    return absl::OkStatus();
  }

  // Takes "MIN Q25 MEDIAN SAMPLES STATE ".
  absl::StatusOr<Timing> ParseTiming(absl::string_view& line) const {
    Timing timing;
    QUOTIENT_ASSIGN_OR_RETURN(timing.min_us, Microseconds("min", Word(line)));
    QUOTIENT_ASSIGN_OR_RETURN(timing.q25_us, Microseconds("q25", Word(line)));
    QUOTIENT_ASSIGN_OR_RETURN(timing.median_us, Microseconds("median", Word(line)));
    QUOTIENT_ASSIGN_OR_RETURN(timing.samples, ToInteger("samples", Word(line), 0, kMaxSamples));
    if (timing.q25_us < timing.min_us || timing.median_us < timing.q25_us) {
      return Error("kernel", "min, q25 and median are not in this order");
    }
    timing.relative_spread = SpreadOf(timing);
    const absl::string_view state = Word(line);
    if (state != "ok" && state != "noisy") return Error("state", "neither ok nor noisy");
    timing.state = state == "ok" ? TimingState::kOk : TimingState::kNoisy;
    return timing;
  }

  absl::Status CheckDigest() {
    const absl::string_view content = text_.substr(0, text_.size() - rest_.size());
    QUOTIENT_ASSIGN_OR_RETURN(const absl::string_view hex, Line("sha256"));
    if (hex == Digest::Of(content).Hex()) return absl::OkStatus();
    return Error("sha256", "is not that of the content, which is damaged or was edited");
  }

  // Takes the next line, which must be "<field> <value>", and returns the value.
  absl::StatusOr<absl::string_view> Line(absl::string_view field) {
    ++line_;
    const size_t end = rest_.find('\n');
    if (end == absl::string_view::npos) return Error(field, "is missing, or its line is cut off");
    absl::string_view value = rest_.substr(0, end);
    if (!absl::ConsumePrefix(&value, field) || !absl::ConsumePrefix(&value, " ")) {
      return Error(field,
                   absl::StrCat("is missing; there is '", Escaped(value.substr(0, 40)), "'"));
    }
    rest_.remove_prefix(end + 1);
    return value;
  }

  // Removes and returns the text up to the next space, or all of it if there is none.
  static absl::string_view Word(absl::string_view& line) {
    const size_t end = std::min(line.find(' '), line.size());
    const absl::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return word;
  }

  absl::Status CheckText(absl::string_view field, absl::string_view value, size_t limit) const {
    if (value.empty()) return Error(field, "is empty");
    if (value.size() > limit) return Error(field, absl::StrCat("has more than ", limit, " bytes"));
    if (std::ranges::any_of(value, [](unsigned char c) { return absl::ascii_iscntrl(c); })) {
      return Error(field, "holds a control character");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Text(absl::string_view field, size_t limit) {
    QUOTIENT_ASSIGN_OR_RETURN(const absl::string_view value, Line(field));
    QUOTIENT_RETURN_IF_ERROR(CheckText(field, value, limit));
    return std::string(value);
  }

  absl::StatusOr<bool> Boolean(absl::string_view field) {
    QUOTIENT_ASSIGN_OR_RETURN(const absl::string_view value, Line(field));
    if (value != "true" && value != "false") return Error(field, "neither true nor false");
    return value == "true";
  }

  absl::StatusOr<int> Integer(absl::string_view field, int least, int most) {
    QUOTIENT_ASSIGN_OR_RETURN(const absl::string_view value, Line(field));
    return ToInteger(field, value, least, most);
  }

  absl::StatusOr<int> ToInteger(absl::string_view field, absl::string_view text, int least,
                                int most) const {
    int value;
    if (absl::SimpleAtoi(text, &value) && value >= least && value <= most &&
        absl::StrCat(value) == text) {
      return value;
    }
    return Error(field, absl::StrCat("'", Escaped(text.substr(0, 40)),
                                     "' is not a whole number from ", least, " to ", most));
  }

  absl::StatusOr<double> Microseconds(absl::string_view field, absl::string_view text) const {
    double value;
    if (absl::SimpleAtod(text, &value) && !std::signbit(value) && value <= kMaxUs &&
        ShortestText(value) == text) {
      return value;
    }
    return Error(field, absl::StrCat("'", Escaped(text.substr(0, 40)),
                                     "' is not a time in its shortest form"));
  }

  absl::StatusOr<int64_t> Time(absl::string_view field) {
    QUOTIENT_ASSIGN_OR_RETURN(const absl::string_view value, Line(field));
    absl::Time time;
    std::string problem;
    if (absl::ParseTime(absl::RFC3339_full, value, &time, &problem)) {
      const int64_t unix_s = absl::ToUnixSeconds(time);
      if (unix_s >= 0 && unix_s <= kMaxUnixSeconds && TimeText(unix_s) == value) return unix_s;
    }
    return Error(field, "is not a time such as 2026-03-14T09:26:53Z");
  }

  const absl::string_view text_;
  absl::string_view rest_;
  int line_ = 0;  // Number of the line taken last, counted from 1.
  Snapshot snapshot_;
};

// Returns the text between "kernel " and the key.
std::string TimingText(const Timing& timing) {
  if (!timing.has_time()) return kUnsupported;
  return absl::StrCat(ShortestText(timing.min_us), " ", ShortestText(timing.q25_us), " ",
                      ShortestText(timing.median_us), " ", timing.samples,
                      timing.state == TimingState::kOk ? " ok " : " noisy ");
}

double RoundedUs(double us) {
  double rounded;
  return absl::SimpleAtod(absl::StrFormat("%.5g", us), &rounded) ? rounded : us;
}

std::string RuntimeLine(const kernels::PartitionOptions& partition) {
  return partition.runtime == nullptr ? "" : absl::StrCat("\nruntime ", partition.runtime->name());
}

}  // namespace

Timing Rounded(const Timing& timing) {
  if (!timing.has_time()) return {.state = timing.state};
  Timing rounded = timing;
  rounded.min_us = RoundedUs(timing.min_us);
  rounded.q25_us = RoundedUs(timing.q25_us);
  rounded.median_us = RoundedUs(timing.median_us);
  rounded.relative_spread = SpreadOf(rounded);
  rounded.plan.clear();
  return rounded;
}

std::string ToText(const Snapshot& snapshot) {
  std::string text = absl::StrCat(
      "quotient-snapshot ", kFormat, "\ndevice ", snapshot.device, "\nthreads ",
      snapshot.partition.threads, "\nchannels-last ",
      snapshot.partition.channels_last ? "true" : "false", "\nnative-storage ",
      snapshot.partition.storage == kernels::Storage::kNative ? "true" : "false",
      "\nfuses-attention ", snapshot.partition.fuses_attention ? "true" : "false",
      RuntimeLine(snapshot.partition), "\nfingerprint ", snapshot.fingerprint, "\nprotocol ",
      snapshot.protocol, "\nrecorded ", RecordedTime(snapshot), "\nengine ", snapshot.engine, "\n");
  for (const auto& [key, timing] : snapshot.timings) {
    absl::StrAppend(&text, "kernel ", TimingText(timing), key, "\n");
  }
  absl::StrAppend(&text, "sha256 ", Digest::Of(text).Hex(), "\n");
  return text;
}

absl::StatusOr<Snapshot> ParseSnapshot(absl::string_view text) { return Parser(text).Parse(); }

std::string RecordedTime(const Snapshot& snapshot) { return TimeText(snapshot.recorded_unix_s); }

}  // namespace quotient::timing
