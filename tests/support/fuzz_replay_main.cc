// A main() for fuzz targets in builds without libFuzzer. It runs the target once on each file that
// the command line names, and on each file in the folders that it names. In this way every preset
// tests the inputs that fuzzers have found. Fails if there are no files, because the path must be
// wrong then, and if the target understands none of them, because their format must be an old one.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// Null if the target does not count what it understands (tests/fuzz/understood.h).
extern "C" __attribute__((weak)) uint64_t QuotientUnderstoodInputs();

namespace {

void RunFile(const std::filesystem::path& path) {
  // The name is printed before the run, so that the output shows which file causes a crash.
  std::fprintf(stderr, "%s\n", path.c_str());
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      RunFile(argv[i]);
      ++files;
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      RunFile(entry.path());
      ++files;
    }
  }
  std::printf("%d files\n", files);
  if (QuotientUnderstoodInputs == nullptr) return files > 0 ? 0 : 1;
  std::printf("%d are understood\n", static_cast<int>(QuotientUnderstoodInputs()));
  return QuotientUnderstoodInputs() > 0 ? 0 : 1;
}
