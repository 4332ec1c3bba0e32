#include "tests/core/prove/guard_graphs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/model/dtype.h"
#include "core/ops/infer_graph.h"
#include "core/prove/symbols.h"

namespace quotient::prove {
namespace {

using model::DType;
using model::Graph;
using model::Ints;
using model::Tensor;
using model::ValueId;

constexpr int64_t kMostElements = 1 << 12;

// A tensor of these dims whose elements are 64-bit integers if those of `dtype` are integers.
Tensor TensorOf(DType dtype, Ints dims, const std::function<double(int64_t)>& element) {
  std::span<std::byte> buffer;
  const Tensor tensor = Tensor::Allocate(dtype, std::move(dims), &buffer);
  std::vector<double> elements(static_cast<size_t>(tensor.elements()));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = element(static_cast<int64_t>(i));
  if (model::IsFloat(dtype) || dtype == DType::kBool) {
    model::Store(dtype, buffer, 0, std::span<const double>(elements));
  } else {
    const std::vector<int64_t> integers(elements.begin(), elements.end());
    model::Store(dtype, buffer, 0, std::span<const int64_t>(integers));
  }
  return tensor;
}

double ElementOf(const Tensor& tensor, int64_t i) {
  const bool is_integer = !model::IsFloat(tensor.dtype()) && tensor.dtype() != DType::kBool;
  return is_integer ? static_cast<double>(tensor.GetInt(i)) : tensor.GetDouble(i);
}

class Provocation {
 public:
  Provocation(const Graph& graph, Rng& rng) : graph_(graph), rng_(rng) {}

  std::optional<Graph> Run() {
    if (!Change() || !Infer()) return std::nullopt;
    return std::move(graph_);
  }

 private:
  // Returns whether there was something to change.
  bool Change() {
    switch (rng_.Below(12)) {
      case 0:
      case 1:
      case 2:
        return ChangeNumbers();
      case 3:
      case 4:
        return ChangeShapeOf(Constants());
      case 5:
        return ChangeShapeOf(Inputs());
      case 6:
        return ChangeTypes();
      case 7:
        return OpenConstant();
      case 8:
        return FixInput();
      case 9:
        return JoinInputs();
      case 10:
        return rng_.Below(3) == 0 ? MakeInputTiny() : ReadBySomething();
      default:
        return ChangeAttribute();
    }
  }

