#include "core/kernels/cuda/plugin/cublaslt.h"

#include <cublasLt.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/plugin/cublaslt_plan_name.h"
#include "core/kernels/cuda/plugin/launcher.h"

namespace quotient::kernels::cuda {

namespace {

// The alignment of all buffers: views begin at such addresses (core/kernels/view.h), and a thread
// loads at most 16 bytes at once.
constexpr uint32_t kAlignmentBytes = 16;
constexpr uint64_t kMaxWorkspaceBytes = uint64_t{32} << 20;
constexpr int kMaxPlans = 16;
// The address assumed for operands that do not exist yet, because cuBLASLt checks alignment.
constexpr uintptr_t kAlignedAddress = 256;

absl::Status BlasStatus(cublasStatus_t status, absl::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  const std::string message =
      absl::StrCat(call.substr(0, call.find('(')), ": ", cublasLtGetStatusString(status));
  switch (status) {
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return absl::UnimplementedError(message);
    case CUBLAS_STATUS_ALLOC_FAILED:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::InternalError(message);
  }
}

#define QUOTIENT_BLAS_RETURN_IF_ERROR(call) QUOTIENT_RETURN_IF_ERROR(BlasStatus((call), #call))

absl::StatusOr<cudaDataType_t> DataType(model::DType type) {
  switch (type) {
    case model::DType::kFloat32:
      return CUDA_R_32F;
    case model::DType::kFloat16:
      return CUDA_R_16F;
    case model::DType::kBfloat16:
      return CUDA_R_16BF;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("cuBLASLt: a product of ", std::string(model::DTypeName(type))));
  }
}

bool UsesTf32(const MatmulProblem& problem) {
  return problem.type == model::DType::kFloat32 && problem.policy == MathPolicy::kTf32;
}

// How the parts of a product that is cut along k may be added: in float32. This excludes schemes
// that write 16-bit floats in between.
uint32_t ReductionSchemes(const MatmulProblem& problem) {
  return problem.type == model::DType::kFloat32
             ? CUBLASLT_REDUCTION_SCHEME_MASK
             : CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
}

cublasLtEpilogue_t Epilogue(const MatmulProblem& problem) {
  if (problem.has_bias) {
    return problem.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  }
  return problem.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

// A problem in cuBLASLt's terms. cuBLASLt's matrices are column-major, so it sees a row-major
// matrix as its transpose and computes D^T = B^T A^T: its first operand is B, and m and n are
// exchanged. It adds the bias (n elements) along its rows, which is then right.
class Description {
 public:
  static absl::StatusOr<Description> Of(const MatmulProblem& problem, const void* bias) {
    QUOTIENT_ASSIGN_OR_RETURN(const cudaDataType_t type, DataType(problem.type));
    Description description;
    QUOTIENT_RETURN_IF_ERROR(description.SetOperation(problem, bias));
    QUOTIENT_RETURN_IF_ERROR(
        SetLayout({type, problem.n, problem.k, problem.b_row, problem.b_step, problem.b_transposed},
                  problem.batch, &description.first));
    QUOTIENT_RETURN_IF_ERROR(
        SetLayout({type, problem.k, problem.m, problem.a_row, problem.a_step, problem.a_transposed},
                  problem.batch, &description.second));
    QUOTIENT_RETURN_IF_ERROR(
        SetLayout({type, problem.n, problem.m, problem.d_row, problem.d_step, false}, problem.batch,
                  &description.result));
    return description;
  }

  cublasLtMatmulDescOpaque_t operation;
  cublasLtMatrixLayoutOpaque_t first;
  cublasLtMatrixLayoutOpaque_t second;
  cublasLtMatrixLayoutOpaque_t result;

 private:
  struct Matrix {
    cudaDataType_t type;
    int64_t rows;  // In cuBLASLt's terms, after transposition.
    int64_t columns;
    int64_t leading;
    int64_t step;
    bool transposed;
  };

  absl::Status SetOperation(const MatmulProblem& problem, const void* bias) {
    const cublasComputeType_t compute =
        UsesTf32(problem) ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    QUOTIENT_BLAS_RETURN_IF_ERROR(cublasLtMatmulDescInit(&operation, compute, CUDA_R_32F));
    const cublasOperation_t first_op = problem.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second_op = problem.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    QUOTIENT_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_TRANSA, first_op));
    QUOTIENT_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_TRANSB, second_op));
    QUOTIENT_RETURN_IF_ERROR(Set(CUBLASLT_MATMUL_DESC_EPILOGUE, Epilogue(problem)));
    if (!problem.has_bias) return absl::OkStatus();
    return Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }

  template <typename T>
  absl::Status Set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    QUOTIENT_BLAS_RETURN_IF_ERROR(
        cublasLtMatmulDescSetAttribute(&operation, attribute, &value, sizeof(value)));
    return absl::OkStatus();
  }

  static absl::Status SetLayout(const Matrix& matrix, int64_t batch,
                                cublasLtMatrixLayoutOpaque_t* layout) {
    int64_t rows = matrix.rows;
    int64_t columns = matrix.columns;
    if (matrix.transposed) std::swap(rows, columns);
    QUOTIENT_BLAS_RETURN_IF_ERROR(
        cublasLtMatrixLayoutInit(layout, matrix.type, static_cast<uint64_t>(rows),
                                 static_cast<uint64_t>(columns), matrix.leading));
    const auto count = static_cast<int32_t>(batch);
    QUOTIENT_BLAS_RETURN_IF_ERROR(cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)));
    QUOTIENT_BLAS_RETURN_IF_ERROR(cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix.step, sizeof(matrix.step)));
    return absl::OkStatus();
  }
};

