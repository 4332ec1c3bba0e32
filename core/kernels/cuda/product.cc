// MatMul and Gemm: cuBLASLt with bias, residual and relu where the epilogue begins with them, and
// where the policy lets tensor cores work cuDNN with the whole epilogue.

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "core/kernels/cuda/epilogue.h"
#include "core/kernels/cuda/lower.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/fusion.h"
#include "core/kernels/layout.h"

namespace quotient::kernels::cuda {
namespace {

int64_t Volume(const std::vector<int64_t>& dims, size_t end) {
  return std::accumulate(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(end), int64_t{1},
                         std::multiplies<>());
}

// The product with its batch as one axis. Nothing where only some axes of the batch are broadcast,
// which no single step between members describes.
std::optional<MatmulProblem> DescribeMatMul(const KernelSpec& spec) {
  std::vector<int64_t> a = spec.inputs[0].type.dims();
  std::vector<int64_t> b = spec.inputs[1].type.dims();
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  MatmulProblem problem;
  problem.m = a[a.size() - 2];
  problem.k = a.back();
  problem.n = b.back();
  const int64_t a_batch = Volume(a, a.size() - 2), b_batch = Volume(b, b.size() - 2);
  if (b_batch == 1) {  // one large product instead of many small ones
    problem.m *= a_batch;
  } else {
    const std::vector<int64_t> a_lead(a.begin(), a.end() - 2), b_lead(b.begin(), b.end() - 2);
    problem.batch = std::max(a_batch, b_batch);
    const bool alike =
        a_batch == b_batch &&
        std::equal(a_lead.rbegin(), a_lead.rbegin() + std::min(a_lead.size(), b_lead.size()),
                   b_lead.rbegin());
    if (!alike && a_batch != 1) return std::nullopt;
    problem.a_step = a_batch == 1 ? 0 : problem.m * problem.k;
    problem.b_step = problem.k * problem.n;
  }
  problem.a_row = problem.k;
  problem.b_row = problem.d_row = problem.n;
  problem.d_step = problem.m * problem.n;
  return problem;
}

MatmulProblem DescribeGemm(const KernelSpec& spec) {
  const std::vector<int64_t> a = spec.inputs[0].type.dims(), b = spec.inputs[1].type.dims();
  MatmulProblem problem;
  problem.a_transposed = spec.attributes.GetInt("transA", 0) != 0;
  problem.b_transposed = spec.attributes.GetInt("transB", 0) != 0;
  problem.m = a[problem.a_transposed ? 1 : 0];
  problem.k = a[problem.a_transposed ? 0 : 1];
  problem.n = b[problem.b_transposed ? 0 : 1];
  problem.a_row = a[1];
  problem.b_row = b[1];
  problem.d_row = problem.n;
  problem.d_step = problem.m * problem.n;
  return problem;
}

bool HasAddend(const KernelSpec& spec) {
  return spec.op == "Gemm" && spec.inputs.size() > 2 &&
         spec.inputs[2].type.dtype != model::DType::kUndefined &&
         spec.attributes.GetFloat("beta", 1) != 0;
}

// A Gemm with factors is a Gemm without, and its factors as nodes of the epilogue would need values
// that a spec does not have.
bool HasFactors(const KernelSpec& spec) {
  return spec.op == "Gemm" && (spec.attributes.GetFloat("alpha", 1) != 1 ||
                               (HasAddend(spec) && spec.attributes.GetFloat("beta", 1) != 1));
}

// Something that is added: the third operand of a Gemm, or the operand of an Add.
struct Addend {
  int operand;
  Spread spread;
};

class Lowering {
 public:
  Lowering(const KernelSpec& spec, MathPolicy policy, MatmulProblem problem)
      : spec_(spec), problem_(problem), nodes_(EpilogueNodes(spec)) {
    problem_.type = spec.outputs[0].type.dtype;
    problem_.policy = policy;
    const int64_t m = problem_.m, n = problem_.n;
    frame_.full = {.type = problem_.type, .dims = {problem_.batch, m, n}, .strides = {m * n, n, 1}};
    frame_.channel_axis = 2;
    frame_.type = spec.outputs[0].type;
    frame_.model_channel_axis = ChannelAxis(spec.op, frame_.type.rank());
  }

