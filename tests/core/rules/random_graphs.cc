#include "tests/core/rules/random_graphs.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "core/ops/infer_graph.h"

namespace quotient::rules {
namespace {

using model::AttributeMap;
using model::DType;
using model::Graph;
using model::Ints;
using model::Tensor;
using model::TensorType;
using model::ValueId;

constexpr int64_t kMaxElements = 600;

class Generator {
 public:
  Generator(uint64_t seed, DType dtype) : rng_(seed, 3), dtype_(dtype) {}

  Graph Run(int num_nodes) {
    AddInputs();
    for (int tries = 0; tries < 20 * num_nodes && Nodes() < num_nodes; ++tries) Grow();
    AddOutputs();
    return std::move(graph_);
  }

  Graph RunAround(const Graph& base, int num_nodes) {
    graph_ = base;
    graph_.outputs.clear();
    prefix_ = "more.";
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const model::Value& value = graph_.values[i];
      // The generator makes neither scalars nor empty tensors, and so takes none.
      const bool is_usual = value.type.rank() > 0 && value.type.elements() > 0;
      if (!value.constant && is_usual) pool_.push_back(ValueId(static_cast<uint32_t>(i)));
    }
    const int most = Nodes() + num_nodes;
    for (int tries = 0; !pool_.empty() && tries < 4 * num_nodes && Nodes() < most; ++tries) Grow();
    // What the base is about must stay visible, even where another node reads it.
    graph_.outputs = base.outputs;
    AddOutputs();
    return std::move(graph_);
  }

 private:
  void AddInputs() {
    const bool images = rng_.Below(2) == 0;
    const int64_t a = 1 + Pick(3), b = 2 * (1 + Pick(3)), c = 3 + Pick(4), d = 2 + Pick(4);
    const Ints dims = images ? Ints{a, b, c, d} : Ints{a, c, b};
    for (int i = 0; i < 2; ++i) {
      const ValueId x = graph_.AddInput(absl::StrCat("x", i), model::StaticType(dtype_, dims));
      pool_.push_back(x);
    }
  }

  int Nodes() const { return static_cast<int>(graph_.nodes.size()); }
  int64_t Pick(int64_t bound) { return static_cast<int64_t>(rng_.Below(bound)); }
  bool Chance(int percent) { return Pick(100) < percent; }

  // A value; early ones often, so that several nodes share an input.
  ValueId Any() {
    const size_t size = pool_.size();
    return pool_[Chance(50) ? Pick(size) : size - 1 - Pick(std::min<size_t>(size, 3))];
  }
  const TensorType& TypeOf(ValueId id) const { return graph_.value(id).type; }

  ValueId Constant(Ints dims, double low = -1, double high = 1) {
    std::span<std::byte> buffer;
    const Tensor tensor = Tensor::Allocate(dtype_, std::move(dims), &buffer);
    std::vector<double> values(tensor.elements());
    // Exporters write float32 numbers; those of Idiom are one of them in each range.
    for (double& value : values) value = static_cast<float>(rng_.Uniform(low, high));
    model::Store(dtype_, buffer, 0, std::span<const double>(values));
    return graph_.AddConstant(absl::StrCat(prefix_, "c", graph_.values.size()), tensor);
  }

  // Keeps the node only if its types can be inferred and it stays small.
  std::optional<ValueId> Try(absl::string_view op, std::vector<ValueId> inputs,
                             AttributeMap attributes = {}) {
    Graph attempt = graph_;
    const ValueId output = attempt.AddOp(op, std::move(inputs), std::move(attributes),
                                         absl::StrCat(prefix_, "v", attempt.values.size()));
    if (!ops::InferTypes(attempt).ok()) return std::nullopt;
    const TensorType& type = attempt.value(output).type;
    if (!type.is_static() || type.elements() > kMaxElements || type.elements() == 0) {
      return std::nullopt;
    }
    graph_ = std::move(attempt);
    pool_.push_back(output);
    return output;
  }