class MatmulLauncher : public StreamLauncher {
 public:
  MatmulLauncher(cublasLtHandle_t handle, const MatmulProblem& problem,
                 const cublasLtMatmulHeuristicResult_t& choice)
      : handle_(handle),
        problem_(problem),
        algorithm_(choice.algo),
        workspace_bytes_(choice.workspaceSize) {}

  int64_t workspace_bytes() const override { return static_cast<int64_t>(workspace_bytes_); }

  absl::Status Enqueue(const Step& step, cudaStream_t stream) const override {
    const size_t expected = 3 + (problem_.has_bias ? 1 : 0) + (problem_.has_c ? 1 : 0);
    if (step.buffers.size() != expected) {
      return absl::InvalidArgumentError(
          absl::StrCat("a product of ", expected, " buffers is given ", step.buffers.size()));
    }
    const auto at = [&step](size_t i) { return reinterpret_cast<void*>(step.buffers[i]); };
    void* const result = at(2);
    const void* const bias = problem_.has_bias ? at(3) : nullptr;
    const void* const addend = at(problem_.has_c ? step.buffers.size() - 1 : 2);
    QUOTIENT_ASSIGN_OR_RETURN(Description description, Description::Of(problem_, bias));
    const float beta = problem_.has_c ? problem_.beta : 0;
    QUOTIENT_BLAS_RETURN_IF_ERROR(cublasLtMatmul(
        handle_, &description.operation, &problem_.alpha, at(1), &description.first, at(0),
        &description.second, &beta, addend, &description.result, result, &description.result,
        &algorithm_, reinterpret_cast<void*>(step.workspace), workspace_bytes_, stream));
    return absl::OkStatus();
  }

 private:
  const cublasLtHandle_t handle_;
  const MatmulProblem problem_;
  const cublasLtMatmulAlgo_t algorithm_;
  const size_t workspace_bytes_;
};

class OpenCublasLt : public CublasLt {
 public:
  explicit OpenCublasLt(cublasLtHandle_t handle) : handle_(handle) {}
  ~OpenCublasLt() override { cublasLtDestroy(handle_); }

