// MatMul, Gemm, and Conv where it is a product of pixels and weights: cuBLASLt, with a Gemm's
// factors, and with bias, residual and relu if the epilogue begins with them; the rest runs in one
// of Quotient's kernels. If the policy allows tensor cores, also cuDNN with the whole epilogue.

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/kernels/cuda/epilogue.h"
#include "core/kernels/cuda/image.h"
#include "core/kernels/cuda/lower.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/fusion.h"
#include "core/kernels/layout.h"
#include "core/ops/window.h"

namespace quotient::kernels::cuda {
namespace {

int64_t Volume(const std::vector<int64_t>& dims, size_t end) {
  return std::accumulate(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(end), int64_t{1},
                         std::multiplies<>());
}

// A product with its batch as one axis.
struct Product {
  MatmulProblem problem;
  // The shapes to which the operands must first be broadcast; empty if not needed. Needed if only
  // some axes of the batch are broadcast, because then no single step between members describes
  // them.
  std::vector<int64_t> a_whole;
  std::vector<int64_t> b_whole;
  // The operator has no axis for n, so the channels of an epilogue are the rows.
  bool is_column = false;
};

// The batch of the output, followed by the matrix.
std::vector<int64_t> WithBatch(const std::vector<int64_t>& batch, const std::vector<int64_t>& of) {
  std::vector<int64_t> dims = batch;
  dims.insert(dims.end(), of.end() - 2, of.end());
  return dims;
}

// Whether the members of both batches correspond.
bool SameBatch(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  const auto shorter = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())) - 2;
  return Volume(a, a.size() - 2) == Volume(b, b.size() - 2) &&
         std::equal(a.rbegin() + 2, a.rbegin() + 2 + shorter, b.rbegin() + 2);
}

Product DescribeMatMul(const KernelSpec& spec) {
  std::vector<int64_t> a = spec.inputs[0].type.dims();
  std::vector<int64_t> b = spec.inputs[1].type.dims();
  Product product{.is_column = b.size() == 1 && a.size() > 1 && !spec.epilogue.empty()};
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  MatmulProblem& problem = product.problem;
  problem.m = a[a.size() - 2];
  problem.k = a.back();
  problem.n = b.back();
  int64_t a_batch = Volume(a, a.size() - 2), b_batch = Volume(b, b.size() - 2);
  if (b_batch == 1 && !product.is_column) {  // One large product instead of many.
    problem.m *= a_batch;
    a_batch = 1;
  } else if (a_batch != 1 && b_batch != 1 && !SameBatch(a, b)) {
    std::vector<int64_t> batch = spec.outputs[0].type.dims();
    batch.resize(batch.size() - 2);
    const std::vector<int64_t> a_whole = WithBatch(batch, a), b_whole = WithBatch(batch, b);
    if (!SameBatch(a, a_whole)) product.a_whole = a_whole;
    if (!SameBatch(b, b_whole)) product.b_whole = b_whole;
    a_batch = b_batch = Volume(batch, batch.size());
  }
  problem.batch = std::max(a_batch, b_batch);
  problem.a_step = a_batch == 1 ? 0 : problem.m * problem.k;
  problem.b_step = b_batch == 1 ? 0 : problem.k * problem.n;
  problem.a_row = problem.k;
  problem.b_row = problem.d_row = problem.n;
  problem.d_step = problem.m * problem.n;
  return product;
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
  problem.alpha = static_cast<float>(spec.attributes.GetFloat("alpha", 1));
  return problem;
}

