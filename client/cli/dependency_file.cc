#include "client/cli/dependency_file.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::cli {
namespace {

absl::StatusOr<std::string> ForMake(absl::string_view name) {
  if (name.find_first_of(absl::string_view("\n\r\\\0", 4)) != absl::string_view::npos) {
    return MakeError(Reason::kOptionInvalid,
                     absl::StrCat("--depfile: make cannot read the name ", Escaped(name)));
  }
  return absl::StrReplaceAll(name, {{" ", "\\ "}, {"\t", "\\\t"}, {"#", "\\#"}, {"$", "$$"}});
}

}  // namespace

absl::StatusOr<std::string> DependencyRule(absl::string_view target,
                                           const std::vector<std::string>& files) {
  QUOTIENT_ASSIGN_OR_RETURN(std::string rule, ForMake(target));
  std::string empty_rules;
  absl::StrAppend(&rule, ":");
  for (const std::string& file : files) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::string name, ForMake(file));
    absl::StrAppend(&rule, " \\\n  ", name);
    absl::StrAppend(&empty_rules, name, ":\n");
  }
  return absl::StrCat(rule, "\n", empty_rules);
}

}  // namespace quotient::cli
