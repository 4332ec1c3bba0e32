// What a file of timings knows of which device.

#include <memory>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/fingerprint.h"
#include "core/os/files.h"
#include "core/timing/frame.h"
#include "core/timing/record.h"
#include "tests/core/kernels/cuda/smoke/smoke.h"

namespace quotient::kernels::cuda::smoke {
namespace {

// The one of `own` that differs from it in nothing but the driver's patch level; null: none.
const std::string* NearOwn(const std::string& fingerprint, const std::vector<std::string>& own) {
  for (const std::string& one : own) {
    if (one != fingerprint && WithoutDriverPatch(one) == WithoutDriverPatch(fingerprint))
      return &one;
  }
  return nullptr;
}

bool IsOneOf(const std::string& fingerprint, const std::vector<std::string>& own) {
  for (const std::string& one : own) {
    if (one == fingerprint) return true;
  }
  return false;
}

// The devices of a file. INVALID_ARGUMENT for what is no file of timings.
absl::StatusOr<std::set<std::string>> FingerprintsIn(const std::string& path) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string bytes, os::ReadFile(path));
  std::set<std::string> fingerprints;
  if (bytes.empty()) return fingerprints;
  if (!absl::StartsWith(bytes, timing::kFileMagic)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is no file of timings"));
  }
  absl::string_view rest(bytes);
  rest.remove_prefix(timing::kFileMagicSize);
  while (!rest.empty()) {
    const timing::DecodeResult decoded = timing::DecodeRecord(rest);
    const bool is_damaged = decoded.outcome == timing::DecodeResult::Outcome::kDamaged;
    if (decoded.outcome == timing::DecodeResult::Outcome::kRecord) {
      fingerprints.insert(decoded.record.fingerprint);
    }
    rest.remove_prefix(is_damaged ? timing::BytesBeforeWholeFrame(rest) : decoded.size);
  }
  return fingerprints;
}

}  // namespace

absl::StatusOr<Rows> TimingRows(const std::string& path, const std::vector<std::string>& own) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::set<std::string> fingerprints, FingerprintsIn(path));
  QUOTIENT_ASSIGN_OR_RETURN(const auto store, timing::OpenFileStore(path));
  Rows rows;
  for (const std::string& fingerprint : fingerprints) {
    const char* relation = "another device";
    if (IsOneOf(fingerprint, own)) relation = "this device";
    if (NearOwn(fingerprint, own) != nullptr) {
      relation = "this device with another patch level of the driver: not used unless it is merged";
    }
    rows.push_back(
        {relation, absl::StrCat(store->All(fingerprint).size(), " kernels of ", fingerprint)});
  }
  return rows;
}

absl::StatusOr<int> MergeDrivers(const std::string& path, const std::vector<std::string>& own) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::set<std::string> fingerprints, FingerprintsIn(path));
  QUOTIENT_ASSIGN_OR_RETURN(const auto store, timing::OpenFileStore(path));
  int added = 0;
  for (const std::string& fingerprint : fingerprints) {
    const std::string* const near = NearOwn(fingerprint, own);
    if (near == nullptr || IsOneOf(fingerprint, own)) continue;
    for (const auto& [key, timing] : store->All(fingerprint)) {
      QUOTIENT_RETURN_IF_ERROR(store->Add(key, *near, timing));
      ++added;
    }
  }
  return added;
}

}  // namespace quotient::kernels::cuda::smoke