  void Grow() {
    const ValueId x = Any();
    const TensorType type = TypeOf(x);
    if (type.dtype != dtype_) {
      Try("Cast", {x}, {{"to", static_cast<int64_t>(dtype_)}});
      return;
    }
    if (type.rank() == 0) return Unary(x);  // The others work along an axis.
    switch (Pick(18)) {
      case 0:
      case 1:
        return Unary(x);
      case 2:
      case 3:
      case 4:
        return WithConstant(x, type);
      case 5:
        Try(Chance(60) ? "Add" : Chance(50) ? "Mul" : "Sub", {x, Any()});
        return;
      case 6:
      case 7:
      case 8:
        return type.rank() == 4 ? Conv(x, type) : MatMul(x, type);
      case 9:
        return type.rank() == 4 ? BatchNorm(x, type) : Gemm(x, type);
      case 10:
        return TransposeOf(x, type);
      case 11:
        return ReshapeOf(x, type);
      case 12:
        Try("Concat", {x, Chance(30) ? x : Any()}, {{"axis", Pick(type.rank())}});
        return;
      case 13:
        return SliceOf(x, type);
      case 14:
        return SplitOf(x, type);
      case 15:
        return Normalization(x, type);
      case 16:
        return Moves(x, type);
      default:
        return Idiom(x, type);
    }
  }

  void Unary(ValueId x) {
    static constexpr const char* kOps[] = {"Relu", "Sigmoid",   "Tanh",     "Neg",
                                           "Abs",  "LeakyRelu", "Identity", "Erf"};
    if (Chance(20)) {
      Try("Clip", {x}, {{"min", rng_.Uniform(-1, 0)}, {"max", rng_.Uniform(0.1, 2)}});
    } else {
      Try(kOps[Pick(std::size(kOps))], {x});
    }
  }

  // A constant that varies along some axes of x alone, perhaps of lower or higher rank.
  Ints BroadcastDims(const TensorType& type) {
    Ints dims;
    for (const int64_t dim : type.dims()) dims.push_back(Chance(35) ? dim : 1);
    while (!dims.empty() && Chance(50) && dims[0] == 1) dims.erase(dims.begin());
    if (Chance(5)) dims.insert(dims.begin(), 1);
    return dims;
  }

  void WithConstant(ValueId x, const TensorType& type) {
    const ValueId c = Chance(15) ? Constant({}, Chance(50) ? 0 : 1, Chance(50) ? 1e-9 : 1.000000001)
                                 : Constant(BroadcastDims(type), 0.5, 2);
    static constexpr const char* kOps[] = {"Add", "Mul", "Sub", "Div", "Add", "Mul"};
    const char* op = kOps[Pick(std::size(kOps))];
    if (Chance(25)) {
      Try(op, {c, x});
    } else {
      Try(op, {x, c});
    }
  }

  void Conv(ValueId x, const TensorType& type) {
    const int64_t channels = type.dim(1).number();
    const int64_t group = Chance(30) && channels % 2 == 0 ? (Chance(50) ? 2 : channels) : 1;
    const int64_t outputs = Chance(40) ? channels : group * (1 + Pick(3));
    const int64_t kernel = 1 + Pick(3);
    const int64_t dilation = 1 + (kernel > 1 && Chance(20));
    const int64_t stride = 1 + Chance(30);
    const int64_t same = dilation * (kernel - 1) / 2;
    const int64_t end = Chance(80) ? same : Pick(2);
    std::vector<ValueId> inputs = {x, Constant({outputs, channels / group, kernel, kernel})};
    if (Chance(50)) inputs.push_back(Constant({outputs}));
    const AttributeMap attributes = {{"group", group},
                                     {"strides", Ints{stride, stride}},
                                     {"dilations", Ints{dilation, dilation}},
                                     {"pads", Ints{same, same, end, end}}};
    if (Chance(15) && group == 1) {
      inputs[1] = Constant({channels, outputs, kernel, kernel});
      Try("ConvTranspose", inputs, {{"strides", Ints{stride, stride}}});
      return;
    }
    const auto y = Try("Conv", inputs, attributes);
    if (y && Chance(30)) Try("Add", {*y, Any()});
  }

