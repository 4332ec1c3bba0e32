// A main() for fuzz targets without libFuzzer: runs the target on a fixed number of mutations of
// the files of a folder. Mutations are numbered, and the same number gives the same one, so that a
// failure can be run again; the one under way is named on standard error when the process dies, by
// a signal or by a sanitizer. A target that defines libFuzzer's LLVMFuzzerCustomMutator gets
// mutations by it, and some of the usual ones. What is printed in the end says how many inputs the
// target understood, which mutation took most processor time, and how much memory the process had
// at most.
//
//   onnx_reader_mutations COUNT FOLDER [FIRST]

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/base/rng.h"

extern "C" {
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// Null unless the target defines them.
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                                     unsigned seed);
__attribute__((weak)) size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size,
                                                       const uint8_t* second, size_t second_size,
                                                       uint8_t* out, size_t max_size,
                                                       unsigned seed);
// Null if the target does not count what it understands (understood.h).
__attribute__((weak)) uint64_t QuotientUnderstoodInputs();
// Null unless the program is built with a sanitizer, which ends the process without a signal.
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());
}

namespace {

using quotient::Rng;

// What a target's own mutations may grow to.
constexpr size_t kMostBytes = 1 << 16;

volatile sig_atomic_t current_mutation = 0;

void NameMutation() {
  char text[64];
  const int size =
      std::snprintf(text, sizeof(text), "in mutation %d\n", static_cast<int>(current_mutation));
  std::fwrite(text, 1, static_cast<size_t>(size), stderr);
}

void Die(int signal) {
  NameMutation();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// Sanitizers say more about a wrong access than its signal does, so they keep their handlers.
void NameMutationAtDeath() {
  std::signal(SIGABRT, Die);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(NameMutation);
    return;
  }
  for (int signal : {SIGSEGV, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, Die);
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
void Mutate(const std::vector<std::string>& files, Rng& rng, std::string* bytes) {
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

// A mutation by the target itself.
void MutateByTarget(const std::vector<std::string>& files, Rng& rng, std::string* bytes) {
  static std::vector<uint8_t> buffer(kMostBytes);
  const auto data = [](const std::string& text) {
    return reinterpret_cast<const uint8_t*>(text.data());
  };
  if (bytes->size() > kMostBytes) return;
  const auto seed = static_cast<unsigned>(rng.Next());
  size_t size = 0;
  if (rng.Below(8) == 0) {
    const std::string& other = files[static_cast<size_t>(rng.Below(files.size()))];
    size = LLVMFuzzerCustomCrossOver(data(*bytes), bytes->size(), data(other), other.size(),
                                     buffer.data(), kMostBytes, seed);
    if (size == 0) return;
  } else {
    std::copy(bytes->begin(), bytes->end(), buffer.begin());
    size = LLVMFuzzerCustomMutator(buffer.data(), bytes->size(), kMostBytes, seed);
  }
  bytes->assign(buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(size));
}

std::string MutationOf(const std::vector<std::string>& files, int number) {
  Rng rng(/*seed=*/1, static_cast<uint64_t>(number));
  std::string bytes = files[static_cast<size_t>(rng.Below(files.size()))];
  const bool by_target = LLVMFuzzerCustomMutator != nullptr && rng.Below(8) != 0;
  for (uint64_t n = 1 + rng.Below(4); n > 0; --n) {
    by_target ? MutateByTarget(files, rng, &bytes) : Mutate(files, rng, &bytes);
  }
  return bytes;
}

double CpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

long PeakMebibytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss >> 10;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc == 3 || argc == 4 ? std::atoi(argv[1]) : 0;
  const int first = argc == 4 ? std::atoi(argv[3]) : 0;
  if (count <= 0 || first < 0) return 2;
  std::vector<std::string> files = ReadFolder(argv[2]);
  std::erase(files, "");
  if (files.empty()) return 1;
  NameMutationAtDeath();
  double slowest_seconds = 0;
  int slowest = first;
  for (int i = first; i < first + count; ++i) {
    current_mutation = i;
    const std::string bytes = MutationOf(files, i);
    const double start = CpuSeconds();
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    const double seconds = CpuSeconds() - start;
    if (seconds <= slowest_seconds) continue;
    slowest_seconds = seconds;
    slowest = i;
  }
  std::printf("%d mutations of %zu files: ", count, files.size());
  if (QuotientUnderstoodInputs != nullptr) {
    std::printf("%.1f%% understood, ",
                100.0 * static_cast<double>(QuotientUnderstoodInputs()) / count);
  }
  std::printf("the slowest %.3f s (number %d), %ld MiB at most\n", slowest_seconds, slowest,
              PeakMebibytes());
  return 0;
}