// A convolution whose windows are single pixels and that skips none, channels last in memory: a
// product of all pixels and the transposed weights. Returns nullopt for others.
std::optional<MatmulProblem> DescribeConvolution(const KernelSpec& spec) {
  const Operand& image = spec.inputs[0];
  const std::vector<int64_t> weights = spec.inputs[1].type.dims();
  const model::Ints kernel = ops::SpatialDims(weights);
  const auto are = [](const model::Ints& numbers, int64_t number) {
    return absl::c_all_of(numbers, [number](int64_t n) { return n == number; });
  };
  const auto window = ops::ReadWindow(spec.attributes, kernel, ops::SpatialDims(*image.type.shape));
  if (!window.ok() || !are(kernel, 1) || !are(window->strides, 1) || !are(window->pads_begin, 0) ||
      !are(window->pads_end, 0) || spec.attributes.GetInt("group", 1) != 1 ||
      !IsChannelsLast(image) || !IsChannelsLast(spec.outputs[0])) {
    return std::nullopt;
  }
  MatmulProblem problem;
  problem.k = weights[1];
  problem.n = weights[0];
  problem.m = image.type.elements() / problem.k;
  problem.b_transposed = true;
  problem.a_row = problem.b_row = problem.k;
  problem.d_row = problem.n;
  problem.d_step = problem.m * problem.n;
  return problem;
}

class Lowering {
 public:
  Lowering(const KernelSpec& spec, MathPolicy policy, Product product)
      : spec_(spec),
        product_(std::move(product)),
        problem_(product_.problem),
        nodes_(NodesBehindBare(spec)) {
    problem_.type = spec.outputs[0].type.dtype;
    problem_.policy = policy;
    const int64_t m = problem_.m, n = problem_.n;
    frame_.full = {.type = problem_.type, .dims = {problem_.batch, m, n}, .strides = {m * n, n, 1}};
    frame_.channel_axis = product_.is_column ? 1 : 2;
    frame_.type = spec.outputs[0].type;
    frame_.model_channel_axis = ChannelAxis(spec.op, frame_.type.rank());
  }

