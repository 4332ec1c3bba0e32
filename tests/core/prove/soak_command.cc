#include "tests/core/prove/soak_command.h"

#include <cstdio>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/ort_backend.h"
#include "core/os/atomic_file.h"
#include "tests/core/prove/soak.h"

namespace quotient::prove {
namespace {

// Lines of totals and of rules that are left out, and one for each other rule: the graphs that it
// changed, how often, and the graphs compared in ONNX Runtime.
std::string RecordOf(const SoakCommand& command, const SoakResult& result) {
  std::string text = absl::StrCat(
      "# quotient-rules soak ", absl::StrJoin(command.rules, " "), command.rules.empty() ? "" : " ",
      "--graphs ", command.graphs, " --firings ", command.firings, " --seed ", command.seed, ": ",
      result.graphs, " graphs, ", result.equations, " e-nodes compared, ", result.on_device,
      " graphs in ONNX Runtime, ", result.failures.size(), " differ\n");
  absl::StrAppend(
      &text, "# apply to symbols only, so not here: ", absl::StrJoin(result.of_symbols, " "), "\n");
  for (const auto& [name, tally] : result.tallies) {
    absl::StrAppend(&text, name, "\t", tally.graphs, "\t", tally.changes, "\t", tally.on_device,
                    "\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<bool> RunSoak(const SoakCommand& command) {
  SoakOptions options;
  options.rules = command.rules;
  options.graphs = command.graphs;
  options.firings = command.firings;
  options.seed = command.seed;
  std::unique_ptr<kernels::Backend> device;
  if (!command.onnxruntime.empty()) {
    QUOTIENT_ASSIGN_OR_RETURN(device,
                              kernels::onnxruntime::NewBackend(
                                  kernels::onnxruntime::kCpuDevice, /*threads=*/1,
                                  {{kernels::onnxruntime::kLibraryVariable, command.onnxruntime}}));
  }
  const auto record = [&command](const SoakResult& result) -> absl::Status {
    if (command.record.empty()) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(const auto file, os::AtomicFile::Create(command.record));
    QUOTIENT_RETURN_IF_ERROR(file->Append(RecordOf(command, result)));
    return file->Commit();
  };
  size_t told = 0;
  const auto tell = [&](const SoakResult& so_far) {
    for (; told < so_far.failures.size(); ++told) {
      std::printf("%s\n", so_far.failures[told].c_str());
    }
    std::fflush(stdout);
    std::fprintf(stderr, "%lld graphs, %lld on the device, %zu differ\n",
                 static_cast<long long>(so_far.graphs), static_cast<long long>(so_far.on_device),
                 so_far.failures.size());
    return record(so_far);
  };
  QUOTIENT_ASSIGN_OR_RETURN(const SoakResult result, Soak(options, device.get(), tell));
  QUOTIENT_RETURN_IF_ERROR(tell(result));
  std::printf("%s", RecordOf(command, result).c_str());
  const std::vector<std::string> too_rare = TooRare(result, command.firings);
  for (const std::string& line : too_rare) std::printf("%s\n", line.c_str());
  return result.failures.empty() && too_rare.empty();
}

}  // namespace quotient::prove
