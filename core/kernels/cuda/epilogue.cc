#include "core/kernels/cuda/epilogue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/fusion.h"
#include "core/kernels/layout.h"
#include "core/kernels/unary_call.h"

namespace quotient::kernels::cuda {
namespace {

using ops::UnaryFunction;

struct NamedMode {
  const char* op;
  DnnMode mode;
};
constexpr NamedMode kBinaryModes[] = {
    {"Add", DnnMode::kAdd}, {"Mul", DnnMode::kMul}, {"Max", DnnMode::kMax},
    {"Min", DnnMode::kMin}, {"Sub", DnnMode::kSub}, {"Div", DnnMode::kDiv},
};

// cuDNN's Elu and Swish have no factor.
std::optional<DnnMode> ModeOf(const UnaryCall& call) {
  switch (call.function) {
    case UnaryFunction::kRelu:
      return DnnMode::kRelu;
    case UnaryFunction::kLeakyRelu:
      return DnnMode::kLeakyRelu;
    case UnaryFunction::kSigmoid:
      return DnnMode::kSigmoid;
    case UnaryFunction::kTanh:
      return DnnMode::kTanh;
    case UnaryFunction::kGeluErf:
      return DnnMode::kGeluErf;
    case UnaryFunction::kGeluTanh:
      return DnnMode::kGeluTanh;
    case UnaryFunction::kElu:
      return call.first == 1 ? std::optional(DnnMode::kElu) : std::nullopt;
    case UnaryFunction::kSwish:
      return call.first == 1 ? std::optional(DnnMode::kSwish) : std::nullopt;
    case UnaryFunction::kNeg:
      return DnnMode::kNeg;
    case UnaryFunction::kAbs:
      return DnnMode::kAbs;
    case UnaryFunction::kSqrt:
      return DnnMode::kSqrt;
    case UnaryFunction::kExp:
      return DnnMode::kExp;
    case UnaryFunction::kLog:
      return DnnMode::kLog;
    case UnaryFunction::kErf:
      return DnnMode::kErf;
    case UnaryFunction::kReciprocal:
      return DnnMode::kReciprocal;
    case UnaryFunction::kSin:
      return DnnMode::kSin;
    case UnaryFunction::kCos:
      return DnnMode::kCos;
    case UnaryFunction::kFloor:
      return DnnMode::kFloor;
    case UnaryFunction::kCeil:
      return DnnMode::kCeil;
    default:
      return std::nullopt;
  }
}

std::optional<DnnMode> ModeOf(const Epilogue& node) {
  if (node.operands.empty()) {
    const std::optional<UnaryCall> call = UnaryCallOf(node.op, node.attributes);
    return call ? ModeOf(*call) : std::nullopt;
  }
  for (const NamedMode& row : kBinaryModes) {
    if (node.op == row.op) return row.mode;
  }
  return std::nullopt;
}

// What follows alpha A B in alpha A B + beta C.
std::vector<EpilogueNode> GemmNodes(const KernelSpec& spec) {
  const auto beta = static_cast<float>(spec.attributes.GetFloat("beta", 1));
  if (spec.inputs.size() < 3 || spec.inputs[2].type.dtype == model::DType::kUndefined ||
      beta == 0) {
    return {};
  }
  return {
      {.node = {.op = "Add", .operands = {spec.inputs[2]}}, .first_operand = 2, .factor = beta}};
}

// The bias of a convolution.
std::vector<EpilogueNode> BiasNodes(const KernelSpec& spec) {
  if (spec.inputs.size() < 3 || spec.inputs[2].type.dtype == model::DType::kUndefined) return {};
  std::vector<int64_t> dims(spec.outputs[0].type.rank() - 1, 1);
  dims[0] = spec.inputs[2].type.elements();  // [C, 1, 1] against [N, C, H, W]
  // Not marked as constant: the original operand, which has another rank, tells whether it is.
  const Operand bias{model::StaticType(spec.inputs[2].type.dtype, dims)};
  return {{{.op = "Add", .operands = {bias}}, 2}};
}

// The scale or shift, one per channel, computed from a BatchNormalization's constants.
int AddNormConstant(const DnnFrame& frame, const EpilogueNode& node, PackedConstant::Form form,
                    ProgramBuilder& program, DnnBuilder& graph) {
  DnnTensor channel = frame.full;
  channel.type = model::DType::kFloat32;
  const int64_t channels = channel.dims[frame.channel_axis];
  channel.dims.assign(channel.dims.size(), 1);
  channel.dims[frame.channel_axis] = channels;
  channel.strides.assign(channel.dims.size(), channels);
  channel.strides[frame.channel_axis] = 1;
  return graph.AddBuffer(
      channel, program.Constant({.form = form,
                                 .operand = node.first_operand,
                                 .epsilon = node.node.attributes.GetFloat("epsilon", 1e-5)}));
}

// min(max(x, lower), upper), each unless it bounds nothing. cuDNN also has a relu with two bounds,
// but some of its plans for products (9.14 on an H200) ignore the upper one.
int AddClip(const DnnFrame& frame, int x, double lower, double upper, int result,
            DnnBuilder& graph) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto number = [&](double bound) {
    return graph.AddNumber(static_cast<float>(bound), frame.full);
  };
  std::vector<DnnNode> nodes;
  if (lower == 0) {
    nodes.push_back({.mode = DnnMode::kRelu, .inputs = {x}});
  } else if (lower > -kInfinity) {
    nodes.push_back({.mode = DnnMode::kMax, .inputs = {x, number(lower)}});
  }
  if (upper < kInfinity) nodes.push_back({.mode = DnnMode::kMin, .inputs = {x, number(upper)}});
  if (nodes.empty()) nodes.push_back({.mode = DnnMode::kIdentity, .inputs = {x}});
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].inputs[0] = x;
    x = nodes[i].output = i + 1 == nodes.size() ? result : graph.AddVirtual(frame.full);
    graph.Add(std::move(nodes[i]));
  }
  return result;
}