  void MatMul(ValueId x, const TensorType& type) {
    if (type.rank() < 2) return;
    const int64_t rows = type.dims().back();
    if (Chance(20)) {
      Ints perm(type.rank());
      for (int i = 0; i < type.rank(); ++i) perm[i] = i;
      std::swap(perm[type.rank() - 1], perm[type.rank() - 2]);
      if (const auto t = Try("Transpose", {Any()}, {{"perm", perm}})) Try("MatMul", {x, *t});
      return;
    }
    const auto y = Try("MatMul", {x, Constant({rows, 2 + Pick(5)})});
    if (y && Chance(50)) Try("Add", {*y, Constant({TypeOf(*y).dims().back()})});
    if (y && Chance(40)) Try("Add", {*y, Any()});
  }

  void Gemm(ValueId x, const TensorType& type) {
    ValueId flat = x;
    if (type.rank() != 2) {
      const auto y = Try("Reshape", {x}, {{"shape", Ints{-1, type.dims().back()}}});
      if (!y) return;
      flat = *y;
    }
    const int64_t rows = TypeOf(flat).dims()[1];
    const int64_t columns = 2 + Pick(4);
    const bool transposed = Chance(50);
    std::vector<ValueId> inputs = {
        flat, Constant(transposed ? Ints{columns, rows} : Ints{rows, columns})};
    if (Chance(60)) inputs.push_back(Constant(Chance(70) ? Ints{columns} : Ints{1, 1}));
    AttributeMap attributes = {{"transB", int64_t{transposed}}};
    if (Chance(20)) attributes.Set("alpha", 0.5);
    if (Chance(20)) attributes.Set("beta", 2.0);
    Try("Gemm", inputs, attributes);
  }

  void BatchNorm(ValueId x, const TensorType& type) {
    const Ints channels = {type.dim(1).number()};
    Try("BatchNormalization", {x, Constant(channels), Constant(channels), Constant(channels),
                               Constant(channels, 0.2, 2)});
  }

  Ints RandomPerm(int rank) {
    Ints perm(rank);
    for (int i = 0; i < rank; ++i) perm[i] = i;
    for (int i = rank; i > 1; --i) std::swap(perm[i - 1], perm[Pick(i)]);
    return perm;
  }

  void TransposeOf(ValueId x, const TensorType& type) {
    const Ints perm = RandomPerm(type.rank());
    const auto y = Try("Transpose", {x}, {{"perm", perm}});
    if (y && Chance(30)) Try("Add", {*y, Constant(BroadcastDims(TypeOf(*y)))});
    if (y && Chance(40)) Try("Transpose", {pool_.back()}, {{"perm", RandomPerm(type.rank())}});
  }

  // Joins or parts neighbouring axes.
  void ReshapeOf(ValueId x, const TensorType& type) {
    Ints dims = type.dims();
    const int64_t axis = Pick(dims.size());
    if (Chance(50) && axis + 1 < static_cast<int64_t>(dims.size())) {
      dims[axis] *= dims[axis + 1];
      dims.erase(dims.begin() + axis + 1);
    } else if (dims[axis] % 2 == 0) {
      dims[axis] /= 2;
      dims.insert(dims.begin() + axis + Pick(2), 2);
    } else {
      dims.insert(dims.begin() + axis, 1);
    }
    Try("Reshape", {x}, {{"shape", dims}});
  }

  void SliceOf(ValueId x, const TensorType& type) {
    const int64_t axis = Pick(type.rank());
    const int64_t size = type.dims()[axis];
    if (size < 2) return;
    const int64_t begin = Pick(size - 1);
    Ints steps = {Chance(10) ? 2 : 1};
    Try("Slice", {x},
        {{"axes", Ints{axis}},
         {"starts", Ints{begin}},
         {"ends", Ints{begin + 1 + Pick(size - begin)}},
         {"steps", steps}});
  }

  void SplitOf(ValueId x, const TensorType& type) {
    const int64_t axis = Pick(type.rank());
    const int64_t size = type.dims()[axis];
    if (size < 2) return;
    const int64_t cut = 1 + Pick(size - 1);
    const auto first =
        Try("Slice", {x}, {{"axes", Ints{axis}}, {"starts", Ints{0}}, {"ends", Ints{cut}}});
    const auto second =
        Try("Slice", {x}, {{"axes", Ints{axis}}, {"starts", Ints{cut}}, {"ends", Ints{size}}});
    if (!first || !second) return;
    if (Chance(50)) {
      const auto a = Try("Relu", {*first});
      const auto b = Try("Relu", {*second});
      if (a && b && Chance(50)) Try("Concat", {*a, *b}, {{"axis", axis}});
    } else {
      Try("Concat", {*first, *second}, {{"axis", axis}});
    }
  }

