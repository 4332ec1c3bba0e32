#include "client/cli/lock_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/cli/build_failure.h"
#include "client/cpp/typed_file.h"
#include "core/base/digest.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::cli {
namespace {

constexpr char kHeader[] = "quotient-lock 1";
constexpr absl::string_view kSeparator = " =";  // A space follows, unless the value is empty.
constexpr size_t kMostBytes = 16 << 20;  // A model may have thousands of files of external data.

constexpr char kModel[] = "model";
constexpr char kExternal[] = "external ";  // The location follows.
constexpr char kOption[] = "option ";      // The name of the option follows.
constexpr char kOutcome[] = "result";
constexpr char kResultModel[] = "result model";
constexpr char kResultData[] = "result data";
constexpr char kResultLocation[] = "result location";

constexpr char kHowToUpdate[] = "--update-lock pins what is there now";

absl::Status Invalid(size_t line, absl::string_view problem) {
  return MakeError(BuildFailure::kLockInvalid, absl::StrCat("line ", line, ": ", problem));
}

// `text` in printable ASCII, without what separates names from values. Different texts have
// different names.
std::string AsName(absl::string_view text) {
  return absl::StrReplaceAll(absl::CHexEscape(text), {{"=", "\\075"}});
}

bool IsPrintable(absl::string_view line) {
  return std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; });
}

bool IsOfResult(absl::string_view name) {
  return name == Lock::kEngine || name == kOutcome || absl::StartsWith(name, "result ");
}

bool IsDigest(absl::string_view name) {
  return name == kModel || name == kResultModel || name == kResultData ||
         absl::StartsWith(name, kExternal);
}

bool IsKnown(absl::string_view name) {
  return name == Lock::kEngine || name == kOutcome || name == kResultLocation || IsDigest(name) ||
         absl::StartsWith(name, kOption);
}

absl::Status CheckValue(absl::string_view name, absl::string_view value, size_t line) {
  if (IsDigest(name) && !BlobId::FromText(value).has_value()) {
    return Invalid(line, absl::StrCat(name, " is not SHA-256/SIZE"));
  }
  if (name == kOutcome && value != report::OutcomeName(report::Outcome::kImproved) &&
      value != report::OutcomeName(report::Outcome::kNoImprovement)) {
    return Invalid(line, absl::StrCat("no result is '", Escaped(value), "'"));
  }
  return absl::OkStatus();
}

// Reads the line into one of the maps. `last` is the name before it, and becomes that of this line.
absl::Status ReadLine(absl::string_view line, size_t number, std::string* last, Lock* lock) {
  if (!IsPrintable(line)) return Invalid(number, "has other characters than printable ASCII");
  const size_t separator = std::min(line.find(kSeparator), line.size());
  const std::string name(line.substr(0, separator));
  absl::string_view value = line.substr(separator);
  if (!absl::ConsumePrefix(&value, kSeparator) ||
      (!value.empty() && !absl::ConsumePrefix(&value, " "))) {
    return Invalid(number, absl::StrCat("is not NAME = VALUE: '", Escaped(line), "'"));
  }
  if (!IsKnown(name)) return Invalid(number, absl::StrCat("unknown: '", Escaped(name), "'"));
  if (name <= *last) return Invalid(number, absl::StrCat("'", Escaped(name), "' is out of order"));
  QUOTIENT_RETURN_IF_ERROR(CheckValue(name, value, number));
  (IsOfResult(name) ? lock->result : lock->inputs)[name] = std::string(value);
  *last = name;
  return absl::OkStatus();
}

// A long value, such as a digest, is told from others by its beginning.
std::string Short(absl::string_view value) {
  constexpr size_t kMost = 40, kShown = 20;
  if (value.size() <= kMost) return Escaped(value);
  return absl::StrCat(Escaped(value.substr(0, kShown)), "...");
}

// What is said of a name whose value is not the locked one, or that only one of both has; else "".
std::string Difference(const std::string& name, const Pins& locked, const Pins& now) {
  const auto was = locked.find(name), is = now.find(name);
  if (was == locked.end()) return absl::StrCat(Escaped(name), " is not in it");
  if (is == now.end()) return absl::StrCat(Escaped(name), " is in it and not there any more");
  if (was->second == is->second) return "";
  return absl::StrCat(Escaped(name), " is ", Short(is->second), " and not ", Short(was->second));
}

}  // namespace

