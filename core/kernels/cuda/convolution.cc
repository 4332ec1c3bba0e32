// Conv and ConvTranspose: cuDNN, channels last, with as much of the epilogue as it supports.
//
// cuDNN has tuned kernels for one epilogue: residual, then bias, then relu. Additions commute, so
// epilogues are brought into that form where possible. Others are compiled by cuDNN at run time, or
// run as one of Quotient's kernels after the convolution. Convolutions of single pixels are also
// products (product.cc).

#include <optional>
#include <utility>

#include "core/kernels/cuda/epilogue.h"
#include "core/kernels/cuda/image.h"
#include "core/kernels/cuda/lower.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/fusion.h"
#include "core/kernels/layout.h"
#include "core/ops/window.h"

namespace quotient::kernels::cuda {
namespace {

using model::Ints;

// A ConvTranspose's bias is one of the EpilogueNodes instead.
bool HasBias(const KernelSpec& spec) {
  return spec.op == "Conv" && spec.inputs.size() > 2 &&
         spec.inputs[2].type.dtype != model::DType::kUndefined;
}

// The node without its tensors. Returns nullopt if cuDNN does not support the padding.
std::optional<DnnNode> ReadNode(const KernelSpec& spec) {
  const std::vector<int64_t> weights = spec.inputs[1].type.dims();
  const Ints kernel = ops::SpatialDims(weights);
  DnnNode node;
  ops::Window window;
  if (spec.op == "Conv") {
    auto read =
        ops::ReadWindow(spec.attributes, kernel, ops::SpatialDims(*spec.inputs[0].type.shape));
    if (!read.ok()) return std::nullopt;
    window = *std::move(read);
    node.op = DnnOp::kConvolution;
  } else {
    auto read = ops::ReadUnpaddedWindow(spec.attributes, kernel);
    auto pads = ops::ReadPerAxis(spec.attributes, "pads", 2 * kernel.size(), 0, 0);
    const auto auto_pad = ops::ReadAutoPad(spec.attributes);
    if (!read.ok() || !pads.ok() || !auto_pad.ok() || *auto_pad != ops::AutoPad::kNone ||
        spec.attributes.Has("output_shape")) {
      return std::nullopt;
    }
    window = *std::move(read);
    // Read as the gradient of a convolution, whose end padding does not depend on the output's
    // size.
    window.pads_begin.assign(pads->begin(), pads->begin() + kernel.size());
    window.pads_end.assign(pads->begin() + kernel.size(), pads->end());
    node.op = DnnOp::kTransposedConvolution;
  }
  node.pads_begin = WithAxis(window.pads_begin, 0);
  node.pads_end = WithAxis(window.pads_end, 0);
  node.strides = WithAxis(window.strides, 1);
  node.dilations = WithAxis(window.dilations, 1);
  return node;
}

class Lowering {
 public:
  Lowering(const KernelSpec& spec, MathPolicy policy, DnnNode node)
      : spec_(spec), policy_(policy), node_(std::move(node)), nodes_(EpilogueNodes(spec)) {
    frame_.full = ImageOf(spec.outputs[0]);
    frame_.type = spec.outputs[0].type;
  }

  // Whether there is nothing but the convolution.
  bool IsBare() const { return nodes_.empty() && !HasBias(spec_); }

  bool HasNodes() const { return !nodes_.empty(); }

  // With the whole epilogue.
  std::optional<Program> Fused() const {
    ProgramBuilder program(spec_, "dnn");
    DnnBuilder graph(policy_);
    if (IsCanonical()) {
      const std::optional<int> main = AddMain(program, graph, true);
      if (!main) return std::nullopt;
      AddCanonicalEpilogue(*main, program, graph);
    } else {
      if (!DnnTakes(nodes_, 0)) return std::nullopt;
      const std::optional<int> main = AddMain(program, graph, true);
      if (!main) return std::nullopt;
      int running = *main;
      if (HasBias(spec_)) running = AddBias(running, program, graph, graph.AddVirtual(frame_.full));
      AddDnnEpilogue(nodes_, 0, frame_, running, program, graph);
    }
    program.Add(std::move(graph).Finish());
    return std::move(program).Finish();
  }

  // The convolution alone with its bias. Quotient's own kernel computes the epilogue.
  std::optional<Program> Plain() const {
    ProgramBuilder program(spec_, nodes_.empty() ? "dnn" : "dnn+chain");
    const BufferRef target =
        nodes_.empty() ? program.Output(0)
                       : program.Temporary(StorageBytes(spec_.outputs[0].type, spec_.storage));
    DnnBuilder graph(policy_);
    const std::optional<int> main = AddMain(program, graph, HasBias(spec_), target);
    if (!main) return std::nullopt;
    if (HasBias(spec_)) AddBias(*main, program, graph, graph.AddBuffer(frame_.full, target));
    program.Add(std::move(graph).Finish());
    if (!nodes_.empty() && !AddEpilogueChain(spec_, nodes_, 0, target, program))
      return std::nullopt;
    return std::move(program).Finish();
  }

  // The convolution alone. Quotient's own kernel also adds the bias.
  std::optional<Program> Bare() const {
    ProgramBuilder program(spec_, "bare+chain");
    const BufferRef target = program.Temporary(StorageBytes(spec_.outputs[0].type, spec_.storage));
    DnnBuilder graph(policy_);
    if (!AddMain(program, graph, /*is_virtual=*/false, target)) return std::nullopt;
    program.Add(std::move(graph).Finish());
    if (!AddEpilogueChain(spec_, NodesBehindBare(spec_), 0, target, program)) return std::nullopt;
    return std::move(program).Finish();
  }

