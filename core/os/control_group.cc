#include "core/os/control_group.h"

#include <algorithm>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace quotient::os {
namespace {

void AddWithParents(const std::string& root, absl::string_view group, bool is_unified,
                    std::vector<ControlGroup>* groups) {
  std::string folder = absl::StrCat(root, group == "/" ? "" : group);
  while (folder.size() >= root.size()) {
    groups->push_back({folder, is_unified});
    folder.resize(folder.rfind('/'));
  }
}

}  // namespace

// Lines of /proc/self/cgroup are "number:controllers:/group"; version 2 names no controllers.
std::vector<ControlGroup> ControlGroups(absl::string_view controller) {
  std::vector<ControlGroup> groups;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (parts[1].empty()) AddWithParents("/sys/fs/cgroup", parts[2], true, &groups);
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (std::ranges::find(controllers, controller) != controllers.end()) {
      AddWithParents(absl::StrCat("/sys/fs/cgroup/", controller), parts[2], false, &groups);
    }
  }
  return groups;
}

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace quotient::os
