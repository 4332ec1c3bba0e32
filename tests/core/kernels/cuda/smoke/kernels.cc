// One kernel of each family, by every way to run it.

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/clock.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/attention.h"
#include "core/kernels/cuda/device_memory.h"
#include "core/kernels/cuda/pack.h"
#include "core/kernels/cuda/prepared_kernel.h"
#include "core/kernels/cuda/timed_kernel.h"
#include "core/kernels/fusion.h"
#include "core/verify/compare.h"
#include "tests/core/kernels/cuda/smoke/awake.h"
#include "tests/core/kernels/cuda/smoke/kernel_families.h"
#include "tests/core/kernels/cuda/smoke/smoke.h"
#include "tests/support/cuda/program_runner.h"
#include "tests/support/kernel_ways.h"

namespace quotient::kernels::cuda::smoke {
namespace {

constexpr char kHostCall[] = "host";
constexpr size_t kMostPlans = 8;

using Prepared = std::shared_ptr<const PreparedKernel>;

// Operands, outputs and constants of one kernel on the device.
class Data {
 public:
  Data(const KernelSpec& spec, Gpu* gpu, RunJournal* journal)
      : spec_(spec), gpu_(*gpu), journal_(journal), memory_(gpu) {}

  absl::Status Make() {
    tensors_ = RandomOperands(spec_, 1);
    QUOTIENT_ASSIGN_OR_RETURN(expected_, ReferenceOutputs(spec_, tensors_));
    const std::vector<Operand> operands = AllOperands(spec_);
    for (size_t i = 0; i < operands.size(); ++i) {
      DeviceAddress& address = bindings_.operands.emplace_back(0);
      if (operands[i].constant || BytesOf(operands[i]) == 0) continue;
      QUOTIENT_ASSIGN_OR_RETURN(address, memory_.Upload(Pack(tensors_[i], operands[i].layout)));
    }
    return absl::OkStatus();
  }

  // The largest relative norm of an output's error.
  absl::StatusOr<double> ErrorOf(const PreparedKernel& kernel) {
    DeviceMemory memory(&gpu_);
    PreparedKernel::Bindings bindings = bindings_;
    std::vector<const model::Tensor*> tensors;
    for (const model::Tensor& tensor : tensors_) tensors.push_back(&tensor);
    for (const PackedConstant& constant : kernel.program().constants) {
      QUOTIENT_ASSIGN_OR_RETURN(bindings.constants.emplace_back(),
                                memory.Upload(Pack(constant, tensors)));
    }
    for (const Operand& output : spec_.outputs) {
      const std::vector<std::byte> poison(static_cast<size_t>(BytesOf(output)), std::byte{0xff});
      QUOTIENT_ASSIGN_OR_RETURN(bindings.outputs.emplace_back(), memory.Upload(poison));
    }
    QUOTIENT_ASSIGN_OR_RETURN(bindings.workspace, memory.Allocate(kernel.workspace_bytes()));
    std::vector<Step> steps;
    kernel.AppendSteps(bindings, &steps);
    QUOTIENT_ASSIGN_OR_RETURN(const auto replay, gpu_.Capture(steps));
    QUOTIENT_RETURN_IF_ERROR(
        RunByJournal(journal_, gpu_, {JournalName(KernelKey(spec_), kernel.name())}, [&] {
          return replay->Run();
        }).status());
    double error = 0;
    size_t next = 0;
    for (size_t i = 0; i < spec_.outputs.size(); ++i) {
      std::vector<std::byte> bytes(static_cast<size_t>(BytesOf(spec_.outputs[i])));
      if (bytes.empty()) continue;
      QUOTIENT_RETURN_IF_ERROR(
          gpu_.Download(bytes.data(), bindings.outputs[i], static_cast<int64_t>(bytes.size())));
      error =
          std::max(error, verify::RelativeNorm(expected_[next++], Unpack(spec_.outputs[i], bytes)));
    }
    return error;
  }

