#include "tests/core/rules/random_graphs.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "tests/core/rules/growing_graph.h"

namespace quotient::rules {
namespace {

using model::AttributeMap;
using model::Ints;
using model::TensorType;
using model::ValueId;

// Adds nodes of random operators.
class Generator : public GrowingGraph {
 public:
  using GrowingGraph::GrowingGraph;

  void Grow() {
    const ValueId x = Any();
    const TensorType type = TypeOf(x);
    if (type.dtype != dtype()) {
      Try("Cast", {x}, {{"to", static_cast<int64_t>(dtype())}});
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

 private:
  void Unary(ValueId x) {
    static constexpr const char* kOps[] = {"Relu", "Sigmoid",   "Tanh",     "Neg",
                                           "Abs",  "LeakyRelu", "Identity", "Erf"};
    if (Chance(20)) {
      Try("Clip", {x}, {{"min", Uniform(-1, 0)}, {"max", Uniform(0.1, 2)}});
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
    if (y && Chance(40)) Try("Transpose", {Last()}, {{"perm", RandomPerm(type.rank())}});
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
        const ValueId index = Index(Pick(type.dims()[axis]));
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
};

}  // namespace

model::Graph RandomGraph(uint64_t seed, int num_nodes, model::DType dtype) {
  Generator generator(seed, dtype);
  for (int tries = 0; tries < 20 * num_nodes && generator.num_nodes() < num_nodes; ++tries) {
    generator.Grow();
  }
  return std::move(generator).Finish();
}

model::Graph RandomGraphAround(const model::Graph& base, uint64_t seed, int num_nodes) {
  Generator generator(seed, base);
  const int most = generator.num_nodes() + num_nodes;
  for (int tries = 0; generator.HasValues() && tries < 4 * num_nodes; ++tries) {
    if (generator.num_nodes() >= most) break;
    generator.Grow();
  }
  return std::move(generator).Finish();
}

}  // namespace quotient::rules
