#include "core/os/program_folder.h"

#include <limits.h>
#include <unistd.h>

#include <array>

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

}  // namespace quotient::os
