// Attention: cuDNN's kernel, which never writes the scores to memory, or a product of cuBLASLt on
// each side of one of Quotient's softmax kernels.

#include "core/kernels/attention.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/kernels/cuda/epilogue.h"
#include "core/kernels/cuda/lower.h"
#include "core/kernels/cuda/program/program_builder.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/layout.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::cuda {
namespace {

using View = AttentionTensors::Tensor;

// A batch of matrices as products use them, each stored row by row or as its transpose.
struct Factor {
  int64_t row = 0;   // Elements from one stored row to the next.
  int64_t step = 0;  // From one matrix to the next.
  bool transposed = false;
};

// Elements from one matrix of the batch to the next, if that is constant.
std::optional<int64_t> StepOf(const View& view) {
  const int64_t heads = view.dims[1];
  if (heads == 1) return view.strides[0];
  if (view.dims[0] == 1 || view.strides[0] == heads * view.strides[1]) return view.strides[1];
  return std::nullopt;
}

std::optional<Factor> FactorOf(const View& view) {
  const std::optional<int64_t> step = StepOf(view);
  if (!step) return std::nullopt;
  const int64_t rows = view.dims[2], columns = view.dims[3];
  // With only one row, the distance between rows does not matter.
  if (view.strides[3] == 1 || columns == 1) {
    return Factor{std::max(view.strides[2], columns), *step, false};
  }
  if (view.strides[2] == 1 || rows == 1)
    return Factor{std::max(view.strides[3], rows), *step, true};
  return std::nullopt;
}

// The bytes of a tensor without gaps.
int64_t BytesOf(const std::vector<int64_t>& dims, model::DType type) {
  return StorageBytes(model::StaticType(type, dims), Storage::kNative);
}

class Lowering {
 public:
  Lowering(const KernelSpec& spec, MathPolicy policy)
      : spec_(spec),
        policy_(policy),
        type_(spec.outputs[0].type.dtype),
        scale_(static_cast<float>(spec.attributes.GetFloat("scale", 1))),
        tensors_(TensorsOfAttention(spec)) {}

  std::optional<Program> Dnn() const {
    for (const View* view : {&tensors_.q, &tensors_.k, &tensors_.v, &tensors_.y}) {
      if (!DnnTakes(*view)) return std::nullopt;
    }
    ProgramBuilder program(spec_, "dnn");
    DnnBuilder graph(policy_);
    DnnNode node{.op = DnnOp::kAttention, .scale = scale_};
    node.inputs = {graph.AddBuffer(TensorOf(tensors_.q), program.Operand(0)),
                   graph.AddBuffer(TensorOf(tensors_.k), program.Operand(1)),
                   graph.AddBuffer(TensorOf(tensors_.v), program.Operand(2))};
    if (tensors_.mask) {
      node.inputs.push_back(graph.AddBuffer(TensorOf(*tensors_.mask), program.Operand(3)));
    }
    node.output = graph.AddBuffer(TensorOf(tensors_.y), program.Output(0));
    graph.Add(std::move(node));
    program.Add(std::move(graph).Finish());
    return std::move(program).Finish();
  }

  // Three kernels, and copies of operands that products cannot read where they are.
  std::optional<Program> Parts() const {
    ProgramBuilder program(spec_, "parts");
    const int64_t m = tensors_.q.dims[2], n = tensors_.k.dims[2];
    const std::vector<int64_t> scores_dims = {tensors_.q.dims[0], tensors_.q.dims[1], m, n};
    const View scores{scores_dims, StridesOf(scores_dims, Layout::kPlain)};
    const BufferRef weights = program.Temporary(BytesOf(scores_dims, type_));
    View keys = tensors_.k;  // As columns.
    std::swap(keys.dims[2], keys.dims[3]);
    std::swap(keys.strides[2], keys.strides[3]);
    const std::optional<Matrices> q = Read(0, tensors_.q, "q_perm", program);
    const std::optional<Matrices> k = Read(1, keys, "k_perm", program);
    if (!q || !k) return std::nullopt;
    AddProduct(*q, *k, {weights, scores}, scale_, program);
    if (!AddSoftmax(scores_dims, weights, program)) return std::nullopt;
    const std::optional<Matrices> v = Read(2, tensors_.v, "v_perm", program);
    if (!v) return std::nullopt;
    const std::optional<Factor> y = FactorOf(tensors_.y);
    if (y && !y->transposed) {
      AddProduct({weights, scores}, *v, {program.Output(0), tensors_.y}, 1, program);
      return std::move(program).Finish();
    }
    const View plain{tensors_.y.dims, StridesOf(tensors_.y.dims, Layout::kPlain)};
    const BufferRef result = program.Temporary(BytesOf(plain.dims, type_));
    AddProduct({weights, scores}, *v, {result, plain}, 1, program);
    const ProgramBuilder::PartOperand from{-1, result};
    const bool copied = AddTranspose(OperandOf(LogicalDims()), from, spec_.outputs[0], "y_perm",
                                     program.Output(0), program);
    if (!copied) return std::nullopt;
    return std::move(program).Finish();
  }

