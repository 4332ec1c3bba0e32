// Chains of element-wise floating-point nodes: one pass over memory, computed in float.

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "core/kernels/cuda/source/functions.h"
#include "core/kernels/cuda/source/pointwise.h"
#include "core/kernels/cuda/source/prelude.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/fusion.h"

namespace quotient::kernels::cuda {
namespace {

// Writes the chain as the body of `compute`, in which x is the running value.
class ChainWriter {
 public:
  explicit ChainWriter(const KernelSpec& spec)
      : operands_(AllOperands(spec)), output_(spec.outputs[0]), writer_(spec, "chain") {
    AddInput({operands_[0], writer_.Operand(0)});
    body_ = "  float x = v0;\n";
    AddNode(spec.op, spec.attributes, 1, false);
    int next = static_cast<int>(spec.inputs.size());
    for (const Epilogue& epilogue : spec.epilogue) {
      AddNode(epilogue.op, epilogue.attributes, next, epilogue.running_is_second);
      next += static_cast<int>(epilogue.operands.size());
    }
    body_ += "  return x;\n";
  }

  Program Finish() && {
    AddPointwise({.kernel = "chain",
                  .inputs = std::move(inputs_),
                  .output = output_,
                  .output_buffer = writer_.Output(0),
                  .functions = kMathPrelude,
                  .body = std::move(body_),
                  .result_type = "float"},
                 writer_);
    return std::move(writer_).Finish();
  }

 private:
  // Returns the operand's name in `compute`.
  std::string AddInput(PointwiseInput input) {
    inputs_.push_back(std::move(input));
    return absl::StrCat("v", inputs_.size() - 1);
  }

  // Adds a node. Its operands other than the running value begin at `operand`.
  void AddNode(absl::string_view op, const model::AttributeMap& attributes, int operand,
               bool running_is_second) {
    if (op == "BatchNormalization") return AddNormalization(attributes, operand);
    if (const auto unary = UnaryText(op, attributes, "x")) return Assign(*unary);
    const std::string other = AddInput({operands_[operand], writer_.Operand(operand)});
    Assign(running_is_second ? *BinaryText(op, other, "x") : *BinaryText(op, "x", other));
  }

  void AddNormalization(const model::AttributeMap& attributes, int operand) {
    using Form = PackedConstant::Form;
    const double epsilon = attributes.GetFloat("epsilon", 1e-5f);
    std::vector<int64_t> dims(output_.type.rank() - 1, 1);
    dims[0] = operands_[operand].type.elements();  // [C, 1, 1] against [N, C, H, W]
    const Operand vector{model::StaticType(model::DType::kFloat32, dims), true};
    const auto packed = [&](Form form) {
      return AddInput(
          {vector, writer_.Constant({.form = form, .operand = operand, .epsilon = epsilon})});
    };
    const std::string scale = packed(Form::kNormScale);
    Assign(absl::Substitute("x * $0 + $1", scale, packed(Form::kNormShift)));
  }

  void Assign(absl::string_view expression) {
    absl::StrAppend(&body_, "  x = ", expression, ";\n");
  }

  const std::vector<Operand> operands_;
  const Operand output_;
  ProgramWriter writer_;
  std::vector<PointwiseInput> inputs_;
  std::string body_;
};

}  // namespace

std::optional<Program> MakeChainProgram(const KernelSpec& spec) {
  if (spec.outputs.size() != 1 || spec.inputs.empty()) return std::nullopt;
  const ElementwiseNode node{spec.op, spec.attributes, spec.inputs, spec.outputs[0].type};
  if (!IsChainNode(node)) return std::nullopt;
  return ChainWriter(spec).Finish();
}

}  // namespace quotient::kernels::cuda