 private:
  // Whether the epilogue is [Add of a whole tensor] [Relu], or there is only a bias.
  bool IsCanonical() const {
    if (spec_.op != "Conv") return false;
    size_t i = 0;
    if (i < nodes_.size() && IsResidual(nodes_[i])) ++i;
    if (i < nodes_.size() && IsRelu(nodes_[i])) ++i;
    return i == nodes_.size() && (i > 0 || HasBias(spec_));
  }

  bool IsResidual(const EpilogueNode& node) const {
    return node.node.op == "Add" &&
           SpreadOf(node.node.operands[0].type, frame_.type, 1) == Spread::kFull;
  }

  // The convolution itself. Its output is virtual, or the buffer `target`.
  std::optional<int> AddMain(ProgramBuilder& program, DnnBuilder& graph, bool is_virtual,
                             BufferRef target = {}) const {
    const int image = graph.AddBuffer(ImageOf(spec_.inputs[0]), program.Operand(0));
    const std::vector<int64_t> dims = spec_.inputs[1].type.dims();
    const std::optional<BufferRef> packed = Weights(program);
    if (!packed) return std::nullopt;
    const int weights =
        graph.AddBuffer(ImageOf(spec_.inputs[1].type.dtype, dims, Layout::kChannelsLast), *packed);
    DnnNode node = node_;
    node.inputs = {image, weights};
    node.output = is_virtual ? graph.AddVirtual(frame_.full) : graph.AddBuffer(frame_.full, target);
    const int output = node.output;
    graph.Add(std::move(node));
    return output;
  }

  // Channels last, whatever order they have.
  std::optional<BufferRef> Weights(ProgramBuilder& program) const {
    const Operand& weights = spec_.inputs[1];
    if (weights.constant) {
      return program.Constant(
          {.operand = 1,
           .permutation = PhysicalAxes(weights.type.rank(), Layout::kChannelsLast),
           .type = weights.type.dtype});
    }
    KernelSpec reorder;
    reorder.op = kReorderOp;
    reorder.storage = spec_.storage;
    reorder.inputs = {weights};
    reorder.outputs = {Operand{weights.type, false, Layout::kChannelsLast}};
    const std::optional<Program> part = MakeSourceProgram(reorder);
    if (!part) return std::nullopt;
    const BufferRef packed = program.Temporary(StorageBytes(weights.type, spec_.storage));
    const ProgramBuilder::PartOperand from{1, {}};
    program.AddPart(*part, {&from, 1}, {&packed, 1});
    return packed;
  }

  int AddBias(int running, ProgramBuilder& program, DnnBuilder& graph, int result) const {
    graph.Add({.mode = DnnMode::kAdd,
               .inputs = {running, graph.AddBuffer(Channels(), Bias(program))},
               .output = result});
    return result;
  }

  BufferRef Bias(ProgramBuilder& program) const {
    if (HasBias(spec_)) return program.Operand(2);
    return program.Constant({.form = PackedConstant::Form::kFilled,
                             .type = frame_.full.type,
                             .elements = frame_.full.dims[1]});
  }

  DnnTensor Channels() const {
    const int64_t channels = frame_.full.dims[1];
    DnnTensor tensor{.type = frame_.full.type};
    tensor.dims.assign(frame_.full.dims.size(), 1);
    tensor.dims[1] = channels;
    tensor.strides.assign(tensor.dims.size(), channels);
    tensor.strides[1] = 1;
    return tensor;
  }

  // Adds residual, bias (zeros if there is none) and relu behind `running`.
  void AddCanonicalEpilogue(int running, ProgramBuilder& program, DnnBuilder& graph) const {
    const bool residual = !nodes_.empty() && IsResidual(nodes_[0]);
    const bool relu = !nodes_.empty() && IsRelu(nodes_.back());
    if (residual) {
      const int other = AddSpread(frame_, nodes_[0].first_operand, program, graph);
      const int sum = graph.AddVirtual(frame_.full);
      graph.Add({.mode = DnnMode::kAdd, .inputs = {running, other}, .output = sum});
      running = sum;
    }
    const auto result = [&](bool last) {
      return last ? graph.AddBuffer(frame_.full, program.Output(0)) : graph.AddVirtual(frame_.full);
    };
    running = AddBias(running, program, graph, result(!relu));
    if (!relu) return;
    graph.Add({.mode = DnnMode::kRelu, .inputs = {running}, .output = result(true)});
  }

  const KernelSpec& spec_;
  const MathPolicy policy_;
  const DnnNode node_;
  const std::vector<EpilogueNode> nodes_;
  DnnFrame frame_;
};

}  // namespace

std::vector<Program> LowerConvolution(const KernelSpec& spec, MathPolicy policy) {
  if ((spec.op != "Conv" && spec.op != "ConvTranspose") || spec.inputs.size() < 2 ||
      spec.outputs.size() != 1 || !IsOfOneFloatType(spec)) {
    return {};
  }
  const int rank = spec.inputs[0].type.rank();
  if (rank < 3 || rank > 5) return {};
  std::optional<DnnNode> node = ReadNode(spec);
  if (!node) return {};
  const Lowering lowering(spec, policy, *std::move(node));
  std::vector<Program> programs;
  if (!lowering.IsBare()) {
    if (std::optional<Program> fused = lowering.Fused()) programs.push_back(*std::move(fused));
  }
  if (lowering.IsBare() || lowering.HasNodes()) {
    if (std::optional<Program> plain = lowering.Plain()) programs.push_back(*std::move(plain));
  }
  // cuDNN 9.14 on an H200 takes 7 to 25 us for depthwise convolutions with a bias, and 2 us
  // without.
  if (HasBias(spec) && spec.attributes.GetInt("group", 1) > 1) {
    if (std::optional<Program> bare = lowering.Bare()) programs.push_back(*std::move(bare));
  }
  return programs;
}

}  // namespace quotient::kernels::cuda
