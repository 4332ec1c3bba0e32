#include "core/explain/spellings.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace quotient::explain {
namespace {

using model::Node;
using model::NodeId;
using model::ValueId;

using Answer = std::optional<Reason>;

ValueId ValueOf(const ModelView& model, NodeId id) { return model.node(id).outputs[0]; }

// The operand of a binary node that is not this value.
ValueId Beside(const Node& node, ValueId value) {
  return node.inputs[0] == value ? node.inputs[1] : node.inputs[0];
}

bool IsOp(const ModelView& model, NodeId id, absl::string_view op) {
  return id.valid() && model.node(id).op == op;
}

// A constant of one element is known as a number if it has at most one dimension.
Answer NotPlainNumber(const ModelView& model, ValueId id) {
  if (!model.Number(id).has_value() || model.Type(id).rank() <= 1) return std::nullopt;
  return Reason{"constant_shape", absl::StrCat("the constant ", *model.Number(id),
                                               " has the shape ", model.ShapeText(id),
                                               ", and would have to have at most one dimension")};
}

Answer ReadElsewhere(const ModelView& model, NodeId id) {
  const ValueId value = ValueOf(model, id);
  if (model.OnlyReader(value).valid()) return std::nullopt;
  return Reason{
      model.IsOutput(value) ? "graph_output" : "other_reader",
      absl::StrCat("the value of the ", model.node(id).op, " inside of it is used elsewhere, too")};
}

// --- Gelu: x (1 + Erf(x / sqrt(2))) / 2

std::optional<Spelling> Gelu(const ModelView& model, NodeId erf) {
  const NodeId in = model.Producer(model.node(erf).inputs[0]);
  if (!IsOp(model, in, "Div") && !IsOp(model, in, "Mul")) return std::nullopt;
  std::vector<NodeId> nodes = {in, erf};
  const auto finding = [&](Reason reason) {
    return Spelling{{"Gelu, written out", std::move(reason)}, nodes};
  };
  const NodeId sum = model.OnlyReader(ValueOf(model, erf));
  if (!sum.valid()) {
    const bool adds = std::ranges::any_of(model.Readers(ValueOf(model, erf)), [&](NodeId reader) {
      return IsOp(model, reader, "Add");
    });
    if (!adds) return std::nullopt;
    return finding(*ReadElsewhere(model, erf));
  }
  if (!IsOp(model, sum, "Add")) return std::nullopt;
  nodes.push_back(sum);
  if (const Answer read = ReadElsewhere(model, sum)) return finding(*read);
  const NodeId product = model.OnlyReader(ValueOf(model, sum));
  if (!IsOp(model, product, "Mul")) return std::nullopt;
  nodes.push_back(product);
  if (model.IsConstant(Beside(model.node(product), ValueOf(model, sum)))) {
    const NodeId last = model.OnlyReader(ValueOf(model, product));
    if (!IsOp(model, last, "Mul")) return std::nullopt;
    nodes.push_back(last);
    return finding(
        {"operand_order",
         "the factor of one half is multiplied with 1 + Erf first; x (1 + Erf) times it, "
         "or x times it times (1 + Erf), would be recognized"});
  }
  if (const Answer shape =
          NotPlainNumber(model, Beside(model.node(in), model.node(in).inputs[0]))) {
    return finding(*shape);
  }
  if (const Answer read = ReadElsewhere(model, product)) return finding(*read);
  const NodeId last = model.OnlyReader(ValueOf(model, product));
  if (!last.valid()) return std::nullopt;
  const ValueId half = model.node(last).inputs.size() == 2
                           ? Beside(model.node(last), ValueOf(model, product))
                           : ValueId();
  if (!half.valid() || !model.IsConstant(half)) return std::nullopt;
  nodes.push_back(last);
  if (IsOp(model, last, "Div")) {
    return finding({"operator", "it is divided by 2 and would have to be multiplied by 0.5"});
  }
  if (const Answer shape = NotPlainNumber(model, half)) return finding(*shape);
  return std::nullopt;
}

// --- LayerNormalization and SimplifiedLayerNormalization: (x - mean) / sqrt(mean of squares + eps)

bool IsOverLastAxes(const ModelView& model, NodeId mean) {
  const int64_t rank = model.Type(model.node(mean).inputs[0]).rank();
  const model::Ints axes = model.node(mean).attributes.GetInts("axes", {});
  return axes.size() == 1 && (axes[0] == rank - 1 || axes[0] == -1);
}

std::optional<Spelling> LayerNormalization(const ModelView& model, NodeId root) {
  const NodeId sum = model.Producer(model.node(root).inputs[0]);
  if (!IsOp(model, sum, "Add")) return std::nullopt;
  const Node& with_epsilon = model.node(sum);
  const bool second = model.IsConstant(with_epsilon.inputs[0]);
  const NodeId mean = model.Producer(with_epsilon.inputs[second ? 1 : 0]);
  if (!IsOp(model, mean, "ReduceMean")) return std::nullopt;
  const NodeId square = model.Producer(model.node(mean).inputs[0]);
  if (!IsOp(model, square, "Pow") && !IsOp(model, square, "Mul")) return std::nullopt;
  const std::vector<NodeId> nodes = {square, mean, sum, root};
  const bool subtracts = IsOp(model, model.Producer(model.node(square).inputs[0]), "Sub");
  const auto finding = [&](Reason reason) {
    return Spelling{{subtracts ? "LayerNormalization, written out"
                               : "SimplifiedLayerNormalization (RMS), written out",
                     std::move(reason)},
                    nodes};
  };
  if (!IsOverLastAxes(model, mean)) {
    return finding({"axis", "the mean is not over the last dimension alone"});
  }
  if (IsOp(model, square, "Mul")) {
    return finding({"operator", "the square is a Mul and would have to be a Pow"});
  }
  const NodeId reader = model.OnlyReader(ValueOf(model, root));
  if (IsOp(model, reader, "Reciprocal")) {
    return finding({"operator",
                    "the root is inverted by a Reciprocal and would have to be the "
                    "divisor of a Div"});
  }
  return std::nullopt;
}

// --- HardSwish: x HardSigmoid(x)

std::optional<Spelling> HardSwish(const ModelView& model, NodeId sigmoid) {
  const ValueId x = model.node(sigmoid).inputs[0];
  const NodeId product = model.OnlyReader(ValueOf(model, sigmoid));
  if (!IsOp(model, product, "Mul")) return std::nullopt;
  if (Beside(model.node(product), ValueOf(model, sigmoid)) != x) return std::nullopt;
  const NodeId conv = model.Producer(x);
  if (!IsOp(model, conv, "Conv")) return std::nullopt;
  const auto finding = [&](Reason reason) {
    return Spelling{{"HardSwish behind Conv", std::move(reason)}, {sigmoid, product}};
  };
  const std::optional<size_t> kernel = model.KernelOf(conv);
  if (kernel.has_value() && !IsBlocked(model.Spec(*kernel))) {
    return finding({"layout", "only a Conv in the blocked layout takes it"});
  }
  constexpr double kSlope = 1.0 / 6;
  if (std::abs(model.node(sigmoid).attributes.GetFloat("alpha", 0.2) - kSlope) > 1e-6) {
    return finding({"attribute", "the slope of the HardSigmoid is not 1/6"});
  }
  if (model.IsOutput(ValueOf(model, product))) {
    return finding({"graph_output", "its value is an output of the model"});
  }
  return std::nullopt;
}

// --- SkipLayerNormalization: LayerNormalization(x + y)

std::optional<Spelling> SkipNormalization(const ModelView& model, NodeId norm) {
  const ValueId value = model.node(norm).inputs[0];
  const NodeId sum = model.Producer(value);
  if (!model.IsAlone(sum, "Add")) return std::nullopt;
  const Node& add = model.node(sum);
  const auto finding = [&](Reason reason) {
    return Spelling{{"Add in front of LayerNormalization", std::move(reason)}, {sum}};
  };
  if (model.Type(value).rank() != 3) {
    return finding({"rank", absl::StrCat("the sum has the shape ", model.ShapeText(value),
                                         ", and would have to have three dimensions")});
  }
  if (model.OpenType(add.inputs[0]) != model.OpenType(add.inputs[1])) {
    return finding({"operand_shape", absl::StrCat("the summands are not known to have one shape: ",
                                                  ToString(model.OpenType(add.inputs[0])), " and ",
                                                  ToString(model.OpenType(add.inputs[1])))});
  }
  if (const Answer read = ReadElsewhere(model, sum)) {
    return finding({read->name, "the sum is used elsewhere, too"});
  }
  return std::nullopt;
}

using Recognizer = std::optional<Spelling> (*)(const ModelView&, NodeId);
struct Row {
  absl::string_view op;  // The most telling node.
  Recognizer recognizer;
};
constexpr Row kRows[] = {{"Erf", Gelu},
                         {"Sqrt", LayerNormalization},
                         {"HardSigmoid", HardSwish},
                         {"LayerNormalization", SkipNormalization}};

}  // namespace

std::optional<Spelling> WhyNotRecognized(const ModelView& model, NodeId id) {
  for (const Row& row : kRows) {
    if (model.IsAlone(id, row.op)) return row.recognizer(model, id);
  }
  return std::nullopt;
}

}  // namespace quotient::explain
