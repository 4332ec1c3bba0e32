#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace quotient::os {

// The folder of this process's program, with '/' at its end. "" if it is not known.
std::string ProgramFolder();

// The first of `places`, relative to the program's folder ("", "../lib/"), that has a file of this
// name, as a path. "" if none has.
std::string FindBesideProgram(const std::string& file, std::initializer_list<const char*> places);

// The folders of the libraries that this process has loaded. Thread-safe.
std::vector<std::string> LibraryFolders();

}  // namespace quotient::os