  // cuBLASLt with the first additions and a relu behind them; the rest is ours.
  std::optional<Program> Blas() const {
    MatmulProblem problem = problem_;
    std::optional<int> bias, whole;
    const auto take = [&](const Addend& addend) {
      std::optional<int>& place = addend.spread == Spread::kChannel ? bias : whole;
      if (addend.spread != Spread::kChannel && addend.spread != Spread::kFull) return false;
      if (place.has_value()) return false;
      place = addend.operand;
      return true;
    };
    size_t taken = 0;
    if (HasAddend(spec_) && !take({2, SpreadOfOperand(2)})) return std::nullopt;
    while (taken < nodes_.size() && nodes_[taken].node->op == "Add" &&
           take({nodes_[taken].first_operand, SpreadOfOperand(nodes_[taken].first_operand)})) {
      ++taken;
    }
    if (taken < nodes_.size() && nodes_[taken].node->op == "Relu") {
      problem.relu = true;
      ++taken;
    }
    problem.has_bias = bias.has_value();
    problem.has_c = whole.has_value();
    const bool is_all = taken == nodes_.size();
    ProgramBuilder program(spec_, is_all ? "blas" : "blas+chain");
    const BufferRef target =
        is_all ? program.Output(0)
               : program.Temporary(StorageBytes(spec_.outputs[0].type, spec_.storage));
    Launch launch{problem, {program.Operand(0), program.Operand(1), target}};
    if (bias) launch.buffers.push_back(program.Operand(*bias));
    if (whole) launch.buffers.push_back(program.Operand(*whole));
    program.Add(std::move(launch));
    if (!is_all && !AddEpilogueChain(spec_, taken, target, program)) return std::nullopt;
    return std::move(program).Finish();
  }

  // cuDNN with everything.
  std::optional<Program> Dnn() const {
    if (!DnnTakes(nodes_, 0)) return std::nullopt;
    ProgramBuilder program(spec_, "dnn");
    DnnBuilder graph(problem_.policy);
    DnnNode product{.op = DnnOp::kProduct};
    product.inputs = {graph.AddBuffer(Factor(problem_.m, problem_.k, problem_.a_row,
                                             problem_.a_step, problem_.a_transposed),
                                      program.Operand(0)),
                      graph.AddBuffer(Factor(problem_.k, problem_.n, problem_.b_row,
                                             problem_.b_step, problem_.b_transposed),
                                      program.Operand(1))};
    const bool has_addend = HasAddend(spec_);
    const bool is_bare = nodes_.empty() && !has_addend;
    int running = product.output =
        is_bare ? graph.AddBuffer(frame_.full, program.Output(0)) : graph.AddVirtual(frame_.full);
    graph.Add(std::move(product));
    if (has_addend) {
      if (SpreadOfOperand(2) == Spread::kOther) return std::nullopt;
      const int addend = AddSpread(frame_, 2, program, graph);
      const int sum = nodes_.empty() ? graph.AddBuffer(frame_.full, program.Output(0))
                                     : graph.AddVirtual(frame_.full);
      graph.Add({.mode = DnnMode::kAdd, .inputs = {running, addend}, .output = sum});
      running = sum;
    }
    AddDnnEpilogue(nodes_, 0, frame_, running, program, graph);
    program.Add(std::move(graph).Finish());
    return std::move(program).Finish();
  }

 private:
  Spread SpreadOfOperand(int index) const {
    return SpreadOf(AllOperands(spec_)[index].type, frame_.type, frame_.model_channel_axis);
  }

  // Every member of the batch is there, or all are one.
  DnnTensor Factor(int64_t rows, int64_t columns, int64_t row, int64_t step,
                   bool transposed) const {
    const int64_t batch = step == 0 ? 1 : problem_.batch;
    const std::vector<int64_t> strides = transposed ? std::vector<int64_t>{rows * columns, 1, row}
                                                    : std::vector<int64_t>{rows * columns, row, 1};
    return {.type = problem_.type, .dims = {batch, rows, columns}, .strides = strides};
  }

  const KernelSpec& spec_;
  MatmulProblem problem_;
  const std::vector<EpilogueNode> nodes_;
  DnnFrame frame_;
};

}  // namespace

std::vector<Program> LowerProduct(const KernelSpec& spec, MathPolicy policy) {
  if ((spec.op != "MatMul" && spec.op != "Gemm") || spec.inputs.size() < 2 ||
      spec.outputs.size() != 1 || !IsOfOneFloatType(spec) || HasFactors(spec)) {
    return {};
  }
  const std::optional<MatmulProblem> problem =
      spec.op == "Gemm" ? DescribeGemm(spec) : DescribeMatMul(spec);
  if (!problem) return {};
  const Lowering lowering(spec, policy, *problem);
  std::vector<Program> programs;
  if (std::optional<Program> blas = lowering.Blas()) programs.push_back(*std::move(blas));
  // cuDNN has no product that keeps float32 as it is.
  const bool rounds =
      policy == MathPolicy::kTf32 || spec.outputs[0].type.dtype != model::DType::kFloat32;
  if (rounds) {
    if (std::optional<Program> dnn = lowering.Dnn()) programs.push_back(*std::move(dnn));
  }
  return programs;
}

}  // namespace quotient::kernels::cuda
