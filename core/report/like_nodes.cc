#include "core/report/like_nodes.h"

#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace quotient::report {

std::vector<LikeNodes> GroupLikeNodes(const std::vector<const NodeCost*>& nodes) {
  std::vector<LikeNodes> groups;
  const auto key = [](const NodeCost& node) {
    return std::tie(node.op, node.before_us, node.after_us, node.before_source, node.after_source);
  };
  std::map<decltype(key(*nodes.front())), size_t> known;
  for (const NodeCost* const node : nodes) {
    const auto [at, is_new] = known.try_emplace(key(*node), groups.size());
    if (is_new) groups.push_back({.first = node});
    ++groups[at->second].count;
  }
  return groups;
}

std::string TimesText(const LikeNodes& nodes) {
  return nodes.count == 1 ? "" : absl::StrCat(" (x ", nodes.count, ")");
}

}  // namespace quotient::report
