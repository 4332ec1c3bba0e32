// cuBLASLt on a GPU against plain loops: every type, policy, transposition and epilogue.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/core/kernels/cuda/gpu/gpu_under_test.h"
#include "tests/support/cuda/host_library.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {

namespace {

std::string Name(const MatmulProblem& p) {
  return absl::StrCat(std::string(model::DTypeName(p.type)),
                      p.policy == MathPolicy::kStrict32 ? " strict32" : " tf32", " ", p.m, "x", p.k,
                      "x", p.n, " batch ", p.batch, p.a_transposed ? " A^T" : "",
                      p.b_transposed ? " B^T" : "", p.b_step == 0 ? " shared B" : "",
                      p.has_bias ? " bias" : "", p.has_c ? " C" : "", p.relu ? " relu" : "",
                      " alpha ", p.alpha, " beta ", p.beta);
}

// Rows packed, or with `gap` elements between them.
MatmulProblem Problem(int64_t m, int64_t n, int64_t k, int64_t gap) {
  MatmulProblem p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a_row = k + gap;
  p.b_row = n + gap;
  p.d_row = n + gap;
  return p;
}

void Transpose(bool a, bool b, MatmulProblem* p) {
  const int64_t gap = p->a_row - p->k;
  p->a_transposed = a;
  p->b_transposed = b;
  if (a) p->a_row = p->m + gap;
  if (b) p->b_row = p->k + gap;
}

void SetBatch(int64_t batch, bool shared_b, MatmulProblem* p) {
  p->batch = batch;
  p->a_step = p->a_row * (p->a_transposed ? p->k : p->m);
  p->b_step = shared_b ? 0 : p->b_row * (p->b_transposed ? p->n : p->k);
  p->d_step = p->d_row * p->m;
}

// In the order of the problem's buffers.
std::vector<HostArray> Operands(const MatmulProblem& p) {
  const int64_t a = std::max(p.a_step, p.a_row * (p.a_transposed ? p.k : p.m)) * p.batch;
  const int64_t b = std::max(p.b_step, p.b_row * (p.b_transposed ? p.n : p.k)) * p.batch;
  const int64_t d = std::max(p.d_step, p.d_row * p.m) * p.batch;
  std::vector<HostArray> arrays = {HostArray::Random(p.type, a, 1), HostArray::Random(p.type, b, 2),
                                   HostArray::Random(p.type, d, 3)};
  if (p.has_bias) arrays.push_back(HostArray::Random(p.type, p.n, 4));
  if (p.has_c) arrays.push_back(HostArray::Random(p.type, d, 5));
  return arrays;
}

class GpuProductTest : public GpuTest {
 protected:
  // All plans for it; what lies between rows must stay as it is.
  void Check(const MatmulProblem& p) {
    const auto plans = gpu().Plans(p);
    ASSERT_OK(plans) << Name(p);
    EXPECT_FALSE(plans->empty()) << Name(p);
    std::vector<HostArray> expected = Operands(p);
    std::vector<void*> host;
    for (HostArray& array : expected) host.push_back(array.data());
    ComputeOnHost(p, host, /*rounded=*/false);
    for (const LibraryPlan& plan : *plans) {
      const std::string name = absl::StrCat(Name(p), " by ", plan.name);
      auto launcher = gpu().Prepare(p, plan.name);
      ASSERT_OK(launcher) << name;
      EXPECT_EQ((*launcher)->workspace_bytes(), plan.workspace_bytes) << name;
      worst_ = std::max(worst_, Compare(p, **launcher, expected[2], name));
      ++plans_;
    }
  }

  double Compare(const MatmulProblem& p, const Launcher& launcher, const HostArray& expected,
                 const std::string& name) {
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<DeviceAddress> addresses;
    for (const HostArray& array : Operands(p)) {
      buffers.push_back(Upload(gpu(), array));
      addresses.push_back(buffers.back()->address());
    }
    EXPECT_OK(Run(launcher, addresses)) << name;
    HostArray result(p.type, expected.elements());
    Download(gpu(), *buffers[2], &result);
    const double error = RelativeError(result, expected);
    EXPECT_LT(error, Tolerance(p.type, p.policy)) << name;
    return error;
  }

  void TearDown() override {
    if (plans_ > 0) std::printf("%d plans, largest error %.2e\n", plans_, worst_);
  }