// clip(alpha * x + beta, 0, 1), which cuDNN has only in pieces.
int AddHardSigmoid(const DnnFrame& frame, int x, float alpha, float beta, int result,
                   DnnBuilder& graph) {
  const int scaled = graph.AddVirtual(frame.full), shifted = graph.AddVirtual(frame.full);
  graph.Add(
      {.mode = DnnMode::kMul, .inputs = {x, graph.AddNumber(alpha, frame.full)}, .output = scaled});
  graph.Add({.mode = DnnMode::kAdd,
             .inputs = {scaled, graph.AddNumber(beta, frame.full)},
             .output = shifted});
  return AddClip(frame, shifted, 0, 1, result, graph);
}

// The result of one node: virtual, or the program's output.
int AddResult(const DnnFrame& frame, bool is_last, const ProgramBuilder& program,
              DnnBuilder& graph) {
  return is_last ? graph.AddBuffer(frame.full, program.Output(0)) : graph.AddVirtual(frame.full);
}

}  // namespace

std::vector<EpilogueNode> EpilogueNodes(const KernelSpec& spec) {
  std::vector<EpilogueNode> nodes;
  if (spec.op == "Gemm") nodes = GemmNodes(spec);
  // cuDNN has its tuned transposed convolutions only without anything behind them.
  if (spec.op == "ConvTranspose") nodes = BiasNodes(spec);
  int next = static_cast<int>(spec.inputs.size());
  for (const Epilogue& node : spec.epilogue) {
    nodes.push_back({node, next});
    next += static_cast<int>(node.operands.size());
  }
  return nodes;
}

std::vector<EpilogueNode> NodesBehindBare(const KernelSpec& spec) {
  std::vector<EpilogueNode> nodes = EpilogueNodes(spec);
  if (spec.op != "Conv") return nodes;
  std::vector<EpilogueNode> bias = BiasNodes(spec);
  nodes.insert(nodes.begin(), bias.begin(), bias.end());
  return nodes;
}

int DnnBuilder::AddBuffer(DnnTensor tensor, BufferRef buffer) {
  graph_.tensors.push_back(std::move(tensor));
  buffers_.push_back(buffer);
  return static_cast<int>(graph_.tensors.size()) - 1;
}

int DnnBuilder::AddVirtual(const DnnTensor& like) {
  DnnTensor tensor = like;
  tensor.type = model::DType::kFloat32;
  tensor.is_virtual = true;
  graph_.tensors.push_back(std::move(tensor));
  return static_cast<int>(graph_.tensors.size()) - 1;
}

int DnnBuilder::AddNumber(float value, const DnnTensor& like) {
  DnnTensor tensor{.value = value};
  tensor.dims.assign(like.dims.size(), 1);
  tensor.strides = tensor.dims;
  graph_.tensors.push_back(std::move(tensor));
  return static_cast<int>(graph_.tensors.size()) - 1;
}

Launch DnnBuilder::Finish() && { return Launch{std::move(graph_), std::move(buffers_)}; }

bool IsRelu(const EpilogueNode& node) {
  const std::optional<UnaryCall> call = UnaryCallOf(node.node.op, node.node.attributes);
  return call && call->function == ops::UnaryFunction::kRelu;
}

int AddSpread(const DnnFrame& frame, int index, ProgramBuilder& program, DnnBuilder& graph) {
  const Operand& operand = program.operands()[index];
  DnnTensor tensor = frame.full;
  tensor.type = operand.type.dtype;
  const Spread spread = SpreadOf(operand.type, frame.type, frame.model_channel_axis);
  if (spread != Spread::kFull) {
    const int64_t channels = spread == Spread::kScalar ? 1 : tensor.dims[frame.channel_axis];
    tensor.dims.assign(tensor.dims.size(), 1);
    tensor.dims[frame.channel_axis] = channels;
    tensor.strides.assign(tensor.dims.size(), channels);
    tensor.strides[frame.channel_axis] = 1;
  }
  return graph.AddBuffer(std::move(tensor), program.Operand(index));
}