 private:
  const KernelSpec& spec_;
  Gpu& gpu_;
  RunJournal* const journal_;  // May be null.
  DeviceMemory memory_;
  std::vector<model::Tensor> tensors_;
  std::vector<model::Tensor> expected_;
  PreparedKernel::Bindings bindings_;
};

// The ways that can be prepared. `trouble` gets those that cannot for another reason than that the
// library does not have them.
absl::StatusOr<std::vector<Prepared>> PrepareAll(const std::vector<Way>& ways, Gpu& gpu,
                                                 std::string* trouble) {
  std::vector<Prepared> kernels;
  for (const Way& way : ways) {
    auto kernel = PreparedKernel::Create(way, gpu);
    if (kernel.ok()) {
      kernels.push_back(*std::move(kernel));
    } else if (!absl::IsUnimplemented(kernel.status())) {
      absl::StrAppend(trouble, "; ", way.name(), ": ", std::string(kernel.status().message()));
    }
  }
  return kernels;
}

absl::StatusOr<double> FastestUs(const KernelSpec& spec, const std::vector<Prepared>& kernels,
                                 Gpu& gpu, int runs, RunJournal* journal, std::string* name) {
  RandomPool pool(&gpu);
  GpuClock clock(&gpu);
  QUOTIENT_ASSIGN_OR_RETURN(const auto timed,
                            NewTimedKernels(spec, kernels, {&gpu, &pool, &clock, journal}));
  double fastest = 0;
  for (const auto& kernel : timed) {
    for (int i = 0; i < 3; ++i) {
      QUOTIENT_RETURN_IF_ERROR(
          Annotate(RunAwake(*kernel, [&] { return kernel->Run(runs); }), kernel->plan()));
      const double us = kernel->reading()->us / runs;
      if (fastest > 0 && us >= fastest) continue;
      fastest = us;
      *name = ProgramOf(kernel->plan());
      if (!kernel->reading()->clean) absl::StrAppend(name, " (at a low clock)");
    }
  }
  absl::StrAppend(name, " at ", clock.At(Clock::System().NowNs()).mhz, " MHz");
  return fastest;
}

bool IsOwn(const Way& way) {
  return std::ranges::all_of(way.program.launches, [](const Launch& launch) {
    return std::holds_alternative<SourceKernel>(launch.what);
  });
}

std::string RowName(const KernelSpec& spec, const Arithmetic& arithmetic) {
  return absl::StrCat(spec.op, " ", arithmetic.name);
}

absl::StatusOr<Row> KernelRow(const KernelSpec& spec, const Arithmetic& arithmetic, Gpu& gpu,
                              int runs, const Watcher& watcher) {
  Row row{RowName(spec, arithmetic)};
  QUOTIENT_ASSIGN_OR_RETURN(Ways ways, WaysToRun(spec, arithmetic.policy, gpu, kMostPlans));
  const auto barred = std::erase_if(ways.list, [&](const Way& way) {
    return watcher.journal != nullptr &&
           watcher.journal->IsBarred(JournalName(KernelKey(spec), way.name()));
  });
  std::string trouble(ways.failure.message());
  const absl::Time begin = absl::Now();
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Prepared> first,
                            PrepareAll(ways.list, gpu, &trouble));
  const absl::Time prepared = absl::Now();
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Prepared> kernels,
                            PrepareAll(ways.list, gpu, &trouble));
  const absl::Time again = absl::Now();
  Data data(spec, &gpu, watcher.journal);
  QUOTIENT_RETURN_IF_ERROR(data.Make());
  double worst = 0;
  std::string of_worst;
  bool uses_host = false;
  for (const std::vector<Prepared>* list : {&first, &kernels}) {
    for (const Prepared& kernel : *list) {
      if (list == &first && watcher.trying) {
        watcher.trying(absl::StrCat(row.name, " by ", kernel->name()));
      }
      const absl::StatusOr<double> ran = data.ErrorOf(*kernel);
      QUOTIENT_RETURN_IF_ERROR(Annotate(ran.status(), kernel->name()));
      const double error = *ran;
      uses_host = uses_host || kernel->uses_host();
      if (!(error <= worst)) of_worst = kernel->name();
      worst = std::max(worst, error);
    }
  }
  std::string fastest;
  double us = 0;
  if (!kernels.empty()) {
    QUOTIENT_ASSIGN_OR_RETURN(us, FastestUs(spec, kernels, gpu, runs, watcher.journal, &fastest));
  }
  row.text = absl::StrFormat(
      "%d of %d ways, error %.1e, %.2f us by %s, prepared in %.0f and %.0f ms", kernels.size(),
      ways.list.size(), worst, us, fastest, absl::ToDoubleMilliseconds(prepared - begin),
      absl::ToDoubleMilliseconds(again - prepared));
  const bool is_contraction = IsContraction(spec.op) || spec.op == kAttentionOp;
  row.passed = worst <= arithmetic.tolerance && !kernels.empty() && trouble.empty() &&
               barred == 0 && !(is_contraction && uses_host);
  if (!(worst <= arithmetic.tolerance)) absl::StrAppend(&row.text, ", worst by ", of_worst);
  if (is_contraction && uses_host) absl::StrAppend(&row.text, ", on the host");
  if (barred > 0) absl::StrAppend(&row.text, ", ", barred, " barred");
  if (!trouble.empty()) absl::StrAppend(&row.text, ", trouble: ", trouble);
  return row;
}

