#include "tests/support/cuda/host_gpu.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "tests/support/cuda/emulator.h"
#include "tests/support/cuda/host_library.h"

namespace quotient::kernels::cuda {
namespace {

constexpr char kExact[] = "exact";
constexpr char kRounded[] = "rounded";
constexpr char kWrong[] = "wrong";
constexpr char kWrongToo[] = "wrong,too";
constexpr int64_t kWorkspaceBytes = 64;

bool IsWrong(const std::string& plan) { return plan == kWrong || plan == kWrongToo; }

void* Pointer(DeviceAddress address) { return reinterpret_cast<void*>(address); }

class HostBuffer : public Buffer {
 public:
  explicit HostBuffer(int64_t bytes)
      : data_(std::aligned_alloc(256, static_cast<size_t>((bytes + 511) / 256 * 256))) {}
  ~HostBuffer() override { std::free(data_); }
  DeviceAddress address() const override { return reinterpret_cast<DeviceAddress>(data_); }

 private:
  void* const data_;
};

// Runs a problem on host memory. Buffers are in the order of the launcher's buffers.
class HostLauncher : public Launcher {
 public:
  virtual absl::Status Run(std::span<void* const> buffers) const = 0;
  virtual double us() const { return 1; }
  int64_t workspace_bytes() const override { return 0; }
};

template <typename Problem>
class LibraryLauncher : public HostLauncher {
 public:
  LibraryLauncher(Problem problem, std::string plan)
      : problem_(std::move(problem)), plan_(std::move(plan)), rounded_(plan_ == kRounded) {}

  absl::Status Run(std::span<void* const> buffers) const override {
    if (IsWrong(plan_)) return absl::OkStatus();  // Outputs stay as they were.
    if constexpr (std::is_same_v<Problem, DnnGraph>) {
      return ComputeOnHost(problem_, buffers, rounded_);
    } else {
      ComputeOnHost(problem_, buffers, rounded_);
      return absl::OkStatus();
    }
  }
  double us() const override { return IsWrong(plan_) ? 0.25 : rounded_ ? 0.5 : 1; }
  int64_t workspace_bytes() const override { return kWorkspaceBytes; }

 private:
  const Problem problem_;
  const std::string plan_;
  const bool rounded_;
};

// Our own kernels that the tests of this process have needed so far.
class Emulations {
 public:
  static Emulations& Get() {
    static auto& all = *new Emulations;
    return all;
  }

  // Compiles the new ones among these kernels together.
  absl::Status Compile(const std::vector<const SourceKernel*>& kernels) {
    const std::lock_guard lock(mutex_);
    std::vector<SourceKernel> fresh;
    for (const SourceKernel* kernel : kernels) {
      if (by_source_.count(kernel->source) == 0 &&
          std::find(fresh.begin(), fresh.end(), *kernel) == fresh.end()) {
        fresh.push_back(*kernel);
      }
    }
    if (fresh.empty()) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<EmulatedKernel> compiled, Emulate(fresh));
    for (size_t i = 0; i < fresh.size(); ++i) {
      by_source_.insert_or_assign(fresh[i].source, compiled[i]);
    }
    return absl::OkStatus();
  }

  EmulatedKernel Find(const SourceKernel& kernel) const {
    const std::lock_guard lock(mutex_);
    return by_source_.at(kernel.source);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, EmulatedKernel> by_source_;
};

class SourceLauncher : public HostLauncher {
 public:
  explicit SourceLauncher(SourceKernel kernel) : kernel_(std::move(kernel)) {}

  const SourceKernel& kernel() const { return kernel_; }
  absl::Status Run(std::span<void* const> buffers) const override {
    return Emulations::Get().Find(kernel_).Run(buffers);
  }

 private:
  const SourceKernel kernel_;
};

class CallLauncher : public HostLauncher {
 public:
  explicit CallLauncher(HostCall call) : call_(std::move(call)) {}

  absl::Status Run(std::span<void* const> buffers) const override {
    const size_t inputs = call_.input_bytes.size();
    const std::vector<const void*> read(buffers.begin(), buffers.begin() + inputs);
    call_.run(read, buffers.subspan(inputs));
    return absl::OkStatus();
  }

 private:
  const HostCall call_;
};

class HostReplay : public Replay {
 public:
  explicit HostReplay(std::span<const Step> steps) : steps_(steps.begin(), steps.end()) {}

  absl::Status Prepare() {
    std::vector<const SourceKernel*> kernels;
    for (const Step& step : steps_) {
      if (const auto* source = dynamic_cast<const SourceLauncher*>(step.launcher)) {
        kernels.push_back(&source->kernel());
      }
    }
    return Emulations::Get().Compile(kernels);
  }

