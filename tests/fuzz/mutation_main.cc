// A main() for fuzz targets without libFuzzer: runs the target on a fixed number of mutations of
// the files of a folder. The same number gives the same mutations, so that a failure can be run
// again; the one under way is named on standard error when the process dies.
//
//   onnx_reader_mutations COUNT FOLDER

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/base/rng.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

volatile sig_atomic_t current_mutation = 0;

void NameMutation(int signal) {
  char text[64];
  const int size =
      std::snprintf(text, sizeof(text), "in mutation %d\n", static_cast<int>(current_mutation));
  std::fwrite(text, 1, static_cast<size_t>(size), stderr);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::vector<std::string> ReadFolder(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> files;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return files;
}

// Changes that keep enough of a message for its inside to be reached: bits, bytes that are often
// lengths or tags, cut tails, pieces copied from elsewhere.
void Mutate(const std::vector<std::string>& files, quotient::Rng& rng, std::string* bytes) {
  static constexpr uint8_t kBytes[] = {0, 1, 2, 7, 8, 0x0a, 0x12, 0x7f, 0x80, 0xff};
  const auto below = [&rng](size_t bound) { return static_cast<size_t>(rng.Below(bound)); };
  if (bytes->empty()) return;
  const size_t at = below(bytes->size());
  switch (below(6)) {
    case 0:
      (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << below(8)));
      break;
    case 1:
      (*bytes)[at] = static_cast<char>(kBytes[below(sizeof(kBytes))]);
      break;
    case 2:
      bytes->erase(at, 1 + below(8));
      break;
    case 3:
      bytes->insert(at, 1 + below(4), static_cast<char>(below(256)));
      break;
    case 4: {
      const std::string& other = files[below(files.size())];
      const size_t from = below(other.size());
      bytes->insert(at, other, from, 1 + below(64));
      break;
    }
    default:
      if (below(8) == 0) bytes->resize(at);
      break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc == 3 ? std::atoi(argv[1]) : 0;
  if (count <= 0) return 2;
  std::vector<std::string> files = ReadFolder(argv[2]);
  std::erase(files, "");
  if (files.empty()) return 1;
  for (int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, NameMutation);
  for (int i = 0; i < count; ++i) {
    current_mutation = i;
    quotient::Rng rng(/*seed=*/1, static_cast<uint64_t>(i));
    std::string bytes = files[static_cast<size_t>(rng.Below(files.size()))];
    for (uint64_t n = 1 + rng.Below(4); n > 0; --n) Mutate(files, rng, &bytes);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%d mutations of %zu files\n", count, files.size());
  return 0;
}
