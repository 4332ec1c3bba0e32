// A step of the first minutes on a GPU, as a process of its own; --help has them. Rows of the table
// go to standard output, "smoke", name and text with tabs between them.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/code_folder.h"
#include "core/kernels/cuda/cuda_backend.h"
#include "core/kernels/cuda/fingerprint.h"
#include "core/kernels/cuda/interface/plugin.h"
#include "core/kernels/cuda/load_plugin.h"
#include "core/kernels/cuda/run_journal.h"
#include "core/onnx/reader.h"
#include "core/ops/infer_graph.h"
#include "core/os/environment.h"
#include "core/timing/service.h"
#include "tests/core/kernels/cuda/smoke/smoke.h"
#include "tests/support/networks/networks.h"

namespace quotient::kernels::cuda::smoke {
namespace {

constexpr char kUsage[] = R"(usage: gpu_smoke STEP [ARGUMENT]...

  device OUT            what the GPU is, the libraries that are used; OUT/properties.json,
                        OUT/fingerprints
  replays               microseconds of captures and replays
  rates                 of a copy and of a product
  families              the names of the families of kernels, one a line; needs no GPU
  kernels FAMILY OUT    one kernel by every way to run it; OUT/compiled keeps what is compiled
  network NAME OUT      a network by the fastest plans, in both policies; OUT/timings, OUT/compiled
  timings OUT           whose timings are in OUT/timings, by OUT/fingerprints; needs no GPU
  merge OUT             takes those of another patch level of the driver for this device's; needs no
                        GPU
  own FAMILY            our own kernels of a family alone, each once

Exit status: 0 if all is as it should be, 1 if something is not, 2 if this is not how it is called;
4 where there is no driver or no GPU, 5 where a library is missing, 6 where one is another version
than was built with.
)";

constexpr int kNoGpu = 4;
constexpr int kNoLibrary = 5;
constexpr int kOtherVersion = 6;

int StatusOfFailure(const absl::Status& status) {
  std::fprintf(stderr, "gpu_smoke: %s\n", std::string(status.message()).c_str());
  if (GetReason(status) != Reason::kDeviceNotPresent) return 1;
  if (absl::StartsWith(status.message(), kLibraryMissing)) return kNoLibrary;
  if (absl::StartsWith(status.message(), kSymbolMissing)) return kOtherVersion;
  return kNoGpu;
}

void PrintRow(const Row& row) {
  std::printf("smoke\t%s\t%s%s\n", row.name.c_str(),
              row.passed ? "" : "FAILED: ", row.text.c_str());
}

// The exit status for rows that have been printed.
int ExitStatus(const absl::StatusOr<Rows>& rows) {
  if (!rows.ok()) return StatusOfFailure(rows.status());
  return std::ranges::all_of(*rows, &Row::passed) ? 0 : 1;
}

int Print(const absl::StatusOr<Rows>& rows) {
  if (rows.ok()) std::ranges::for_each(*rows, PrintRow);
  return ExitStatus(rows);
}

std::string CompiledIn(const std::string& out) { return out + "/compiled"; }

// The options of a user of this machine.
CudaOptions OptionsHere() {
  const os::Environment environment = os::ReadEnvironment(environ);
  return {.plugin = os::ValueOf(environment, kPluginVariable),
          .tf32_override = os::ValueOf(environment, kTf32Variable)};
}

// `cache` may be null.
absl::StatusOr<std::unique_ptr<Gpu>> OpenGpu(CodeCache* cache) {
  const CudaOptions options = OptionsHere();
  QUOTIENT_ASSIGN_OR_RETURN(Plugin* const plugin, LoadPlugin(options.plugin));
  return plugin->OpenGpu(0, options.tf32_override, cache);
}

absl::StatusOr<std::vector<std::string>> ReadFingerprints(const std::string& out) {
  std::ifstream file(out + "/fingerprints");
  std::vector<std::string> fingerprints;
  for (std::string line; std::getline(file, line);) fingerprints.push_back(line);
  if (!fingerprints.empty()) return fingerprints;
  return absl::NotFoundError(
      absl::StrCat(out, "/fingerprints: 'gpu_smoke device ", out, "' makes it"));
}

absl::StatusOr<Rows> Device(const std::string& out) {
  QUOTIENT_ASSIGN_OR_RETURN(const auto gpu, OpenGpu(nullptr));
  std::ofstream(out + "/properties.json") << gpu->facts().properties_json;
  std::ofstream fingerprints(out + "/fingerprints");
  for (const MathPolicy policy : {MathPolicy::kTf32, MathPolicy::kStrict32}) {
    fingerprints << timing::StoredFingerprint(GpuFingerprint(gpu->facts(), policy)) << "\n";
  }
  Rows rows = DeviceRows(*gpu);
  for (Row& row : LibraryRows()) rows.push_back(std::move(row));
  if (gpu->facts().properties_json.empty()) {
    rows.push_back({"properties", "cuDNN does not tell them: plans cannot be checked elsewhere"});
  }
  return rows;
}

// Prints its rows as they are found.
absl::StatusOr<Rows> Kernels(const std::string& family, const std::string& out) {
  const std::unique_ptr<CodeCache> cache = OpenCodeCache(CompiledIn(out));
  QUOTIENT_ASSIGN_OR_RETURN(const auto gpu, OpenGpu(cache.get()));
  const std::unique_ptr<RunJournal> journal =
      OpenRunJournal(CompiledIn(out), GpuFingerprint(gpu->facts(), MathPolicy::kTf32).text);
  const auto trying = [](const std::string& way) { std::printf("trying %s\n", way.c_str()); };
  constexpr int kRuns = 64;
  return KernelRows(*gpu, family, kRuns, {journal.get(), trying, PrintRow});
}

absl::StatusOr<model::Graph> NetworkGraph(const std::string& name) {
  const std::optional<::onnx::ModelProto> made = networks::MakeNetwork(name, {});
  if (!made.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no network '", name, "'"));
  }
  const auto bytes = std::make_shared<std::string>(made->SerializeAsString());
  QUOTIENT_ASSIGN_OR_RETURN(onnx::Model model, onnx::Read(*bytes, {}, onnx::Limits(), bytes));
  QUOTIENT_RETURN_IF_ERROR(ops::InferTypes(model.graph));
  return std::move(model.graph);
}

absl::StatusOr<Rows> Network(const std::string& name, const std::string& out) {
  QUOTIENT_ASSIGN_OR_RETURN(const model::Graph graph, NetworkGraph(name));
  QUOTIENT_ASSIGN_OR_RETURN(const auto store, timing::OpenFileStore(out + "/timings"));
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Rows rows;
  for (const MathPolicy policy : {MathPolicy::kTf32, MathPolicy::kStrict32}) {
    CudaOptions options = OptionsHere();
    options.policy = policy;
    options.compile_threads = threads;
    options.cache_directory = CompiledIn(out);
    QUOTIENT_ASSIGN_OR_RETURN(const auto backend, NewBackend(0, options));
    const double tolerance = policy == MathPolicy::kTf32 ? 1e-2 : 1e-4;
    QUOTIENT_ASSIGN_OR_RETURN(Rows found,
                              NetworkRows(graph, *backend, tolerance, threads, store.get()));
    for (Row& row : found) {
      row.name = absl::StrCat(name, " ", PolicyName(policy), " ", row.name);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

absl::StatusOr<Rows> Timings(const std::string& out) {
  QUOTIENT_ASSIGN_OR_RETURN(const auto own, ReadFingerprints(out));
  return TimingRows(out + "/timings", own);
}

absl::StatusOr<Rows> Own(const std::string& family) {
  QUOTIENT_ASSIGN_OR_RETURN(const auto gpu, OpenGpu(nullptr));
  return OwnRows(*gpu, family);
}

absl::StatusOr<Rows> Merge(const std::string& out) {
  QUOTIENT_ASSIGN_OR_RETURN(const auto own, ReadFingerprints(out));
  QUOTIENT_ASSIGN_OR_RETURN(const int added, MergeDrivers(out + "/timings", own));
  return Rows{{"merged", absl::StrCat(added, " kernels")}};
}

absl::StatusOr<Rows> OnGpu(absl::StatusOr<Rows> (*rows)(Gpu&)) {
  QUOTIENT_ASSIGN_OR_RETURN(const auto gpu, OpenGpu(nullptr));
  return rows(*gpu);
}

int PrintFamilies() {
  for (const std::string& name : FamilyNames()) std::printf("%s\n", name.c_str());
  return 0;
}

int Main(const std::vector<std::string>& words) {
  const auto is = [&words](const char* step, size_t arguments) {
    return words.size() == arguments + 1 && words[0] == step;
  };
  if (is("device", 1)) return Print(Device(words[1]));
  if (is("replays", 0)) return Print(OnGpu(ReplayRows));
  if (is("rates", 0)) return Print(OnGpu([](Gpu& gpu) { return RateRows(gpu, {}); }));
  if (is("families", 0)) return PrintFamilies();
  if (is("kernels", 2)) return ExitStatus(Kernels(words[1], words[2]));
  if (is("network", 2)) return Print(Network(words[1], words[2]));
  if (is("timings", 1)) return Print(Timings(words[1]));
  if (is("merge", 1)) return Print(Merge(words[1]));
  if (is("own", 1)) return Print(Own(words[1]));
  const bool wants_help = is("--help", 0) || is("-h", 0);
  std::fputs(kUsage, wants_help ? stdout : stderr);
  return wants_help ? 0 : 2;
}

}  // namespace
}  // namespace quotient::kernels::cuda::smoke

int main(int argc, char** argv) {
  setlinebuf(stdout);  // what a step that is killed has found is not lost
  return quotient::kernels::cuda::smoke::Main({argv + 1, argv + argc});
}