  void Normalization(ValueId x, const TensorType& type) {
    if (Chance(30)) {
      Try("Softmax", {x}, {{"axis", Pick(type.rank())}});
      return;
    }
    const Ints last = {type.dims().back()};
    std::vector<ValueId> inputs = {x, Constant(last)};
    if (Chance(50)) inputs.push_back(Constant(last));
    Try("LayerNormalization", inputs);
  }

  void Moves(ValueId x, const TensorType& type) {
    switch (Pick(5)) {
      case 0: {
        Ints pads(2 * type.rank(), 0);
        for (int i = 2; i < type.rank(); ++i) pads[i] = Pick(2);
        for (int i = 2; i < type.rank(); ++i) pads[type.rank() + i] = Pick(2);
        Try("Pad", {x}, {{"pads", pads}, {"constant_value", Chance(80) ? 0.0 : 1.0}});
        return;
      }
      case 1: {
        const int64_t axis = Pick(type.rank());
        const ValueId index = graph_.AddConstant(absl::StrCat(prefix_, "i", graph_.values.size()),
                                                 Tensor::IntScalar(Pick(type.dims()[axis])));
        Try("Gather", {x, index}, {{"axis", axis}});
        return;
      }
      case 2:
        Try("ReduceMean", {x}, {{"axes", Ints{Pick(type.rank())}}});
        return;
      case 3:
        Try("Cast", {x}, {{"to", int64_t{11}}});
        return;
      default:
        Try("Unsqueeze", {x}, {{"axes", Ints{Pick(type.rank())}}});
    }
  }

  // What exporters write out.
  void Idiom(ValueId x, const TensorType& type) {
    if (Chance(40)) {
      const Ints axes = {type.rank() - (Chance(80) ? 1 : static_cast<int64_t>(type.rank()))};
      const auto m = Try("ReduceMean", {x}, {{"axes", axes}});
      if (!m) return;
      const auto d = Try("Sub", {x, *m});
      const auto s = d ? Try("Mul", {*d, *d}) : d;
      const auto v = s ? Try("ReduceMean", {*s}, {{"axes", axes}}) : s;
      const auto e = v ? Try("Add", {*v, Constant({}, 0.01, 0.1)}) : v;
      const auto r = e ? Try("Sqrt", {*e}) : e;
      if (r) Try("Div", {*d, *r});
      return;
    }
    const auto u = Try("Mul", {x, Constant({}, 0.70710677, 0.70710679)});
    const auto f = u ? Try("Erf", {*u}) : u;
    const auto g = f ? Try("Add", {*f, Constant({}, 1, 1 + 1e-12)}) : f;
    const auto p = g ? Try("Mul", {x, *g}) : g;
    if (p) Try("Mul", {*p, Constant({}, 0.5, 0.5 + 1e-12)});
  }

  void AddOutputs() {
    std::vector<bool> is_read(graph_.values.size(), false);
    for (const model::Node& node : graph_.nodes) {
      for (const ValueId input : node.inputs) {
        if (input.valid()) is_read[input.value()] = true;
      }
    }
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const ValueId id(static_cast<uint32_t>(i));
      const bool is_output = std::ranges::find(graph_.outputs, id) != graph_.outputs.end();
      if (graph_.value(id).producer.valid() && !is_read[i] && !is_output) {
        graph_.outputs.push_back(id);
      }
    }
  }

  Rng rng_;
  const DType dtype_;
  Graph graph_;
  std::string prefix_;  // Of the names of new values.
  std::vector<ValueId> pool_;
};

}  // namespace

model::Graph RandomGraph(uint64_t seed, int num_nodes, model::DType dtype) {
  return Generator(seed, dtype).Run(num_nodes);
}

model::Graph RandomGraphAround(const model::Graph& base, uint64_t seed, int num_nodes) {
  DType dtype = DType::kFloat32;
  for (const model::Value& value : base.values) {
    if (model::IsFloat(value.type.dtype)) dtype = value.type.dtype;
  }
  return Generator(seed, dtype).RunAround(base, num_nodes);
}

}  // namespace quotient::rules