absl::StatusOr<Lock> Lock::Parse(absl::string_view text) {
  if (text.size() > kMostBytes) {
    return MakeError(BuildFailure::kLockInvalid, "has more than 16 MiB");
  }
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.empty() || lines[0] != kHeader) {  // There are none if the file has no bytes.
    return Invalid(1, absl::StrCat("is not '", kHeader,
                                   "', so this is no lock file, or one of "
                                   "another version of Quotient"));
  }
  if (!lines.back().empty()) return Invalid(lines.size(), "does not end");
  lines.pop_back();
  Lock lock;
  std::string last;
  for (size_t i = 1; i < lines.size(); ++i) {
    QUOTIENT_RETURN_IF_ERROR(ReadLine(lines[i], i + 1, &last, &lock));
  }
  std::vector<const char*> required = {kEngine, kModel, kOutcome, kResultModel};
  if (lock.result.contains(kResultLocation)) required.push_back(kResultData);
  if (lock.result.contains(kResultData)) required.push_back(kResultLocation);
  for (const char* const name : required) {
    if (lock.inputs.contains(name) || lock.result.contains(name)) continue;
    return MakeError(BuildFailure::kLockInvalid, absl::StrCat("has no line '", name, "'"));
  }
  return lock;
}

std::string Lock::Text() const {
  Pins all = inputs;
  all.insert(result.begin(), result.end());
  std::string text = absl::StrCat(kHeader, "\n");
  for (const auto& [name, value] : all) {
    absl::StrAppend(&text, name, kSeparator, value.empty() ? "" : " ", value, "\n");
  }
  return text;
}

std::string Lock::Key() const { return Digest::Of(Text()).Hex(); }

ResultFiles Lock::files() const {
  ResultFiles files{.model = BlobId::FromText(result.at(kResultModel)).value_or(BlobId())};
  if (const auto data = result.find(kResultData); data != result.end()) {
    files.data = BlobId::FromText(data->second);
    absl::CUnescape(result.at(kResultLocation), &files.data_location);
  }
  return files;
}

absl::StatusOr<Pins> PinsOfInputs(const client::LocalModel& model,
                                  const optimize::Options& options) {
  Pins pins;
  pins[kModel] = BlobId::Of(model.graph()).Text();
  for (const auto& [location, file] : model.external()) {
    pins[absl::StrCat(kExternal, AsName(location))] = BlobId::Of(file->bytes()).Text();
  }
  // A header, and a line for each option.
  const std::vector<std::string> lines = absl::StrSplit(options.CanonicalText(), '\n');
  const std::vector<std::string> usual = absl::StrSplit(optimize::Options().CanonicalText(), '\n');
  if (lines.size() != usual.size()) {
    return MakeError(Reason::kOptionInvalid, "--lock: an option has a line end in it");
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i] == usual[i]) continue;
    const std::pair<absl::string_view, absl::string_view> option =
        absl::StrSplit(lines[i], absl::MaxSplits('=', 1));
    pins[absl::StrCat(kOption, AsName(option.first))] = absl::CHexEscape(option.second);
  }
  return pins;
}

Pins PinsOfResult(const std::string& engine, report::Outcome outcome, const ResultFiles& files) {
  Pins pins = {{Lock::kEngine, absl::CHexEscape(engine)},
               {kOutcome, std::string(report::OutcomeName(outcome))},
               {kResultModel, files.model.Text()}};
  if (files.data.has_value()) {
    pins[kResultData] = files.data->Text();
    pins[kResultLocation] = absl::CHexEscape(files.data_location);
  }
  return pins;
}

absl::StatusOr<Lock> ReadLock(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::exists(path, failure)) {
    return MakeError(BuildFailure::kLockMissing,
                     absl::StrCat(Escaped(path), " is not there: --update-lock writes it"));
  }
  QUOTIENT_ASSIGN_OR_RETURN(const auto file, client::MapTypedFile(path));
  absl::StatusOr<Lock> lock = Lock::Parse(file->bytes());
  if (!lock.ok()) return Annotate(lock.status(), Escaped(path));
  return lock;
}

absl::Status CheckPins(const Pins& locked, const Pins& now, absl::string_view path) {
  constexpr size_t kMostShown = 4;
  Pins all = locked;
  all.insert(now.begin(), now.end());
  std::vector<std::string> differences;
  for (const auto& [name, value] : all) {
    std::string difference = Difference(name, locked, now);
    if (!difference.empty()) differences.push_back(std::move(difference));
  }
  if (differences.empty()) return absl::OkStatus();
  const size_t more = differences.size() - std::min(differences.size(), kMostShown);
  differences.resize(differences.size() - more);
  return MakeError(
      BuildFailure::kLockDiffers,
      absl::StrCat(Escaped(path), ": ", absl::StrJoin(differences, "; "),
                   more > 0 ? absl::StrCat(" and ", more, " more") : "", " (", kHowToUpdate, ")"));
}

}  // namespace quotient::cli