  // Computes on the host, node by node, what the libraries do not support.
  std::optional<Program> Host() const {
    ProgramBuilder program(spec_, "host");
    std::vector<Part> inputs;
    for (int i = 0; i < 3; ++i) {
      constexpr const char* kPermutations[] = {"q_perm", "k_perm", "v_perm"};
      inputs.push_back(HostTranspose({spec_.inputs[i], {i, {}}}, kPermutations[i], program));
    }
    std::vector<int64_t> dims = inputs[0].operand.type.dims();
    dims.back() = inputs[1].operand.type.dims().back();
    Part scores = HostStep("MatMul", {}, {inputs[0], inputs[1]}, dims, program);
    const BufferRef scale = program.Constant(
        {.form = PackedConstant::Form::kFilled, .value = scale_, .type = type_, .elements = 1});
    scores = HostStep("Mul", {}, {scores, {OperandOf({}), {-1, scale}}}, dims, program);
    if (tensors_.mask) {
      scores = HostStep("Add", {}, {scores, {spec_.inputs[3], {3, {}}}}, dims, program);
    }
    scores = HostStep("Softmax", {{"axis", int64_t{-1}}}, {scores}, dims, program);
    dims.back() = inputs[2].operand.type.dims().back();
    const Part y = HostStep("MatMul", {}, {scores, inputs[2]}, dims, program);
    const model::Ints* permutation = spec_.attributes.FindInts("y_perm");
    model::AttributeMap attributes;
    if (permutation != nullptr) attributes.Set("perm", *permutation);
    AddHostStep(permutation != nullptr ? "Transpose" : "Identity", attributes, {y},
                spec_.outputs[0], program.Output(0), program);
    return std::move(program).Finish();
  }

 private:
  // A tensor and its location.
  struct Part {
    Operand operand;
    ProgramBuilder::PartOperand where;
  };

  void AddHostStep(absl::string_view op, const model::AttributeMap& attributes,
                   const std::vector<Part>& inputs, const Operand& output, const BufferRef& target,
                   ProgramBuilder& program) const {
    KernelSpec step;
    step.op = std::string(op);
    step.attributes = attributes;
    step.storage = spec_.storage;
    step.outputs = {output};
    std::vector<ProgramBuilder::PartOperand> where;
    for (const Part& input : inputs) {
      step.inputs.push_back(input.operand);
      where.push_back(input.where);
    }
    program.AddPart(*LowerToHost(step), where, {&target, 1});
  }

  // Computes into a buffer of its own.
  Part HostStep(absl::string_view op, const model::AttributeMap& attributes,
                const std::vector<Part>& inputs, const std::vector<int64_t>& dims,
                ProgramBuilder& program) const {
    const Operand output = OperandOf(dims);
    const BufferRef target = program.Temporary(BytesOf(dims, type_));
    AddHostStep(op, attributes, inputs, output, target, program);
    return {output, {-1, target}};
  }

  Part HostTranspose(const Part& input, absl::string_view name, ProgramBuilder& program) const {
    const model::Ints* permutation = spec_.attributes.FindInts(name);
    if (permutation == nullptr) return input;
    std::vector<int64_t> dims;
    for (const int64_t axis : *permutation) dims.push_back(input.operand.type.dims()[axis]);
    return HostStep("Transpose", {{"perm", *permutation}}, {input}, dims, program);
  }

  // cuDNN needs contiguous rows of a multiple of eight elements; for 16-bit floats, rows at
  // multiples of 16 bytes.
  bool DnnTakes(const View& view) const {
    constexpr int64_t kPack = 8;
    if (view.strides[3] != 1 || view.dims[3] % kPack != 0) return false;
    return type_ == model::DType::kFloat32 ||
           std::all_of(view.strides.begin(), view.strides.end() - 1,
                       [](int64_t stride) { return stride % kPack == 0; });
  }

  // Matrices for a product, described by FactorOf.
  struct Matrices {
    BufferRef buffer;
    View view;
  };

  DnnTensor TensorOf(const View& view) const {
    return {.type = type_, .dims = view.dims, .strides = view.strides};
  }

