#pragma once

// Reads files of tests/data/rewriting. Tests run in the root of the repository. A missing file
// reads as empty.

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace quotient::testing {

inline std::string ReadRewritingFile(const std::string& name) {
  std::ifstream file("tests/data/rewriting/" + name);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline std::vector<std::string> ReadRewritingLines(const std::string& name) {
  std::ifstream file("tests/data/rewriting/" + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace quotient::testing