  // cuBLASLt with its factors, the first additions and a relu; the rest is Quotient's own kernel.
  std::optional<Program> Blas() const {
    MatmulProblem problem = problem_;
    std::optional<int> bias, whole;
    const auto take_next = [&](const EpilogueNode& next) {
      if (next.node.op != "Add") return false;
      const Spread spread = SpreadOfOperand(next);
      // A bias has one element per column and cannot be scaled.
      if (spread == Spread::kChannel ? product_.is_column || next.factor != 1
                                     : spread != Spread::kFull) {
        return false;
      }
      std::optional<int>& place = spread == Spread::kChannel ? bias : whole;
      if (place.has_value()) return false;
      place = next.first_operand;
      if (spread == Spread::kFull) problem.beta = next.factor;
      return true;
    };
    size_t taken = 0;
    while (taken < nodes_.size() && take_next(nodes_[taken])) ++taken;
    if (taken < nodes_.size() && IsRelu(nodes_[taken])) {
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
    const std::optional<BufferRef> a = Factor(0, product_.a_whole, program);
    const std::optional<BufferRef> b = Factor(1, product_.b_whole, program);
    if (!a || !b) return std::nullopt;
    Launch launch{problem, {*a, *b, target}};
    if (bias) launch.buffers.push_back(program.Operand(*bias));
    if (whole) launch.buffers.push_back(program.Operand(*whole));
    program.Add(std::move(launch));
    if (!is_all && !AddEpilogueChain(spec_, nodes_, taken, target, program)) return std::nullopt;
    return std::move(program).Finish();
  }

  // cuDNN with the whole epilogue.
  std::optional<Program> Dnn() const {
    if (problem_.alpha != 1 || !DnnTakes(nodes_, 0) || !AllSpread()) return std::nullopt;
    // cuDNN 9.14 reads one matrix for a whole batch as if each member had its own.
    if (problem_.batch > 1 && (problem_.a_step == 0 || problem_.b_step == 0)) return std::nullopt;
    ProgramBuilder program(spec_, "dnn");
    DnnBuilder graph(problem_.policy);
    const std::optional<BufferRef> a = Factor(0, product_.a_whole, program);
    const std::optional<BufferRef> b = Factor(1, product_.b_whole, program);
    if (!a || !b) return std::nullopt;
    DnnNode product{.op = DnnOp::kProduct};
    product.inputs = {
        graph.AddBuffer(TensorOf(problem_.m, problem_.k, problem_.a_row, problem_.a_transposed),
                        *a),
        graph.AddBuffer(TensorOf(problem_.k, problem_.n, problem_.b_row, problem_.b_transposed),
                        *b)};
    const int running = product.output = nodes_.empty()
                                             ? graph.AddBuffer(frame_.full, program.Output(0))
                                             : graph.AddVirtual(frame_.full);
    graph.Add(std::move(product));
    AddDnnEpilogue(nodes_, 0, frame_, running, program, graph);
    program.Add(std::move(graph).Finish());
    return std::move(program).Finish();
  }

 private:
  Spread SpreadOfOperand(const EpilogueNode& node) const {
    return SpreadOf(node.node.operands[0].type, frame_.type, frame_.model_channel_axis);
  }

  // Fusion ensures this, except for the third operand of a Gemm.
  bool AllSpread() const {
    return std::all_of(nodes_.begin(), nodes_.end(), [&](const EpilogueNode& node) {
      return node.node.op != "Add" || SpreadOfOperand(node) != Spread::kOther;
    });
  }

  // Operand `index`, broadcast to `whole` if that is given.
  std::optional<BufferRef> Factor(int index, const std::vector<int64_t>& whole,
                                  ProgramBuilder& program) const {
    if (whole.empty()) return program.Operand(index);
    KernelSpec expand;
    expand.op = "Expand";
    expand.storage = spec_.storage;
    expand.inputs = {spec_.inputs[index]};
    expand.outputs = {Operand{model::StaticType(problem_.type, whole)}};
    const std::optional<Program> part = MakeSourceProgram(expand);
    if (!part) return std::nullopt;
    const BufferRef expanded =
        program.Temporary(StorageBytes(expand.outputs[0].type, spec_.storage));
    const ProgramBuilder::PartOperand from{index, {}};
    program.AddPart(*part, {&from, 1}, {&expanded, 1});
    return expanded;
  }

  DnnTensor TensorOf(int64_t rows, int64_t columns, int64_t row, bool transposed) const {
    const std::vector<int64_t> strides = transposed ? std::vector<int64_t>{rows * columns, 1, row}
                                                    : std::vector<int64_t>{rows * columns, row, 1};
    return {.type = problem_.type, .dims = {problem_.batch, rows, columns}, .strides = strides};
  }

  const KernelSpec& spec_;
  const Product product_;
  MatmulProblem problem_;
  const std::vector<EpilogueNode> nodes_;
  DnnFrame frame_;
};

// The product that the spec is, without what is behind it; nullopt if it is none.
std::optional<Product> Describe(const KernelSpec& spec) {
  if (spec.inputs.size() < 2 || spec.outputs.size() != 1 || !IsOfOneFloatType(spec)) {
    return std::nullopt;
  }
  if (spec.op == "MatMul") return DescribeMatMul(spec);
  if (spec.op == "Gemm") return Product{DescribeGemm(spec)};
  if (spec.op != "Conv") return std::nullopt;
  const std::optional<MatmulProblem> problem = DescribeConvolution(spec);
  return problem ? std::optional(Product{*problem}) : std::nullopt;
}

}  // namespace

std::vector<Program> LowerProduct(const KernelSpec& spec, MathPolicy policy) {
  const std::optional<Product> product = Describe(spec);
  if (!product) return {};
  const Lowering lowering(spec, policy, *product);
  std::vector<Program> programs;
  if (std::optional<Program> blas = lowering.Blas()) programs.push_back(*std::move(blas));
  // cuDNN has no product that keeps float32 unrounded.
  const bool rounds =
      policy == MathPolicy::kTf32 || spec.outputs[0].type.dtype != model::DType::kFloat32;
  if (rounds && spec.op != "Conv") {
    if (std::optional<Program> dnn = lowering.Dnn()) programs.push_back(*std::move(dnn));
  }
  return programs;
}

}  // namespace quotient::kernels::cuda
