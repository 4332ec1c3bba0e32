#include "core/prove/opening.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace quotient::prove {
namespace {

using model::Dim;
using model::Graph;
using model::Ints;
using model::Shape;
using model::TensorType;
using model::ValueId;

// What a size of the static graph becomes.
struct OpenSize {
  enum class Kind { kNumber, kSymbol, kSum, kProduct };
  Kind kind = Kind::kNumber;
  std::string a;  // The symbol, or the first of two.
  std::string b;
};

class Draw {
 public:
  explicit Draw(Rng& rng) : rng_(rng) {}
  bool OneIn(uint64_t count) { return rng_.Below(count) == 0; }
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(high - low + 1)));
  }

 private:
  Rng& rng_;
};

// Decides which sizes are open.
class SizeChoice {
 public:
  explicit SizeChoice(Draw& draw)
      : draw_(draw), one_differs_in_(uint64_t{2} << draw.Between(0, 2)) {}

  // An axis whose size is a sum or a product takes part in one operator, so there can be one such
  // axis per input.
  OpenSize Of(int64_t size, bool may_be_composed) {
    const auto [it, is_new] = by_size_.try_emplace(size);
    if (is_new && Opens(size)) it->second = Composed(size);
    OpenSize open = it->second;
    if (open.kind == OpenSize::Kind::kNumber) return open;
    const bool differs =
        draw_.OneIn(one_differs_in_) || (open.kind != OpenSize::Kind::kSymbol && !may_be_composed);
    return differs ? Plain(size) : open;
  }

  const Sizes& given() const { return given_; }

 private:
  // Ones are often there to be broadcast, and empty axes for what they do.
  bool Opens(int64_t size) { return size > 0 && (size == 1 ? draw_.OneIn(4) : !draw_.OneIn(3)); }

  std::string NewSymbol(int64_t size) {
    std::string name(1, static_cast<char>('A' + given_.size() % 26));
    if (given_.size() >= 26) absl::StrAppend(&name, given_.size());
    given_[name] = size;
    return name;
  }
  OpenSize Plain(int64_t size) { return {OpenSize::Kind::kSymbol, NewSymbol(size), ""}; }

  OpenSize Composed(int64_t size) {
    if (size < 2 || !draw_.OneIn(3)) return Plain(size);
    if (draw_.OneIn(2)) {
      const int64_t part = draw_.Between(1, size - 1);
      const std::string a = NewSymbol(part);
      return {OpenSize::Kind::kSum, a, NewSymbol(size - part)};
    }
    int64_t factor = draw_.Between(1, size);
    while (size % factor != 0) --factor;
    const std::string a = NewSymbol(factor);
    return {OpenSize::Kind::kProduct, a, NewSymbol(size / factor)};
  }

  Draw& draw_;
  // How often equal sizes get symbols that differ. Where they do, most rules do not apply, and a
  // wrong one shows.
  const uint64_t one_differs_in_;
  std::map<int64_t, OpenSize> by_size_;
  Sizes given_;
};

// Makes the symbolic graph, node by node.
class Opening {
 public:
  Opening(const Graph& graph, Draw& draw)
      : from_(graph), draw_(draw), open_(draw), new_id_(graph.values.size()) {}

  // Types are not inferred yet.
  Graph Run() {
    to_.name = from_.name;
    for (const ValueId input : from_.inputs) OpenInput(input);
    for (const model::Node& node : from_.nodes) Copy(node);
    for (const ValueId output : from_.outputs) to_.outputs.push_back(IdOf(output));
    return std::move(to_);
  }

  // The sizes of the static graph for all symbols of the inputs.
  Sizes Given() const {
    Sizes given;
    for (const auto& [symbol, home] : homes_) given[symbol] = open_.given().at(symbol);
    return given;
  }

 private:
  std::string NewName() { return absl::StrCat("open", ++names_); }

  ValueId IdOf(ValueId old) {
    if (!old.valid()) return old;
    ValueId& id = new_id_[old.value()];
    const model::Value& value = from_.value(old);
    if (!id.valid() && value.constant) id = to_.AddConstant(value.name, *value.constant);
    return id;
  }

