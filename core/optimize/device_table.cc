#include "core/optimize/device_table.h"

#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/cost/data_sheets.h"
#include "core/kernels/cuda/cuda_backend.h"
#include "core/kernels/cuda/fingerprint.h"
#include "core/kernels/cuda/load_plugin.h"
#include "core/kernels/onednn/onednn_backend.h"
#include "core/kernels/onnxruntime/ort_backend.h"

namespace quotient::optimize {
namespace {

using kernels::cuda::CudaDevice;
using kernels::cuda::GpuFacts;
using kernels::cuda::MathPolicy;
using kernels::cuda::ParseCudaDevice;
using verify::DeviceArithmetic;

constexpr char kBuiltInDevice[] = "cpu";

// A search has as many threads as the kernels that are measured meanwhile. If there are not enough
// cores for both, the search has to hold still.
bool NeedsQuiet(int threads) {
  return 2 * static_cast<unsigned>(threads) > std::thread::hardware_concurrency();
}

// ONNX Runtime comes first: most users want to know how fast a model runs in it.
DeviceKind Auto() {
  return {
      .names = {"auto"},
      .stands_for = {kernels::onnxruntime::kCpuDevice, kBuiltInDevice},
      .help = "onnxruntime where its library is found, else cpu",
      .accepts = [](absl::string_view name) { return name == "auto"; },
  };
}

DeviceKind Cpu() {
  return {
      .names = {kBuiltInDevice},
      .help = "the processors of this machine, measured with the built-in executor",
      .accepts = [](absl::string_view name) { return name == kBuiltInDevice; },
      .open = [](absl::string_view,
                 const BackendSetup& setup) -> absl::StatusOr<std::unique_ptr<kernels::Backend>> {
        return kernels::onednn::NewBackend(setup.threads, setup.environment);
      },
      .roof = [](absl::string_view, absl::string_view, int threads) -> cost::Roof {
        return {cost::CpuSheet(), static_cast<double>(threads)};
      },
      .timing =
          [](int threads) {
            return timing::ServiceOptions{.threads = threads,
                                          .needs_quiet = NeedsQuiet(threads),
                                          .bounds_by_one_thread = true};
          },
      .arithmetic = [](absl::string_view) { return DeviceArithmetic::kHost; },
  };
}

DeviceKind OnnxRuntime() {
  return {
      .names = {kernels::onnxruntime::kCpuDevice},
      .other_names = absl::StrCat(kernels::onnxruntime::kCudaDevice, " (not usable yet)"),
      .help = "ONNX Runtime on the processors of this machine: what it runs faster",
      .accepts =
          [](absl::string_view name) {
            return name == kernels::onnxruntime::kCpuDevice ||
                   name == kernels::onnxruntime::kCudaDevice;
          },
      .open = [](absl::string_view name,
                 const BackendSetup& setup) -> absl::StatusOr<std::unique_ptr<kernels::Backend>> {
        return kernels::onnxruntime::NewBackend(name, setup.threads, setup.environment,
                                                setup.takes_precedence);
      },
      .roof = [](absl::string_view, absl::string_view, int threads) -> cost::Roof {
        return {cost::CpuSheet(), static_cast<double>(threads)};
      },
      // Kernels of a batch are loaded together, each with copies, and each sample runs a kernel
      // several times, so fewer of both suffice.
      .timing =
          [](int threads) {
            return timing::ServiceOptions{
                .protocol = {.max_rounds = 12, .budget_us = 20'000, .max_retries = 0},
                .batch_keys = 8,
                .threads = threads,
                .needs_quiet = NeedsQuiet(threads)};
          },
      .arithmetic = [](absl::string_view) { return DeviceArithmetic::kHost; },
      .runs_files = true,
  };
}

// A fingerprint that does not say what the GPU is was not written by this program. Such a GPU is
// taken for an H200.
cost::Roof RoofOfGpu(absl::string_view name, absl::string_view fingerprint) {
  const bool strict32 = ParseCudaDevice(name)->policy == MathPolicy::kStrict32;
  cost::GpuRates rates{.name = "NVIDIA H200", .compute_capability = 90, .processors = 132};
  const std::optional<GpuFacts> facts = kernels::cuda::HardwareOf(fingerprint);
  if (facts.has_value()) {
    rates = {.name = facts->name,
             .compute_capability = facts->compute_capability,
             .processors = facts->processors,
             .clock_mhz = facts->max_clock_khz / 1e3,
             .memory_mhz = facts->max_memory_clock_khz / 1e3,
             .bus_bits = static_cast<double>(facts->bus_bits),
             .cache_size = static_cast<double>(facts->l2_bytes)};
  }
  const cost::DeviceSheet sheet = cost::GpuSheet(rates, strict32);
  return {sheet, sheet.processors};
}

DeviceKind NvidiaGpu() {
  return {
      .names = {"cuda", "cuda-strict32"},
      .other_names = "cuda:1, cuda:1-strict32 and so on",
      .help =
          "an NVIDIA GPU of this machine, measured (cuda:1 is the second one); with -strict32 "
          "float32 stays float32 instead of tf32",
      .accepts = [](absl::string_view name) { return ParseCudaDevice(name).has_value(); },
      .open = [](absl::string_view name,
                 const BackendSetup& setup) -> absl::StatusOr<std::unique_ptr<kernels::Backend>> {
        const CudaDevice gpu = *ParseCudaDevice(name);
        return kernels::cuda::NewBackend(
            gpu.ordinal,
            {.policy = gpu.policy,
             .compile_threads = setup.threads,
             .cache_directory = setup.cache_directory,
             .plugin = os::ValueOf(setup.environment, kernels::cuda::kPluginVariable),
             .tf32_override = os::ValueOf(setup.environment, kernels::cuda::kTf32Variable)});
      },
      .roof = [](absl::string_view name, absl::string_view fingerprint,
                 int) { return RoofOfGpu(name, fingerprint); },
      // Each key has a dozen ways to run it.
      .timing =
          [](int threads) { return timing::ServiceOptions{.batch_keys = 8, .threads = threads}; },
      .arithmetic =
          [](absl::string_view name) {
            return ParseCudaDevice(name)->policy == MathPolicy::kTf32 ? DeviceArithmetic::kTf32
                                                                      : DeviceArithmetic::kFloat32;
          },
  };
}

DeviceKind DataSheets() {
  DeviceKind kind{
      .help = "analytic models of GPUs, nothing is measured",
      .accepts = [](absl::string_view name) { return cost::FindDeviceSheet(name) != nullptr; }};
  for (const cost::DeviceSheet& sheet : cost::AllDeviceSheets()) {
    kind.names.emplace_back(sheet.name);
  }
  return kind;
}

bool IsListed(const DeviceKind& kind, DeviceFilter filter) {
  switch (filter) {
    case DeviceFilter::kAll:
      return true;
    case DeviceFilter::kMeasured:
      return kind.is_measured() || kind.is_name_of_others();
    case DeviceFilter::kRunsFiles:
      return kind.runs_files;
  }
  return false;
}

std::vector<const DeviceKind*> Listed(DeviceFilter filter) {
  std::vector<const DeviceKind*> kinds;
  for (const DeviceKind& kind : AllDeviceKinds()) {
    if (IsListed(kind, filter)) kinds.push_back(&kind);
  }
  return kinds;
}

}  // namespace

std::span<const DeviceKind> AllDeviceKinds() {
  static const auto& kinds =
      *new std::vector<DeviceKind>{Auto(), Cpu(), OnnxRuntime(), NvidiaGpu(), DataSheets()};
  return kinds;
}

const DeviceKind* FindDeviceKind(std::span<const DeviceKind> kinds, absl::string_view name) {
  for (const DeviceKind& kind : kinds) {
    if (kind.accepts(name)) return &kind;
  }
  return nullptr;
}

std::vector<std::string> DeviceNames(DeviceFilter filter) {
  std::vector<std::string> names;
  for (const DeviceKind* const kind : Listed(filter)) {
    names.insert(names.end(), kind->names.begin(), kind->names.end());
  }
  return names;
}

std::string AcceptedDevices(DeviceFilter filter) {
  std::vector<std::string> names;
  for (const DeviceKind* const kind : Listed(filter)) {
    names.insert(names.end(), kind->names.begin(), kind->names.end());
    if (!kind->other_names.empty()) names.push_back(kind->other_names);
  }
  return absl::StrJoin(names, ", ");
}

std::string DevicesHelp(DeviceFilter filter) {
  return absl::StrJoin(Listed(filter), "\n", [](std::string* out, const DeviceKind* kind) {
    absl::StrAppend(out, absl::StrJoin(kind->names, ", "), ": ", kind->help);
  });
}

}  // namespace quotient::optimize