  absl::StatusOr<Reading> Run() override {
    Reading reading;
    std::vector<bool> done(steps_.size(), false);
    for (size_t count = 0; count < steps_.size(); ++count) {
      const std::vector<size_t> ready = Ready(done);
      const size_t next = ready[rng_.Below(ready.size())];
      const auto& launcher = static_cast<const HostLauncher&>(*steps_[next].launcher);
      if (launcher.workspace_bytes() > 0) {  // Simulates that the launcher writes to its workspace.
        std::memset(Pointer(steps_[next].workspace), 0xff,
                    static_cast<size_t>(launcher.workspace_bytes()));
      }
      std::vector<void*> buffers;
      for (const DeviceAddress address : steps_[next].buffers) {
        buffers.push_back(Pointer(address));
      }
      QUOTIENT_RETURN_IF_ERROR(launcher.Run(buffers));
      reading.us += launcher.us();
      done[next] = true;
    }
    return reading;
  }

 private:
  // The steps that lanes and dependencies allow to run next.
  std::vector<size_t> Ready(const std::vector<bool>& done) const {
    std::vector<size_t> ready;
    std::vector<int> blocked;  // Lanes with an earlier step that is not done.
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (done[i]) continue;
      const bool lane_free =
          std::find(blocked.begin(), blocked.end(), steps_[i].lane) == blocked.end();
      const bool inputs_done = std::all_of(steps_[i].after.begin(), steps_[i].after.end(),
                                           [&](int earlier) { return done[earlier]; });
      if (lane_free && inputs_done) ready.push_back(i);
      blocked.push_back(steps_[i].lane);
    }
    return ready;
  }

  const std::vector<Step> steps_;
  Rng rng_{1};
};

class HostGpu : public Gpu {
 public:
  explicit HostGpu(bool has_wrong_plans) : has_wrong_plans_(has_wrong_plans) {
    facts_.name = "host";
    facts_.compute_capability = 90;
    facts_.processors = 1;
    facts_.memory_bytes = int64_t{1} << 30;
    facts_.l2_bytes = 1 << 20;
  }

  const GpuFacts& facts() const override { return facts_; }
  absl::Status health() const override { return absl::OkStatus(); }
  int ClockMhz() override { return 1980; }

  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t bytes) override {
    if (bytes > facts_.memory_bytes) return absl::ResourceExhaustedError("host gpu: memory");
    return std::make_unique<HostBuffer>(bytes);
  }
  absl::Status Upload(DeviceAddress to, const void* from, int64_t bytes) override {
    std::memcpy(Pointer(to), from, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  absl::Status Download(void* to, DeviceAddress from, int64_t bytes) override {
    std::memcpy(to, Pointer(from), static_cast<size_t>(bytes));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<LibraryPlan>> Plans(const MatmulProblem& problem) override {
    return AllPlans(problem.policy, problem.type == model::DType::kFloat32);
  }
  absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph& graph) override {
    return AllPlans(graph.policy, MultipliesFloat32(graph));
  }

  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const SourceKernel& kernel) override {
    return std::make_unique<SourceLauncher>(kernel);
  }
  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const MatmulProblem& problem,
                                                    const std::string& plan) override {
    return PrepareLibrary(problem, plan);
  }
  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const DnnGraph& graph,
                                                    const std::string& plan) override {
    return PrepareLibrary(graph, plan);
  }
  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(HostCall call) override {
    return std::make_unique<CallLauncher>(std::move(call));
  }

  absl::StatusOr<std::unique_ptr<Replay>> Capture(std::span<const Step> steps) override {
    auto replay = std::make_unique<HostReplay>(steps);
    QUOTIENT_RETURN_IF_ERROR(replay->Prepare());
    return replay;
  }

 private:
  std::vector<LibraryPlan> AllPlans(MathPolicy policy, bool multiplies_float32) const {
    std::vector<LibraryPlan> plans = {{.name = kExact, .workspace_bytes = kWorkspaceBytes}};
    if (policy == MathPolicy::kTf32 || !multiplies_float32) {
      plans.push_back({.name = kRounded,
                       .workspace_bytes = kWorkspaceBytes,
                       .tensor_cores = multiplies_float32});
    }
    if (has_wrong_plans_) {
      for (const char* name : {kWrong, kWrongToo}) {
        plans.push_back({.name = name, .workspace_bytes = kWorkspaceBytes});
      }
    }
    return plans;
  }

  template <typename Problem>
  static absl::StatusOr<std::unique_ptr<Launcher>> PrepareLibrary(const Problem& problem,
                                                                  const std::string& plan) {
    if (plan != kExact && plan != kRounded && !IsWrong(plan)) {
      return absl::UnimplementedError(absl::StrCat("host gpu: no plan ", plan));
    }
    return std::make_unique<LibraryLauncher<Problem>>(problem, plan);
  }

  const bool has_wrong_plans_;
  GpuFacts facts_;
};

}  // namespace

std::unique_ptr<Gpu> NewHostGpu(bool has_wrong_plans) {
  return std::make_unique<HostGpu>(has_wrong_plans);
}

}  // namespace quotient::kernels::cuda
