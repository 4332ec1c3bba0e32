#include "server/store/disk/upload_state.h"

#include <fcntl.h>

#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"

namespace quotient::store {
namespace {

std::optional<UploadState> Parse(absl::string_view text) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::StripTrailingAsciiWhitespace(text), ' ', absl::SkipWhitespace());
  UploadState state;
  if (words.size() < 3 || words.size() > 4 || !absl::SimpleAtoi(words[1], &state.blob.size_bytes) ||
      !absl::SimpleAtoi(words[2], &state.committed)) {
    return std::nullopt;
  }
  const std::optional<Digest> digest = Digest::FromHex(words[0]);
  if (!digest.has_value() || state.committed < 0 || state.committed > state.blob.size_bytes) {
    return std::nullopt;
  }
  state.blob.digest = *digest;
  if (words.size() == 4) state.client = std::string(words[3]);
  return state;
}

}  // namespace

absl::Status WriteUploadState(const std::string& path, const UploadState& state) {
  QUOTIENT_ASSIGN_OR_RETURN(const os::Fd fd, os::OpenFile(path, O_WRONLY | O_CREAT));
  const std::string text = absl::StrFormat("%s %20d %20d %64.64s\n", state.blob.digest.Hex(),
                                           state.blob.size_bytes, state.committed, state.client);
  QUOTIENT_RETURN_IF_ERROR(os::WriteFully(fd, text, path));
  return os::Sync(fd, path);
}

absl::StatusOr<UploadState> ReadUploadState(const std::string& path) {
  const absl::StatusOr<std::string> text = os::ReadFile(path);
  if (text.ok()) {
    if (const std::optional<UploadState> state = Parse(*text)) return *state;
  }
  return absl::NotFoundError("no such upload");
}

}  // namespace quotient::store
