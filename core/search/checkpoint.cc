#include "core/search/checkpoint.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace quotient::search {
namespace {

constexpr absl::string_view kFormat = "QSC2";

absl::string_view BytesOf(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes().data()), digest.bytes().size()};
}

}  // namespace

Digest SearchIdentity(absl::string_view strategy, Workspace& workspace, const Task& task) {
  const Limits& limits = task.limits;
  // max_simulations is left out: how long a search goes on does not change what it does until then.
  std::string text = absl::StrCat(
      strategy, "\nmax_enodes=", limits.max_enodes, "\nmax_iterations=", limits.max_iterations,
      "\nmax_matches_per_rule=", limits.max_matches_per_rule, "\nseed=", task.seed,
      "\nstate=", workspace.graph().state_hash(), "\nrules=", workspace.rules().size());
  for (const egraph::Rule* rule : workspace.rules()) absl::StrAppend(&text, "\n", rule->name());
  absl::StrAppend(&text, "\n", task.context);
  return Digest::Of(text);
}

std::string SealCheckpoint(const Digest& search, absl::string_view content) {
  return absl::StrCat(kFormat, BytesOf(search), BytesOf(Digest::Of(content)), content);
}

absl::StatusOr<absl::string_view> OpenCheckpoint(const Digest& search, absl::string_view bytes) {
  if (bytes.substr(0, kFormat.size()) != kFormat) {
    return absl::FailedPreconditionError("it is of another version");
  }
  bytes.remove_prefix(kFormat.size());
  if (bytes.size() < 2 * Digest::kSize) return absl::DataLossError("it is cut off");
  if (bytes.substr(0, Digest::kSize) != BytesOf(search)) {
    return absl::FailedPreconditionError("it is of another search");
  }
  const absl::string_view content = bytes.substr(2 * Digest::kSize);
  if (bytes.substr(Digest::kSize, Digest::kSize) != BytesOf(Digest::Of(content))) {
    return absl::DataLossError("it is damaged");
  }
  return content;
}

}  // namespace quotient::search