bool DnnTakes(const std::vector<EpilogueNode>& nodes, size_t first) {
  constexpr absl::string_view kInPieces[] = {"BatchNormalization", "Clip", "HardSigmoid",
                                             "HardSwish"};
  for (size_t i = first; i < nodes.size(); ++i) {
    if (nodes[i].factor != 1) return false;
    if (std::ranges::count(kInPieces, absl::string_view(nodes[i].node.op)) > 0) continue;
    if (!ModeOf(nodes[i].node)) return false;
  }
  return true;
}

void AddDnnEpilogue(const std::vector<EpilogueNode>& nodes, size_t first, const DnnFrame& frame,
                    int running, ProgramBuilder& program, DnnBuilder& graph) {
  for (size_t i = first; i < nodes.size(); ++i) {
    const Epilogue& node = nodes[i].node;
    const bool is_last = i + 1 == nodes.size();
    if (node.op == "BatchNormalization") {
      const int scale =
          AddNormConstant(frame, nodes[i], PackedConstant::Form::kNormScale, program, graph);
      const int shift =
          AddNormConstant(frame, nodes[i], PackedConstant::Form::kNormShift, program, graph);
      const int scaled = graph.AddVirtual(frame.full);
      graph.Add({.mode = DnnMode::kMul, .inputs = {running, scale}, .output = scaled});
      const int result = AddResult(frame, is_last, program, graph);
      graph.Add({.mode = DnnMode::kAdd, .inputs = {scaled, shift}, .output = result});
      running = result;
      continue;
    }
    const std::optional<UnaryCall> call = UnaryCallOf(node.op, node.attributes);
    if (call && call->function == UnaryFunction::kHardSigmoid) {
      running = AddHardSigmoid(frame, running, static_cast<float>(call->first),
                               static_cast<float>(call->second),
                               AddResult(frame, is_last, program, graph), graph);
      continue;
    }
    if (call && call->function == UnaryFunction::kHardSwish) {
      const int gate =
          AddHardSigmoid(frame, running, 1.0F / 6, 0.5F, graph.AddVirtual(frame.full), graph);
      const int result = AddResult(frame, is_last, program, graph);
      graph.Add({.mode = DnnMode::kMul, .inputs = {running, gate}, .output = result});
      running = result;
      continue;
    }
    if (call && call->function == UnaryFunction::kClip) {
      running = AddClip(frame, running, call->first, call->second,
                        AddResult(frame, is_last, program, graph), graph);
      continue;
    }
    DnnNode pointwise{.mode = *ModeOf(node), .inputs = {running}};
    if (!node.operands.empty()) {
      pointwise.inputs.push_back(AddSpread(frame, nodes[i].first_operand, program, graph));
      if (node.running_is_second) std::swap(pointwise.inputs[0], pointwise.inputs[1]);
    }
    if (pointwise.mode == DnnMode::kLeakyRelu) pointwise.slope = call->first;
    running = pointwise.output = AddResult(frame, is_last, program, graph);
    graph.Add(std::move(pointwise));
  }
}

bool AddEpilogueChain(const KernelSpec& spec, const std::vector<EpilogueNode>& nodes, size_t first,
                      BufferRef running, ProgramBuilder& program) {
  KernelSpec chain;
  chain.storage = spec.storage;
  chain.outputs = spec.outputs;
  std::vector<ProgramBuilder::PartOperand> from;
  const auto take_operands = [&](const EpilogueNode& node) {
    for (size_t k = 0; k < node.node.operands.size(); ++k) {
      from.push_back({node.first_operand + static_cast<int>(k), {}});
    }
  };
  // The first node becomes the main node, with the running value as one of its operands.
  const EpilogueNode& main = nodes[first];
  chain.inputs = main.node.operands;
  take_operands(main);
  if (main.factor != 1) {  // factor * operand, then + running.
    chain.op = "Mul";
    chain.inputs.push_back({model::StaticType(model::DType::kFloat32, std::vector<int64_t>())});
    from.push_back(
        {-1, program.Constant(
                 {.form = PackedConstant::Form::kFilled, .value = main.factor, .elements = 1})});
    chain.epilogue.push_back({.op = main.node.op, .operands = {spec.outputs[0]}});
    from.push_back({-1, running});
  } else {
    chain.op = main.node.op;
    chain.attributes = main.node.attributes;
    const int place = main.node.running_is_second ? 1 : 0;
    chain.inputs.insert(chain.inputs.begin() + place, spec.outputs[0]);
    from.insert(from.begin() + place, {-1, running});
  }
  for (size_t i = first + 1; i < nodes.size(); ++i) {
    chain.epilogue.push_back(nodes[i].node);
    take_operands(nodes[i]);
  }
  const std::optional<Program> part = MakeSourceProgram(chain);
  if (!part.has_value()) return false;
  const BufferRef output = program.Output(0);
  program.AddPart(*part, from, {&output, 1});
  return true;
}

}  // namespace quotient::kernels::cuda