  bool Infer() {
    for (model::Value& value : graph_.values) {
      if (value.producer.valid()) value.type = model::TensorType();
    }
    if (!ops::InferTypes(graph_).ok() || !IsStatic(graph_)) return false;
    return std::ranges::all_of(graph_.values, [](const model::Value& value) {
      return value.type.elements() <= kMostElements;
    });
  }

  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(high - low + 1)));
  }
  template <typename Range>
  auto& OneOf(Range&& range) {
    return range[rng_.Below(std::size(range))];
  }

  bool IsRead(ValueId id) const {
    return std::ranges::any_of(graph_.nodes, [&](const model::Node& node) {
      return std::ranges::find(node.inputs, id) != node.inputs.end();
    });
  }

  // Those that something reads; so are the inputs.
  std::vector<ValueId> Constants() const {
    std::vector<ValueId> constants;
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const ValueId id(static_cast<uint32_t>(i));
      const auto& constant = graph_.values[i].constant;
      if (constant && constant->elements() > 0 && IsRead(id)) constants.push_back(id);
    }
    return constants;
  }
  std::vector<ValueId> Inputs() const {
    std::vector<ValueId> inputs;
    std::ranges::copy_if(graph_.inputs, std::back_inserter(inputs),
                         [&](ValueId id) { return IsRead(id); });
    return inputs;
  }

  void SetConstant(ValueId id, Tensor tensor) {
    model::Value& value = graph_.value(id);
    value.type = tensor.type();
    value.constant = std::move(tensor);
  }

  double Number() {
    static constexpr double kNumbers[] = {-3, -1, 0, 0.3, 0.5, 1, 1.5, 2, 5, 100, 1e-9, INFINITY};
    return OneOf(kNumbers);
  }

  bool ChangeNumbers() {
    const std::vector<ValueId> constants = Constants();
    if (constants.empty()) return false;
    const ValueId id = OneOf(constants);
    const Tensor from = *graph_.value(id).constant;
    const bool is_float = model::IsFloat(from.dtype());
    const double number = is_float ? Number() : static_cast<double>(Between(0, 4));
    const double factor = std::exp2(static_cast<double>(Between(-60, 60)));
    const int64_t place = Between(0, from.elements() - 1);
    const uint64_t way = rng_.Below(is_float ? 4 : 2);
    SetConstant(id, TensorOf(from.dtype(), from.dims(), [&](int64_t i) {
                  if (way == 0) return number;
                  if (way == 1) return i == place ? number : ElementOf(from, i);
                  return way == 2 ? rng_.Uniform(-10, 10) : factor * from.GetDouble(i);
                }));
    return true;
  }

  // Another number of axes, or an axis that broadcasts or is broadcast.
  Ints OtherDims(Ints dims) {
    if (dims.size() > 1 && rng_.Below(5) == 0) return {dims.back()};
    if (dims.empty() || rng_.Below(3) == 0) {
      dims.insert(dims.begin(), Between(1, 3));
    } else if (rng_.Below(4) == 0) {
      dims.erase(dims.begin());
    } else {
      int64_t& dim = OneOf(dims);
      dim = dim == 1 ? Between(2, 3) : 1;
    }
    return dims;
  }

  // Dims of an operand that is broadcast beside one with the given ones, and maybe broadcasts it.
  Ints DimsBeside(Ints dims) {
    for (int64_t& dim : dims) {
      if (rng_.Below(2) == 0) dim = dim == 1 ? Between(1, 3) : 1;
    }
    if (rng_.Below(3) == 0) dims.insert(dims.begin(), Between(1, 3));
    return dims;
  }

  bool ChangeShapeOf(const std::vector<ValueId>& values) {
    if (values.empty()) return false;
    const ValueId id = OneOf(values);
    model::Value& value = graph_.value(id);
    const model::TensorType& other = OneOf(graph_.values).type;
    const bool is_beside_other = rng_.Below(2) == 0 && other.is_static();
    const Ints dims = is_beside_other ? DimsBeside(other.dims()) : OtherDims(value.type.dims());
    if (!value.constant) {
      value.type = model::StaticType(value.type.dtype, dims);
      return true;
    }
    const Tensor from = *value.constant;
    SetConstant(id, TensorOf(from.dtype(), dims,
                             [&](int64_t i) { return ElementOf(from, i % from.elements()); }));
    return true;
  }

  bool ChangeTypes() {
    static constexpr DType kTypes[] = {DType::kFloat64, DType::kFloat16, DType::kInt32,
                                       DType::kInt64, DType::kUint8};
    const DType dtype = OneOf(kTypes);
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const model::Value& value = graph_.values[i];
      const ValueId id(static_cast<uint32_t>(i));
      if (value.producer.valid() || value.type.dtype != DType::kFloat32) continue;
      if (!value.constant) {
        graph_.value(id).type.dtype = dtype;
        continue;
      }
      const Tensor from = *value.constant;
      SetConstant(id, TensorOf(dtype, from.dims(), [&](int64_t j) { return from.GetDouble(j); }));
    }
    return true;
  }

  bool OpenConstant() {
    const std::vector<ValueId> constants = Constants();
    if (constants.empty()) return false;
    const ValueId id = OneOf(constants);
    graph_.value(id).constant.reset();
    graph_.inputs.push_back(id);
    graph_.defaults.resize(graph_.inputs.size());
    return true;
  }

  bool FixInput() {
    const std::vector<ValueId> inputs = Inputs();
    if (inputs.empty()) return false;
    const ValueId id = OneOf(inputs);
    const model::TensorType type = graph_.value(id).type;
    std::erase(graph_.inputs, id);
    graph_.defaults.clear();
    graph_.defaults.resize(graph_.inputs.size());
    const double low = rng_.Below(2) == 0 ? 0 : -2;
    SetConstant(id, TensorOf(type.dtype, type.dims(), [&](int64_t) {
                  return type.dtype == DType::kBool ? static_cast<double>(rng_.Below(2))
                                                    : rng_.Uniform(low, 2);
                }));
    return true;
  }

  void Replace(ValueId from, ValueId to) {
    for (model::Node& node : graph_.nodes) std::ranges::replace(node.inputs, from, to);
  }

  bool JoinInputs() {
    const std::vector<ValueId> inputs = Inputs();
    if (inputs.size() < 2) return false;
    const ValueId one = OneOf(inputs);
    const ValueId other = OneOf(inputs);
    if (one == other || graph_.value(one).type != graph_.value(other).type) return false;
    Replace(one, other);
    return true;
  }

  // A step reads a value, or what is singular at zero does.
  bool ReadBySomething() {
    if (graph_.nodes.empty()) return false;
    const model::Node& node = OneOf(graph_.nodes);
    const ValueId value = node.outputs[0];
    if (!value.valid() || !model::IsFloat(graph_.value(value).type.dtype)) return false;
    static constexpr const char* kReaders[] = {"Floor", "Round", "Reciprocal", "Sqrt"};
    graph_.outputs.push_back(graph_.AddOp(OneOf(kReaders), {value}));
    return true;
  }

  // Multiplies an input by a tiny number.
  bool MakeInputTiny() {
    const std::vector<ValueId> inputs = Inputs();
    if (inputs.empty()) return false;
    const ValueId input = OneOf(inputs);
    const DType dtype = graph_.value(input).type.dtype;
    if (!model::IsFloat(dtype)) return false;
    const ValueId tiny =
        graph_.AddConstant("provoked_factor", TensorOf(dtype, {}, [](int64_t) { return 0x1p-22; }));
    const ValueId product = graph_.AddOp("Mul", {input, tiny}, {}, "provoked_product");
    model::Node node = graph_.nodes.back();
    graph_.nodes.pop_back();
    Replace(input, product);
    graph_.nodes.insert(graph_.nodes.begin(), std::move(node));
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const ValueId output : graph_.nodes[i].outputs) {
        if (output.valid()) {
          graph_.value(output).producer = model::NodeId(static_cast<uint32_t>(i));
        }
      }
    }
    return true;
  }

  Ints OtherInts(Ints ints) {
    if (ints.empty()) return ints;
    if (rng_.Below(3) == 0) {
      for (size_t i = ints.size(); i > 1; --i) std::swap(ints[i - 1], ints[rng_.Below(i)]);
    } else if (rng_.Below(4) == 0) {
      ints.erase(ints.begin() + Between(0, static_cast<int64_t>(ints.size()) - 1));
    } else {
      OneOf(ints) = Between(-1, 4);
    }
    return ints;
  }

  model::Attribute Other(const model::Attribute& attribute) {
    if (std::holds_alternative<double>(attribute)) return Number();
    if (std::holds_alternative<int64_t>(attribute)) return Between(-2, 3);
    if (const Ints* const ints = std::get_if<Ints>(&attribute)) return OtherInts(*ints);
    return attribute;
  }

  // Of one operator, or of all operators of that name that have the same attributes, which a rule
  // may ask for.
  bool ChangeAttribute() {
    std::vector<std::pair<size_t, std::string>> places;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const model::Node& node = graph_.nodes[i];
      for (const auto& [name, attribute] : node.attributes) places.emplace_back(i, name);
      if (node.op == "Pad") places.insert(places.end(), {{i, "constant_value"}, {i, "mode"}});
    }
    if (places.empty()) return false;
    const auto& [place, name] = OneOf(places);
    const model::Node chosen = graph_.nodes[place];
    model::AttributeMap attributes = chosen.attributes;
    if (name == "constant_value") {
      attributes.Set(name, Number());
    } else if (name == "mode") {
      attributes.Set(name, std::string("edge"));
    } else {
      attributes.Set(name, Other(*attributes.Find(name)));
    }
    const bool changes_all = rng_.Below(2) == 0;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      model::Node& node = graph_.nodes[i];
      const bool is_alike = node.op == chosen.op && node.attributes == chosen.attributes;
      if (i == place || (changes_all && is_alike)) node.attributes = attributes;
    }
    return true;
  }

  Graph graph_;
  Rng& rng_;
};

}  // namespace

std::optional<Graph> Provoked(const Graph& graph, Rng& rng) {
  if (!IsStatic(graph) || graph.inputs.empty()) return std::nullopt;
  return Provocation(graph, rng).Run();
}

}  // namespace quotient::prove