  // --- Inputs

  void OpenInput(ValueId input) {
    const model::Value& value = from_.value(input);
    const Ints dims = value.type.dims();
    Shape shape;
    std::optional<size_t> composed;
    OpenSize how;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const OpenSize open = open_.Of(dims[axis], !composed.has_value());
      const bool is_number = open.kind == OpenSize::Kind::kNumber;
      shape.push_back(is_number ? Dim(dims[axis]) : Dim::Symbol(open.a));
      if (is_number || open.kind == OpenSize::Kind::kSymbol) continue;
      composed = axis;
      how = open;
    }
    ValueId& id = new_id_[input.value()];
    if (!composed) {
      id = AddInput(value.name, {value.type.dtype, shape});
    } else if (how.kind == OpenSize::Kind::kSum) {
      id = AddConcatenated(value, std::move(shape), *composed, how);
    } else {
      id = AddJoined(value, std::move(shape), *composed, how);
    }
  }

  ValueId AddInput(absl::string_view name, const TensorType& type) {
    const ValueId id = to_.AddInput(name, type);
    for (int axis = 0; axis < type.rank(); ++axis) {
      if (type.dim(axis).is_symbol()) homes_.try_emplace(type.dim(axis).symbol(), id, axis);
    }
    return id;
  }

  ValueId AddConcatenated(const model::Value& value, Shape shape, size_t axis,
                          const OpenSize& size) {
    const ValueId first = AddInput(NewName(), {value.type.dtype, shape});
    shape[axis] = Dim::Symbol(size.b);
    const ValueId second = AddInput(NewName(), {value.type.dtype, shape});
    return to_.AddOp("Concat", {first, second}, {{"axis", static_cast<int64_t>(axis)}}, value.name);
  }

  ValueId AddJoined(const model::Value& value, Shape shape, size_t axis, const OpenSize& size) {
    Shape apart = shape;
    apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis) + 1, Dim::Symbol(size.b));
    const ValueId input = AddInput(NewName(), {value.type.dtype, std::move(apart)});
    std::vector<ValueId> target;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i].is_number()) {
        target.push_back(Number(shape[i].number()));
      } else {
        target.push_back(i == axis ? ElementOf(size) : ElementOf(shape[i].symbol()));
      }
    }
    return to_.AddOp("Reshape", {input, Joined(target)}, {}, value.name);
  }

  // --- Elements of shapes

  ValueId Number(int64_t number) {
    return to_.AddConstant(NewName(), model::Tensor::Ints({1}, std::vector<int64_t>{number}));
  }
  ValueId ElementOf(const std::string& symbol) {
    const auto [value, axis] = homes_.at(symbol);
    return to_.AddOp("Shape", {value}, {{"start", int64_t{axis}}, {"end", int64_t{axis} + 1}},
                     NewName());
  }
  ValueId ElementOf(const OpenSize& size) {
    if (size.kind == OpenSize::Kind::kSymbol) return ElementOf(size.a);
    const char* const op = size.kind == OpenSize::Kind::kSum ? "Add" : "Mul";
    return to_.AddOp(op, {ElementOf(size.a), ElementOf(size.b)}, {}, NewName());
  }
  ValueId Joined(const std::vector<ValueId>& elements) {
    return to_.AddOp("Concat", elements, {{"axis", int64_t{0}}}, NewName());
  }

  // The symbol, or two, whose given sizes make up this number.
  std::optional<OpenSize> SizeOf(int64_t number) {
    std::vector<OpenSize> found;
    const Sizes given = Given();
    for (const auto& [a, size_a] : given) {
      if (size_a == number) found.push_back({OpenSize::Kind::kSymbol, a, ""});
      for (const auto& [b, size_b] : given) {
        if (b < a) continue;
        if (size_a * size_b == number) found.push_back({OpenSize::Kind::kProduct, a, b});
        if (size_a + size_b == number) found.push_back({OpenSize::Kind::kSum, a, b});
      }
    }
    if (found.empty() || draw_.OneIn(4)) return std::nullopt;
    return found[static_cast<size_t>(draw_.Between(0, static_cast<int64_t>(found.size()) - 1))];
  }

  // A target for Reshape or Expand with these numbers; an invalid id if none of them is open.
  ValueId Target(const Ints& numbers) {
    std::vector<ValueId> elements;
    bool is_open = false;
    for (const int64_t number : numbers) {
      const std::optional<OpenSize> size = number > 0 ? SizeOf(number) : std::nullopt;
      is_open |= size.has_value();
      elements.push_back(size ? ElementOf(*size) : Number(number));
    }
    return is_open ? Joined(elements) : ValueId();
  }

  // --- Nodes

  void Copy(const model::Node& node) {
    model::Node copy = node;
    for (ValueId& input : copy.inputs) input = IdOf(input);
    for (ValueId& output : copy.outputs) {
      if (!output.valid()) continue;
      const ValueId old = output;
      output = new_id_[old.value()] = to_.AddValue(from_.value(old).name, TensorType());
    }
    if (const Ints* shape = node.attributes.FindInts("shape")) {
      OpenTarget(from_.value(node.inputs[0]).type, *shape, copy);
    }
    if (node.op == "Slice") OpenSlice(from_.value(node.inputs[0]).type, copy);
    to_.AddNode(std::move(copy));
  }

  void OpenTarget(const TensorType& data, const Ints& shape, model::Node& node) {
    if (node.op != "Reshape" && node.op != "Expand") return;
    if (node.op == "Expand" || draw_.OneIn(2)) {
      const ValueId target = Target(shape);
      if (!target.valid()) return;
      node.attributes.Erase("shape");
      node.inputs.resize(2);
      node.inputs[1] = target;
      return;
    }
    Ints other = shape;
    const size_t inferred =
        static_cast<size_t>(draw_.Between(0, static_cast<int64_t>(shape.size())));
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (axis == inferred) other[axis] = -1;
      const bool is_same =
          static_cast<int>(axis) < data.rank() && data.dim(static_cast<int>(axis)).Is(shape[axis]);
      if (axis != inferred && is_same && draw_.OneIn(2)) other[axis] = 0;
    }
    if (std::ranges::count(shape, -1) == 0) node.attributes.Set("shape", std::move(other));
  }

  void OpenSlice(const TensorType& data, model::Node& node) {
    const Ints* axes = node.attributes.FindInts("axes");
    const Ints* starts = node.attributes.FindInts("starts");
    const Ints* ends = node.attributes.FindInts("ends");
    if (axes == nullptr || starts == nullptr || ends == nullptr || node.attributes.Has("steps")) {
      return;
    }
    Ints other_starts = *starts;
    Ints other_ends = *ends;
    for (size_t i = 0; i < axes->size(); ++i) {
      const int64_t size = data.dim(static_cast<int>((*axes)[i])).number();
      if (other_starts[i] < size && draw_.OneIn(4)) other_starts[i] -= size;
      if (other_ends[i] < size && draw_.OneIn(4)) other_ends[i] -= size;
      if (other_ends[i] == size && draw_.OneIn(2)) {
        other_ends[i] = std::numeric_limits<int64_t>::max();
      }
    }
    node.attributes.Set("starts", std::move(other_starts));
    node.attributes.Set("ends", std::move(other_ends));
  }

  const Graph& from_;
  Draw& draw_;
  SizeChoice open_;
  Graph to_;
  std::vector<ValueId> new_id_;  // By ValueId of from_.
  // Where each symbol is a size: an input of to_ and its axis.
  std::map<std::string, std::pair<ValueId, int>> homes_;
  int names_ = 0;
};

}  // namespace

OpenedGraph OpenSizes(const Graph& graph, Rng& rng) {
  Draw draw(rng);
  Opening opening(graph, draw);
  Graph open = opening.Run();
  return {std::move(open), opening.Given()};
}

}  // namespace quotient::prove