  double worst_ = 0;
  int plans_ = 0;
};

struct Arithmetic {
  model::DType type;
  MathPolicy policy;
};

class GpuProductsOfTest : public GpuProductTest, public ::testing::WithParamInterface<Arithmetic> {
 protected:
  MatmulProblem Typed(MatmulProblem p) const {
    p.type = GetParam().type;
    p.policy = GetParam().policy;
    return p;
  }
};

TEST_P(GpuProductsOfTest, Transposed) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      MatmulProblem p = Typed(Problem(48, 64, 32, 0));
      Transpose(a, b, &p);
      Check(p);
      SetBatch(3, false, &p);
      Check(p);
      SetBatch(3, true, &p);
      Check(p);
    }
  }
}

TEST_P(GpuProductsOfTest, WithEpilogues) {
  for (const bool bias : {false, true}) {
    for (const bool c : {false, true}) {
      for (const bool relu : {false, true}) {
        MatmulProblem p = Typed(Problem(48, 64, 32, 0));
        p.has_bias = bias;
        p.has_c = c;
        p.relu = relu;
        Check(p);
        SetBatch(3, false, &p);
        Check(p);
      }
    }
  }
}

TEST_P(GpuProductsOfTest, WithFactors) {
  for (const bool bias : {false, true}) {
    MatmulProblem p = Typed(Problem(48, 64, 32, 0));
    p.alpha = 0.375;
    p.has_bias = bias;
    Check(p);
    p.has_c = true;
    p.beta = -0.5;
    Check(p);
  }
}

TEST_P(GpuProductsOfTest, OfOddSizes) {
  Check(Typed(Problem(33, 17, 65, 0)));
  Check(Typed(Problem(1, 512, 256, 0)));
  Check(Typed(Problem(512, 1, 256, 0)));
  Check(Typed(Problem(7, 5, 1, 0)));
}

TEST_P(GpuProductsOfTest, InRowsOfALargerMatrix) {
  MatmulProblem p = Typed(Problem(48, 64, 32, 16));
  Check(p);
  Transpose(true, true, &p);
  Check(p);
}

INSTANTIATE_TEST_SUITE_P(Types, GpuProductsOfTest,
                         ::testing::Values(Arithmetic{model::DType::kFloat32, MathPolicy::kTf32},
                                           Arithmetic{model::DType::kFloat32,
                                                      MathPolicy::kStrict32},
                                           Arithmetic{model::DType::kFloat16, MathPolicy::kTf32},
                                           Arithmetic{model::DType::kBfloat16, MathPolicy::kTf32}),
                         [](const auto& info) {
                           return std::string(model::DTypeName(info.param.type)) +
                                  (info.param.policy == MathPolicy::kStrict32 ? "_strict" : "");
                         });

TEST_F(GpuProductTest, NamesAreStableAndAreEnough) {
  const MatmulProblem p = Problem(512, 512, 512, 0);
  ASSERT_OK_AND_ASSIGN(const std::vector<LibraryPlan> one, gpu().Plans(p));
  ASSERT_OK_AND_ASSIGN(const std::vector<LibraryPlan> two, gpu().Plans(p));
  ASSERT_EQ(one.size(), two.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].name, two[i].name);
  // A name that is not among this problem's first choices is taken at its word: most algorithms
  // for one size can do another.
  const MatmulProblem other = Problem(1024, 2048, 512, 0);
  int rebuilt = 0;
  for (const LibraryPlan& plan : one) rebuilt += gpu().Prepare(other, plan.name).ok() ? 1 : 0;
  std::printf("%d of %zu plans for one size are plans for another\n", rebuilt, one.size());
  EXPECT_GT(rebuilt, 0);
}

TEST_F(GpuProductTest, RefusesNamesOfNoPlan) {
  const MatmulProblem p = Problem(64, 64, 64, 0);
  EXPECT_FALSE(gpu().Prepare(p, "").ok());
  EXPECT_FALSE(gpu().Prepare(p, "algo=1").ok());
  EXPECT_FALSE(gpu()
                   .Prepare(p,
                            "algo=99999,tile=0,stages=0,splitk=0,reduction=0,swizzle=0,"
                            "option=0,inner=0,cluster=0")
                   .ok());
}

}  // namespace

}  // namespace quotient::kernels::cuda
