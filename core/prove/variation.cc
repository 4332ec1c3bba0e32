#include "core/prove/variation.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/model/dtype.h"
#include "core/ops/infer_graph.h"

namespace quotient::prove {
namespace {

using model::Ints;

template <typename Number, typename ElementAt>
model::Tensor TensorOf(model::DType dtype, Ints dims, const ElementAt& element) {
  std::span<std::byte> buffer;
  const model::Tensor tensor = model::Tensor::Allocate(dtype, std::move(dims), &buffer);
  std::vector<Number> elements(static_cast<size_t>(tensor.elements()));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = element(static_cast<int64_t>(i));
  model::Store(dtype, buffer, 0, std::span<const Number>(elements));
  return tensor;
}

// A tensor of these dims with the elements of `from`, again and again.
model::Tensor Repeated(const model::Tensor& from, Ints dims) {
  const model::DType dtype = from.dtype();
  if (model::IsFloat(dtype) || dtype == model::DType::kBool) {
    return TensorOf<double>(dtype, std::move(dims),
                            [&](int64_t i) { return from.GetDouble(i % from.elements()); });
  }
  return TensorOf<int64_t>(dtype, std::move(dims),
                           [&](int64_t i) { return from.GetInt(i % from.elements()); });
}

class Variation {
 public:
  explicit Variation(Rng& rng) : rng_(rng) {}

  // Ones are often there to be broadcast, so they mostly stay.
  Ints Dims(const Ints& dims) {
    Ints varied;
    for (const int64_t dim : dims) varied.push_back(Dim(dim));
    constexpr size_t kMostAxes = 4;
    if (dims.size() < kMostAxes && OneIn(15)) varied.insert(varied.begin(), Between(1, 3));
    return varied;
  }

  model::Tensor Constant(const model::Tensor& from) {
    Ints dims = Dims(from.dims());
    if (!model::IsFloat(from.dtype()) || !OneIn(5)) return Repeated(from, std::move(dims));
    return TensorOf<double>(from.dtype(), std::move(dims),
                            [this](int64_t) { return rng_.Uniform(-2, 2); });
  }

  // `rank` is that of the first operand.
  void AddStrides(model::Node& node, int rank) {
    const bool has_window = node.op == "Conv" || node.op == "MaxPool" || node.op == "AveragePool";
    if (!has_window || rank < 3 || node.attributes.Has("strides") || !OneIn(2)) return;
    Ints strides;
    for (int axis = 2; axis < rank; ++axis) strides.push_back(Between(1, 2));
    node.attributes.Set("strides", std::move(strides));
  }

  void Attributes(model::AttributeMap& attributes) {
    Window(attributes, "pads", 0, 2);
    Window(attributes, "strides", 1, 3);
    Window(attributes, "dilations", 1, 2);
    if (attributes.Has("group") && OneIn(4)) attributes.Set("group", Between(1, 3));
    if (const Ints* shape = attributes.FindInts("shape")) {
      Ints varied = *shape;
      for (int64_t& dim : varied) dim = dim > 1 ? Dim(dim) : dim;
      attributes.Set("shape", std::move(varied));
    }
    if (const Ints* perm = attributes.FindInts("perm"); perm != nullptr && OneIn(4)) {
      Ints varied = *perm;
      for (size_t i = varied.size(); i > 1; --i) std::swap(varied[i - 1], varied[rng_.Below(i)]);
      attributes.Set("perm", std::move(varied));
    }
  }

 private:
  bool OneIn(uint64_t count) { return rng_.Below(count) == 0; }
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(high - low + 1)));
  }

  int64_t Dim(int64_t dim) {
    if (OneIn(20)) return Between(0, 7);
    const auto [it, is_new] = renamed_.try_emplace(dim, dim);
    const bool stays = OneIn(3) || (dim <= 1 && !OneIn(10));
    if (is_new && !stays) it->second = OneIn(30) ? 0 : Between(1, 7);
    return it->second;
  }

  void Window(model::AttributeMap& attributes, const char* name, int64_t low, int64_t high) {
    const Ints* given = attributes.FindInts(name);
    if (given == nullptr || !OneIn(2)) return;
    Ints varied = *given;
    for (int64_t& each : varied) each = Between(low, high);
    attributes.Set(name, std::move(varied));
  }

  Rng& rng_;
  std::map<int64_t, int64_t> renamed_;
};

}  // namespace

std::optional<model::Graph> Varied(const model::Graph& graph, Rng& rng) {
  Variation variation(rng);
  model::Graph varied = graph;
  for (const model::ValueId input : varied.inputs) {
    model::TensorType& type = varied.values[input.value()].type;
    if (!type.is_static()) return std::nullopt;
    type = model::StaticType(type.dtype, variation.Dims(type.dims()));
  }
  for (model::Value& value : varied.values) {
    if (value.constant && value.constant->elements() > 0) {
      value.constant = variation.Constant(*value.constant);
      value.type = value.constant->type();
    } else if (value.producer.valid()) {
      value.type = model::TensorType();
    }
  }
  for (model::Node& node : varied.nodes) {
    if (!node.inputs.empty() && node.inputs[0].valid()) {
      variation.AddStrides(node, graph.value(node.inputs[0]).type.rank());
    }
    variation.Attributes(node.attributes);
  }
  if (!ops::InferTypes(varied).ok()) return std::nullopt;
  const auto is_static = [](const model::Value& value) { return value.type.is_static(); };
  if (!std::ranges::all_of(varied.values, is_static)) return std::nullopt;
  return varied;
}

}  // namespace quotient::prove