  absl::StatusOr<std::vector<LibraryPlan>> Plans(const MatmulProblem& problem) const override {
    QUOTIENT_ASSIGN_OR_RETURN(const auto choices, Choices(problem));
    const std::vector<std::string> names = NamesOf(choices);
    WarnOfCollisions(names);
    std::vector<LibraryPlan> plans;
    for (size_t i = 0; i < choices.size(); ++i) {
      LibraryPlan plan;
      plan.name = names[i];
      plan.workspace_bytes = static_cast<int64_t>(choices[i].workspaceSize);
      // What the compute type allows. By cuBLASLt's contract the other float32 type is exact.
      plan.tensor_cores = UsesTf32(problem);
      const auto same = [&plan](const LibraryPlan& other) { return other.name == plan.name; };
      if (std::none_of(plans.begin(), plans.end(), same)) plans.push_back(std::move(plan));
    }
    return plans;
  }

  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const MatmulProblem& problem,
                                                    const std::string& plan) const override {
    QUOTIENT_ASSIGN_OR_RETURN(const auto choices, Choices(problem));
    const std::vector<std::string> names = NamesOf(choices);
    const auto found = std::find(names.begin(), names.end(), plan);
    if (found != names.end()) {
      return std::make_unique<MatmulLauncher>(handle_, problem, choices[found - names.begin()]);
    }
    // Another device may rank it first, but this one no longer does, so it is made from its name.
    QUOTIENT_ASSIGN_OR_RETURN(const auto choice, Rebuild(problem, plan));
    return std::make_unique<MatmulLauncher>(handle_, problem, choice);
  }

 private:
  static std::vector<std::string> NamesOf(
      const std::vector<cublasLtMatmulHeuristicResult_t>& choices) {
    std::vector<cublasLtMatmulAlgo_t> algorithms;
    for (const cublasLtMatmulHeuristicResult_t& choice : choices) {
      algorithms.push_back(choice.algo);
    }
    return MatmulPlanNames(algorithms);
  }

  // In cuBLASLt's order, best first. Takes microseconds.
  absl::StatusOr<std::vector<cublasLtMatmulHeuristicResult_t>> Choices(
      const MatmulProblem& problem) const {
    QUOTIENT_ASSIGN_OR_RETURN(
        Description description,
        Description::Of(problem, reinterpret_cast<const void*>(kAlignedAddress)));
    cublasLtMatmulPreferenceOpaque_t preference;
    QUOTIENT_BLAS_RETURN_IF_ERROR(cublasLtMatmulPreferenceInit(&preference));
    QUOTIENT_BLAS_RETURN_IF_ERROR(
        cublasLtMatmulPreferenceSetAttribute(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &kMaxWorkspaceBytes, sizeof(kMaxWorkspaceBytes)));
    const uint32_t schemes = ReductionSchemes(problem);
    QUOTIENT_BLAS_RETURN_IF_ERROR(cublasLtMatmulPreferenceSetAttribute(
        &preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof(schemes)));
    for (const auto matrix :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      QUOTIENT_BLAS_RETURN_IF_ERROR(cublasLtMatmulPreferenceSetAttribute(
          &preference, matrix, &kAlignmentBytes, sizeof(kAlignmentBytes)));
    }
    std::vector<cublasLtMatmulHeuristicResult_t> choices(kMaxPlans);
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle_, &description.operation, &description.first, &description.second,
        &description.result, &description.result, &preference, kMaxPlans, choices.data(), &count);
    // No algorithm is not a failure; there are no plans then.
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) {
      return std::vector<cublasLtMatmulHeuristicResult_t>();
    }
    QUOTIENT_RETURN_IF_ERROR(BlasStatus(status, "cublasLtMatmulAlgoGetHeuristic"));
    choices.resize(static_cast<size_t>(count));
    std::erase_if(choices,
                  [](const auto& choice) { return choice.state != CUBLAS_STATUS_SUCCESS; });
    return choices;
  }

  absl::StatusOr<cublasLtMatmulHeuristicResult_t> Rebuild(const MatmulProblem& problem,
                                                          const std::string& plan) const {
    QUOTIENT_ASSIGN_OR_RETURN(const Configuration fields, ParseMatmulPlanName(plan));
    QUOTIENT_ASSIGN_OR_RETURN(const cudaDataType_t type, DataType(problem.type));
    QUOTIENT_ASSIGN_OR_RETURN(
        Description description,
        Description::Of(problem, reinterpret_cast<const void*>(kAlignedAddress)));
    cublasLtMatmulHeuristicResult_t choice = {};
    QUOTIENT_BLAS_RETURN_IF_ERROR(cublasLtMatmulAlgoInit(
        handle_, UsesTf32(problem) ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F,
        type, type, type, type, static_cast<int>(fields.front().value), &choice.algo));
    for (const auto& [field, value] : fields) {
      if (field->attribute == CUBLASLT_ALGO_CONFIG_ID) continue;
      if (GetConfig(choice.algo, *field) == value) continue;
      QUOTIENT_BLAS_RETURN_IF_ERROR(cublasLtMatmulAlgoConfigSetAttribute(
          &choice.algo, field->attribute, &value, field->bytes));
    }
    const cublasLtMatmulAlgo_t algorithm = choice.algo;
    QUOTIENT_BLAS_RETURN_IF_ERROR(cublasLtMatmulAlgoCheck(
        handle_, &description.operation, &description.first, &description.second,
        &description.result, &description.result, &algorithm, &choice));
    choice.algo = algorithm;
    return choice;
  }

  const cublasLtHandle_t handle_;
};

}  // namespace

int CublasLtVersion() { return static_cast<int>(cublasLtGetVersion()); }

absl::StatusOr<std::unique_ptr<CublasLt>> CublasLt::Create() {
  cublasLtHandle_t handle = nullptr;
  QUOTIENT_BLAS_RETURN_IF_ERROR(cublasLtCreate(&handle));
  return std::make_unique<OpenCublasLt>(handle);
}

}  // namespace quotient::kernels::cuda
