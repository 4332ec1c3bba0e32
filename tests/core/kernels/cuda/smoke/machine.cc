// What a GPU is and how fast it does the simplest things.

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/device_memory.h"
#include "core/kernels/cuda/random_pool.h"
#include "core/timing/statistics.h"
#include "tests/core/kernels/cuda/smoke/smoke.h"

namespace quotient::kernels::cuda::smoke {
namespace {

constexpr int kRepeats = 21;

// The median of the microseconds that `work`, which returns a Status, takes on the host.
template <typename Work>
absl::StatusOr<double> HostUs(int repeats, Work&& work) {
  std::vector<double> samples;
  for (int i = 0; i < repeats; ++i) {
    const absl::Time begin = absl::Now();
    QUOTIENT_RETURN_IF_ERROR(work());
    samples.push_back(absl::ToDoubleMicroseconds(absl::Now() - begin));
  }
  return timing::Median(std::move(samples));
}

absl::StatusOr<double> FastestUs(Replay& replay) {
  double fastest = 0;
  for (int i = 0; i < kRepeats; ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(const Reading reading, replay.Run());
    fastest = i == 0 ? reading.us : std::min(fastest, reading.us);
  }
  return fastest;
}

SourceKernel Nothing() {
  SourceKernel kernel;
  kernel.name = "nothing";
  kernel.source = "extern \"C\" __global__ void nothing() {}";
  return kernel;
}

// 16 bytes for each thread.
SourceKernel Copy(int64_t bytes) {
  SourceKernel kernel;
  kernel.name = "copy16";
  kernel.source = R"(struct alignas(16) Four { float a, b, c, d; };
extern "C" __global__ void copy16(const Four* from, Four* to) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  to[i] = from[i];
})";
  kernel.block = 256;
  kernel.grid = bytes / (16 * kernel.block);
  kernel.num_buffers = 2;
  return kernel;
}

// Products and sums of dense bfloat16 that a multiprocessor does in a clock (NVIDIA's data sheets:
// A100 312, L40S 362, H100 and H200 989 TFLOP/s at their boost clocks); 0: not known.
double FlopsPerClock(int compute_capability) {
  switch (compute_capability) {
    case 80:
      return 2048;
    case 86:
    case 89:
      return 1024;
    case 90:
      return 4096;
    case 100:
      return 8192;
    default:
      return 0;
  }
}

// `unit` of what was done in `us`, against what there is at most; 0: nobody knows.
Row RateRow(const std::string& name, double rate, double most, const std::string& unit) {
  // A library reaches half of it, and a clock that is off by a thousand is told.
  constexpr double kLeast = 0.3;
  constexpr double kMost = 1.1;
  Row row{name, absl::StrFormat("%.3g %s", rate, unit)};
  if (most <= 0) return row;
  const double share = rate / most;
  absl::StrAppendFormat(&row.text, ", %.0f %% of %.3g", 100 * share, most);
  row.passed = share > kLeast && share < kMost;
  return row;
}

absl::StatusOr<Row> CopyRate(Gpu& gpu, RandomPool& pool, int64_t bytes) {
  QUOTIENT_ASSIGN_OR_RETURN(const auto from, pool.Get(model::DType::kFloat32, bytes));
  QUOTIENT_ASSIGN_OR_RETURN(const auto to, gpu.Allocate(bytes));
  QUOTIENT_ASSIGN_OR_RETURN(const auto copy, gpu.Prepare(Copy(bytes)));
  const std::vector<Step> steps(
      1, Step{.launcher = copy.get(), .buffers = {from->address(), to->address()}});
  QUOTIENT_ASSIGN_OR_RETURN(const auto replay, gpu.Capture(steps));
  QUOTIENT_ASSIGN_OR_RETURN(const double us, FastestUs(*replay));
  // Two transfers in a clock of the memory.
  const double most = 2e3 * gpu.facts().max_memory_clock_khz * gpu.facts().bus_bits / 8 / 1e12;
  return RateRow("copy, read and written", 2e-6 * static_cast<double>(bytes) / us, most, "TB/s");
}

