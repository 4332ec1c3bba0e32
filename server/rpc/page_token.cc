#include "server/rpc/page_token.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/digest.h"
#include "core/base/reason.h"

namespace quotient::rpc {

std::string MakePageToken(int64_t before_number, const jobs::JobFilter& filter) {
  const std::string number = absl::StrCat(before_number);
  const absl::string_view state = filter.state.has_value() ? jobs::JobStateName(*filter.state) : "";
  const std::string text =
      absl::StrCat(state, " ", filter.client.size(), " ", filter.client, " ", filter.graph_sha256,
                   " ", filter.created_after_ms, " ", filter.created_before_ms);
  // The check is no secret: it only detects mistakes, since tokens give access to nothing that is
  // protected.
  const std::string check = Digest::Of(absl::StrCat("page 2 ", number, " ", text)).Hex();
  return absl::StrCat(number, ".", check.substr(0, 16));
}

absl::StatusOr<int64_t> ReadPageToken(absl::string_view token, const jobs::JobFilter& filter) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(token, '.');
  int64_t number = 0;
  if (!absl::SimpleAtoi(parts.first, &number) || number <= 0 ||
      token != MakePageToken(number, filter)) {
    return MakeError(Reason::kBadPageToken, "not a page token for this list");
  }
  return number;
}

}  // namespace quotient::rpc
