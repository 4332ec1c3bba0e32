#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/cuda/interface/gpu.h"
#include "core/kernels/cuda/interface/plugin.h"
#include "core/kernels/cuda/load_plugin.h"
#include "core/model/dtype.h"
#include "tests/support/cuda/memory_code_cache.h"

namespace quotient::kernels::cuda {

// Base of tests that need a GPU. They are skipped, with the reason, if there is none.
class GpuTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  void SetUp() override;

  static Gpu& gpu() { return *gpu_; }
  // The code cache of gpu().
  static const MemoryCodeCache& cache() { return cache_; }

  // Captures the steps and replays them once.
  static absl::StatusOr<Reading> Run(const std::vector<Step>& steps);
  // Runs only this launcher, with the workspace that it needs.
  static absl::Status Run(const Launcher& launcher, std::vector<DeviceAddress> buffers);

 private:
  static absl::Status why_not_;
  static MemoryCodeCache& cache_;
  static Gpu* gpu_;  // Shared by all test suites.
};

// Elements of one type on the host, read and written as doubles.
class HostArray {
 public:
  HostArray(model::DType type, int64_t elements);
  // Elements uniform in [-1, 1), determined by the seed.
  static HostArray Random(model::DType type, int64_t elements, uint64_t seed);
  static HostArray Nans(model::DType type, int64_t elements);

  double Get(int64_t i) const;
  void Set(int64_t i, double value);
  int64_t elements() const { return elements_; }
  int64_t bytes() const { return static_cast<int64_t>(bytes_.size()); }
  void* data() { return bytes_.data(); }
  const void* data() const { return bytes_.data(); }

 private:
  model::DType type_;
  int64_t elements_;
  std::vector<uint8_t> bytes_;
};

// Copy an array to the device and back. Add a test failure if that fails.
std::unique_ptr<Buffer> Upload(Gpu& gpu, const HostArray& array);
void Download(Gpu& gpu, const Buffer& buffer, HostArray* to);

// |a - b| / |b| in the Euclidean norm. Infinite if `a` contains a NaN.
double RelativeError(const HostArray& a, const HostArray& b);
// The relative error that is allowed for a kernel of this type.
double Tolerance(model::DType type, MathPolicy policy);

// Writes a file to the folder $QUOTIENT_GPU_OUT. Does nothing if that is not set.
void WriteOut(const std::string& name, const std::string& text);

}  // namespace quotient::kernels::cuda