// A call of the host in the middle of a replay.
absl::StatusOr<Rows> HostRows(Gpu& gpu) {
  constexpr int64_t kNumbers = 1000;
  constexpr auto kBytes = static_cast<int64_t>(kNumbers * sizeof(float));
  HostCall call{{kBytes}, {kBytes}, [](auto inputs, auto outputs) {
                  for (int64_t i = 0; i < kNumbers; ++i) {
                    static_cast<float*>(outputs[0])[i] =
                        static_cast<const float*>(inputs[0])[i] + 1;
                  }
                }};
  QUOTIENT_ASSIGN_OR_RETURN(const auto launcher, gpu.Prepare(std::move(call)));
  const std::vector<float> zeros(kNumbers, 0);
  DeviceMemory memory(&gpu);
  QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress from,
                            memory.Upload(std::as_bytes(std::span(zeros))));
  QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress to, memory.Allocate(kBytes));
  const std::vector<Step> steps = {{.launcher = launcher.get(), .buffers = {from, to}}};
  QUOTIENT_ASSIGN_OR_RETURN(const auto replay, gpu.Capture(steps));
  QUOTIENT_RETURN_IF_ERROR(replay->Run().status());
  QUOTIENT_ASSIGN_OR_RETURN(const Reading reading, replay->Run());
  std::vector<float> found(kNumbers, -1);
  QUOTIENT_RETURN_IF_ERROR(gpu.Download(found.data(), to, kBytes));
  const bool is_right = found == std::vector<float>(kNumbers, 1);
  return Rows{{"call to the host", absl::StrFormat("%.1f us", reading.us), is_right}};
}

}  // namespace

std::vector<std::string> FamilyNames() {
  std::vector<std::string> names;
  for (const Family& family : Families()) names.push_back(family.name);
  names.push_back(kHostCall);
  return names;
}

absl::StatusOr<Rows> KernelRows(Gpu& gpu, absl::string_view family, int runs,
                                const Watcher& watcher) {
  Rows rows;
  const auto add = [&](Row row) {
    if (watcher.found) watcher.found(row);
    rows.push_back(std::move(row));
  };
  if (family == kHostCall) {
    QUOTIENT_ASSIGN_OR_RETURN(const Rows host, HostRows(gpu));
    for (const Row& row : host) add(row);
    return rows;
  }
  const auto found = std::ranges::find(Families(), family, &Family::name);
  if (found == Families().end()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no family '", family, "'"));
  }
  for (const Arithmetic& arithmetic : found->arithmetics) {
    QUOTIENT_ASSIGN_OR_RETURN(const auto specs, SpecsOf(*found, arithmetic.type));
    for (const KernelSpec& spec : specs) {
      absl::StatusOr<Row> row = KernelRow(spec, arithmetic, gpu, runs, watcher);
      if (!row.ok() && (GetReason(row.status()) == Reason::kDeviceLost || !gpu.health().ok())) {
        return Annotate(row.status(), RowName(spec, arithmetic));
      }
      add(row.ok() ? *std::move(row)
                   : Row{RowName(spec, arithmetic), std::string(row.status().message()), false});
    }
  }
  return rows;
}

absl::StatusOr<Rows> OwnRows(Gpu& gpu, absl::string_view family) {
  const auto found = std::ranges::find(Families(), family, &Family::name);
  if (found == Families().end()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no family '", family, "'"));
  }
  Rows rows;
  for (const Arithmetic& arithmetic : found->arithmetics) {
    QUOTIENT_ASSIGN_OR_RETURN(const auto specs, SpecsOf(*found, arithmetic.type));
    for (const KernelSpec& spec : specs) {
      QUOTIENT_ASSIGN_OR_RETURN(const Ways ways,
                                WaysToRun(spec, arithmetic.policy, gpu, kMostPlans));
      Data data(spec, &gpu, /*journal=*/nullptr);
      QUOTIENT_RETURN_IF_ERROR(data.Make());
      for (const Way& way : ways.list) {
        if (!IsOwn(way)) continue;
        QUOTIENT_ASSIGN_OR_RETURN(const Prepared kernel, PreparedKernel::Create(way, gpu));
        QUOTIENT_ASSIGN_OR_RETURN(const double error, data.ErrorOf(*kernel));
        rows.push_back({absl::StrCat(RowName(spec, arithmetic), " by ", kernel->name()),
                        absl::StrFormat("error %.1e", error), error <= arithmetic.tolerance});
      }
    }
  }
  return rows;
}

}  // namespace quotient::kernels::cuda::smoke
