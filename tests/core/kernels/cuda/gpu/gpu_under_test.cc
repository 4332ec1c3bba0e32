#include "tests/core/kernels/cuda/gpu/gpu_under_test.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "core/base/float16.h"
#include "core/base/reason.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {

absl::Status GpuTest::why_not_;
MemoryCodeCache& GpuTest::cache_ = *new MemoryCodeCache();
Gpu* GpuTest::gpu_ = nullptr;

void GpuTest::SetUpTestSuite() {
  if (gpu_ != nullptr || !why_not_.ok()) return;
  absl::StatusOr<Plugin*> plugin = LoadPlugin("");
  why_not_ = plugin.status();
  if (!plugin.ok()) return;
  absl::StatusOr<std::unique_ptr<Gpu>> gpu = (*plugin)->OpenGpu(0, /*tf32_override=*/"", &cache_);
  why_not_ = gpu.status();
  if (gpu.ok()) gpu_ = gpu->release();
}

void GpuTest::SetUp() {
  if (gpu_ != nullptr) return;
  // Whoever says where results go knows that there is a GPU: a test that is skipped shows nothing.
  const bool is_expected = std::getenv("QUOTIENT_GPU_OUT") != nullptr;
  if (!is_expected && GetReason(why_not_) == Reason::kDeviceNotPresent) {
    GTEST_SKIP() << why_not_.message();
  }
  FAIL() << why_not_;
}

absl::StatusOr<Reading> GpuTest::Run(const std::vector<Step>& steps) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<Replay> replay, gpu_->Capture(steps));
  return replay->Run();
}

absl::Status GpuTest::Run(const Launcher& launcher, std::vector<DeviceAddress> buffers) {
  QUOTIENT_ASSIGN_OR_RETURN(const auto workspace, gpu_->Allocate(launcher.workspace_bytes()));
  Step step;
  step.launcher = &launcher;
  step.buffers = std::move(buffers);
  step.workspace = workspace->address();
  return Run({step}).status();
}

HostArray::HostArray(model::DType type, int64_t elements)
    : type_(type),
      elements_(elements),
      bytes_(static_cast<size_t>(elements * model::DTypeBits(type) / 8)) {}

HostArray HostArray::Random(model::DType type, int64_t elements, uint64_t seed) {
  HostArray array(type, elements);
  Rng rng(seed);
  for (int64_t i = 0; i < elements; ++i) array.Set(i, rng.Uniform(-1, 1));
  return array;
}

HostArray HostArray::Nans(model::DType type, int64_t elements) {
  HostArray array(type, elements);
  for (int64_t i = 0; i < elements; ++i) array.Set(i, std::numeric_limits<double>::quiet_NaN());
  return array;
}

double HostArray::Get(int64_t i) const {
  const auto at = static_cast<size_t>(i);
  if (type_ == model::DType::kFloat32) {
    float value;
    std::memcpy(&value, &bytes_[at * sizeof(value)], sizeof(value));
    return value;
  }
  uint16_t value;
  std::memcpy(&value, &bytes_[at * sizeof(value)], sizeof(value));
  return type_ == model::DType::kFloat16 ? Float16ToFloat(value) : Bfloat16ToFloat(value);
}

void HostArray::Set(int64_t i, double value) {
  const auto at = static_cast<size_t>(i);
  const auto narrow = static_cast<float>(value);
  if (type_ == model::DType::kFloat32) {
    std::memcpy(&bytes_[at * sizeof(narrow)], &narrow, sizeof(narrow));
    return;
  }
  const uint16_t half =
      type_ == model::DType::kFloat16 ? FloatToFloat16(narrow) : FloatToBfloat16(narrow);
  std::memcpy(&bytes_[at * sizeof(half)], &half, sizeof(half));
}

std::unique_ptr<Buffer> Upload(Gpu& gpu, const HostArray& array) {
  auto buffer = gpu.Allocate(array.bytes());
  EXPECT_OK(buffer);
  if (!buffer.ok()) return nullptr;
  EXPECT_OK(gpu.Upload((*buffer)->address(), array.data(), array.bytes()));
  return *std::move(buffer);
}

void Download(Gpu& gpu, const Buffer& buffer, HostArray* to) {
  EXPECT_OK(gpu.Download(to->data(), buffer.address(), to->bytes()));
}

double RelativeError(const HostArray& a, const HostArray& b) {
  double difference = 0;
  double size = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    if (std::isnan(a.Get(i))) return std::numeric_limits<double>::infinity();
    difference += (a.Get(i) - b.Get(i)) * (a.Get(i) - b.Get(i));
    size += b.Get(i) * b.Get(i);
  }
  return std::sqrt(difference / size);
}

double Tolerance(model::DType type, MathPolicy policy) {
  if (type == model::DType::kFloat16) return 1e-2;
  if (type == model::DType::kBfloat16) return 2e-2;
  return policy == MathPolicy::kStrict32 ? 1e-5 : 2e-3;
}

void WriteOut(const std::string& name, const std::string& text) {
  const char* folder = std::getenv("QUOTIENT_GPU_OUT");
  if (folder == nullptr) return;
  std::ofstream(std::string(folder) + "/" + name) << text;
}

}  // namespace quotient::kernels::cuda