absl::StatusOr<Row> ProductRate(Gpu& gpu, RandomPool& pool, int64_t size) {
  MatmulProblem problem;
  problem.type = model::DType::kBfloat16;
  problem.m = problem.n = problem.k = size;
  problem.a_row = problem.b_row = problem.d_row = size;
  const int64_t bytes = 2 * size * size;
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<LibraryPlan> plans, gpu.Plans(problem));
  if (plans.empty()) return Row{"product of bfloat16", "no plan", false};
  QUOTIENT_ASSIGN_OR_RETURN(const auto launcher, gpu.Prepare(problem, plans.front().name));
  QUOTIENT_ASSIGN_OR_RETURN(const auto operands, pool.Get(problem.type, bytes));
  DeviceMemory memory(&gpu);
  QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress result, memory.Allocate(bytes));
  QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress workspace,
                            memory.Allocate(launcher->workspace_bytes()));
  const std::vector<Step> steps(1,
                                Step{.launcher = launcher.get(),
                                     .buffers = {operands->address(), operands->address(), result},
                                     .workspace = workspace});
  QUOTIENT_ASSIGN_OR_RETURN(const auto replay, gpu.Capture(steps));
  QUOTIENT_ASSIGN_OR_RETURN(const double us, FastestUs(*replay));
  const double flops = 2.0 * static_cast<double>(size) * static_cast<double>(size * size);
  const GpuFacts& facts = gpu.facts();
  const double most =
      FlopsPerClock(facts.compute_capability) * facts.processors * facts.max_clock_khz * 1e3 / 1e12;
  Row row = RateRow("product of bfloat16", flops / us / 1e6, most, "TFLOP/s");
  absl::StrAppend(&row.text, ", ", gpu.ClockMhz(), " MHz behind it");
  return row;
}

}  // namespace

Rows DeviceRows(Gpu& gpu) {
  const GpuFacts& f = gpu.facts();
  return {
      {"device", absl::StrCat(f.name, ", sm_", f.compute_capability, ", ", f.processors,
                              " processors, ", f.memory_bytes >> 20, " MiB, L2 ", f.l2_bytes >> 20,
                              " MiB, bus ", f.bus_bits, " bits")},
      {"clocks",
       absl::StrCat("at most ", f.max_clock_khz / 1000, " and ", f.max_memory_clock_khz / 1000,
                    " MHz, now ", gpu.ClockMhz(), " MHz, power limit '", f.power_limit_watts,
                    "' W, ECC ", f.ecc ? "on" : "off", ", MIG '", f.mig_mode, "'")},
      {"versions",
       absl::StrCat("driver '", f.driver, "' for ", f.driver_version, ", cuDNN ", f.cudnn_version,
                    " for CUDA ", f.cudnn_cuda_version, ", plug-in for CUDA ", f.runtime_version,
                    ", cuBLASLt ", f.cublaslt_version, ", NVRTC ", f.nvrtc_version,
                    ", TF32 override '", f.tf32_override, "'")},
  };
}

Rows LibraryRows() {
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path == std::string::npos) continue;
    const std::string file = line.substr(path);
    const std::string name = file.substr(file.rfind('/') + 1);
    for (const char* wanted : {"libcuda.", "libcudnn", "libcublas", "libnvrtc", "libnvidia-ml"}) {
      if (absl::StartsWith(name, wanted)) files.insert(file);
    }
  }
  Rows rows;
  for (const std::string& file : files) rows.push_back({"loaded", file});
  return rows;
}

absl::StatusOr<Rows> ReplayRows(Gpu& gpu) {
  QUOTIENT_ASSIGN_OR_RETURN(const auto nothing, gpu.Prepare(Nothing()));
  const auto capture = [&](size_t kernels) {
    return gpu.Capture(std::vector<Step>(kernels, Step{.launcher = nothing.get()}));
  };
  Rows rows;
  std::vector<double> device_us;
  for (const size_t kernels : {1, 64, 1001}) {
    QUOTIENT_ASSIGN_OR_RETURN(const double capture_us,
                              HostUs(5, [&] { return capture(kernels).status(); }));
    QUOTIENT_ASSIGN_OR_RETURN(const auto replay, capture(kernels));
    QUOTIENT_ASSIGN_OR_RETURN(device_us.emplace_back(), FastestUs(*replay));
    const auto run = [&] { return replay->Run().status(); };
    QUOTIENT_ASSIGN_OR_RETURN(const double without_us, HostUs(kRepeats, run));
    QUOTIENT_ASSIGN_OR_RETURN(const double with_us, HostUs(kRepeats, [&] {
                                gpu.ClockMhz();
                                return run();
                              }));
    rows.push_back({absl::StrCat("replay of ", kernels),
                    absl::StrFormat("captured in %.0f us; %.1f us by the host, %.1f with a look at "
                                    "the clock, %.2f by the device",
                                    capture_us, without_us, with_us, device_us.back())});
  }
  rows.push_back({"gap between kernels",
                  absl::StrFormat("%.3f us", (device_us.back() - device_us.front()) / 1000)});
  return rows;
}

absl::StatusOr<Rows> RateRows(Gpu& gpu, const RateSizes& sizes) {
  RandomPool pool(&gpu);
  Rows rows;
  QUOTIENT_ASSIGN_OR_RETURN(rows.emplace_back(), CopyRate(gpu, pool, sizes.copy_bytes));
  QUOTIENT_ASSIGN_OR_RETURN(rows.emplace_back(), ProductRate(gpu, pool, sizes.product));
  return rows;
}

}  // namespace quotient::kernels::cuda::smoke
