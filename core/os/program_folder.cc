#include "core/os/program_folder.h"

#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <set>
#include <system_error>

namespace quotient::os {

std::string ProgramFolder() {
  std::array<char, PATH_MAX> path;
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) return "";
  const std::string program(path.data(), static_cast<size_t>(size));
  return program.substr(0, program.rfind('/') + 1);
}

std::string FindBesideProgram(const std::string& file, std::initializer_list<const char*> places) {
  for (const char* const place : places) {
    std::string path = ProgramFolder() + place + file;
    if (access(path.c_str(), F_OK) == 0) return path;
  }
  return "";
}

std::vector<std::string> LibraryFolders() {
  std::set<std::string> folders;
  const auto add = [](dl_phdr_info* library, size_t /*size*/, void* found) {
    std::error_code failure;
    const auto file = std::filesystem::canonical(library->dlpi_name, failure);
    if (!failure) static_cast<std::set<std::string>*>(found)->insert(file.parent_path());
    return 0;
  };
  dl_iterate_phdr(add, &folders);
  return {folders.begin(), folders.end()};
}

}  // namespace quotient::os