  Operand OperandOf(std::vector<int64_t> dims) const {
    return Operand{model::StaticType(type_, std::move(dims))};
  }

  // The dims of the result before its Transpose, with as many axes as the operands have.
  std::vector<int64_t> LogicalDims() const {
    std::vector<int64_t> dims = tensors_.y.dims;
    if (spec_.outputs[0].type.rank() == 3) dims.erase(dims.begin() + 1);
    return dims;
  }

  // Operand `index` after its Transpose `view`, where a product can read it: in place or in a copy.
  std::optional<Matrices> Read(int index, const View& view, absl::string_view permutation,
                               ProgramBuilder& program) const {
    if (FactorOf(view)) return Matrices{program.Operand(index), view};
    std::vector<int64_t> dims = view.dims;
    if (spec_.inputs[index].type.rank() == 3) dims.erase(dims.begin() + 1);
    const BufferRef copy = program.Temporary(BytesOf(dims, type_));
    if (!AddTranspose(spec_.inputs[index], {index, {}}, OperandOf(dims), permutation, copy,
                      program)) {
      return std::nullopt;
    }
    return Matrices{copy, {view.dims, StridesOf(view.dims, Layout::kPlain)}};
  }

  bool AddTranspose(const Operand& from, const ProgramBuilder::PartOperand& where,
                    const Operand& to, absl::string_view permutation, const BufferRef& target,
                    ProgramBuilder& program) const {
    KernelSpec transpose;
    transpose.op = "Transpose";
    transpose.attributes.Set("perm", spec_.attributes.GetInts(permutation));
    transpose.storage = spec_.storage;
    transpose.inputs = {from};
    transpose.outputs = {to};
    const std::optional<Program> part = MakeSourceProgram(transpose);
    if (part) program.AddPart(*part, {&where, 1}, {&target, 1});
    return part.has_value();
  }

  void AddProduct(const Matrices& a, const Matrices& b, const Matrices& d, float alpha,
                  ProgramBuilder& program) const {
    const Factor left = *FactorOf(a.view), right = *FactorOf(b.view), result = *FactorOf(d.view);
    const MatmulProblem problem{.type = type_,
                                .policy = policy_,
                                .m = d.view.dims[2],
                                .n = d.view.dims[3],
                                .k = a.view.dims[3],
                                .batch = d.view.dims[0] * d.view.dims[1],
                                .a_transposed = left.transposed,
                                .b_transposed = right.transposed,
                                .a_row = left.row,
                                .b_row = right.row,
                                .d_row = result.row,
                                .a_step = left.step,
                                .b_step = right.step,
                                .d_step = result.step,
                                .alpha = alpha};
    program.Add({problem, {a.buffer, b.buffer, d.buffer}});
  }

  // Computes in place.
  bool AddSoftmax(const std::vector<int64_t>& dims, const BufferRef& scores,
                  ProgramBuilder& program) const {
    KernelSpec softmax;
    softmax.op = kMaskedSoftmaxOp;
    softmax.storage = spec_.storage;
    softmax.inputs = softmax.outputs = {OperandOf(dims)};
    std::vector<ProgramBuilder::PartOperand> inputs = {{-1, scores}};
    if (tensors_.mask) {
      softmax.inputs.push_back(OperandOf(tensors_.mask->dims));
      inputs.push_back({3, {}});
    }
    const std::optional<Program> part = MakeSourceProgram(softmax);
    if (part) program.AddPart(*part, inputs, {&scores, 1});
    return part.has_value();
  }

  const KernelSpec& spec_;
  const MathPolicy policy_;
  const model::DType type_;
  const float scale_;
  const AttentionTensors tensors_;
};

}  // namespace

std::optional<Program> LowerAttentionToHost(const KernelSpec& spec) {
  return Lowering(spec, MathPolicy::kStrict32).Host();
}

std::vector<Program> LowerAttention(const KernelSpec& spec, MathPolicy policy) {
  if (spec.op != kAttentionOp || !IsOfOneFloatType(spec)) return {};
  const Lowering lowering(spec, policy);
  std::vector<Program> programs;
  // cuDNN has no attention that keeps float32 unrounded.
  if (policy == MathPolicy::kTf32 || spec.outputs[0].type.dtype != model::DType::kFloat32) {
    if (std::optional<Program> dnn = lowering.Dnn()) programs.push_back(*std::move(dnn));
  }
  if (std::optional<Program> parts = lowering.Parts()) programs.push_back(*std::move(parts));
  return programs;
}

}  // namespace quotient::kernels::cuda
