#include "core/rules/terms.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/base/checked.h"
#include "core/rules/magnitudes.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr int64_t kMaxFilled = 1 << 20;

// The shape attribute of a Reshape from `from` to `to`: numbers where they are known, 0 for copied
// dimensions, and -1 for one inferred dimension. Returns nullopt if these do not suffice for every
// input: a copied dimension may be 0 when the model runs, and then -1 is an error.
std::optional<Ints> ReshapeAttribute(const TensorType& from, const TensorType& to) {
  if (!from.has_rank() || !to.has_rank()) return std::nullopt;
  Ints shape;
  bool copies = false;
  bool infers = false;
  for (int i = 0; i < to.rank(); ++i) {
    if (to.dim(i).is_number()) {
      if (to.dim(i).Is(0)) return std::nullopt;
      shape.push_back(to.dim(i).number());
    } else if (i < from.rank() && model::SameDim(from.dim(i), to.dim(i))) {
      shape.push_back(0);
      copies = true;
    } else if (!infers) {
      shape.push_back(-1);
      infers = true;
    } else {
      return std::nullopt;
    }
  }
  if (copies && infers) return std::nullopt;
  return shape;
}

}  // namespace

bool IsUnary(const OpWord& word) {
  return word.sort == OpWord::Sort::kOperator && word.def->op_class == ops::OpClass::kUnary;
}

bool View::HasOperator(ClassId id, absl::string_view name) const {
  for (const ENodeId enode : graph_.nodes(graph_.Find(id))) {
    const OpWord& word = this->word(enode);
    if (word.sort == OpWord::Sort::kOperator && word.name == name) return true;
  }
  return false;
}

std::vector<ClassId> Terms::InputsOf(ClassId x) const {
  constexpr size_t kMostClasses = 4096;
  std::vector<ClassId> found = {graph_.Find(x)};
  absl::flat_hash_set<ClassId> seen(found.begin(), found.end());
  std::map<uint32_t, ClassId> by_index;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found.size() > kMostClasses) return {};
    for (const ENodeId enode : graph_.nodes(found[i])) {
      const OpWord& operation = word(graph_.node(enode).op);
      if (operation.sort == OpWord::Sort::kInput) by_index[operation.index] = found[i];
      for (const ClassId child : graph_.node(enode).children) {
        if (seen.insert(graph_.Find(child)).second) found.push_back(graph_.Find(child));
      }
    }
  }
  std::vector<ClassId> inputs;
  for (const auto& [index, cls] : by_index) inputs.push_back(cls);
  return inputs;
}

ClassId Terms::Op(absl::string_view name, std::span<const ClassId> children,
                  AttributeMap attributes) {
  for (const ClassId child : children) {
    if (!child.valid()) return ClassId();
  }
  absl::StatusOr<ClassId> added =
      domain_.Add(graph_, name, std::move(attributes), children, origin_);
  if (added.ok()) return *added;
  if (absl::IsInternal(added.status()) || absl::IsResourceExhausted(added.status())) {
    trouble_.Update(added.status());
  }
  return ClassId();
}

ClassId Terms::Constant(const model::Tensor& tensor) {
  absl::StatusOr<ClassId> added = graph_.Add(domain_.Constant(tensor), {}, origin_);
  if (added.ok()) return *added;
  trouble_.Update(added.status());
  return ClassId();
}

ClassId Terms::Summed(ClassId a, ClassId b) {
  const bool may_meet = a.valid() && b.valid() && MayBeSummed(data(a), data(b));
  return may_meet ? Op("Add", {a, b}) : ClassId();
}

ClassId Terms::FiniteWeight(ClassId x) const {
  return x.valid() && data(x).facts.finite() ? x : ClassId();
}

ClassId Terms::Constant(model::DType dtype, Ints dims, std::span<const double> values) {
  std::span<std::byte> buffer;
  const model::Tensor tensor = model::Tensor::Allocate(dtype, std::move(dims), &buffer);
  model::Store(dtype, buffer, 0, values);
  return Constant(tensor);
}

ClassId Terms::Filled(model::DType dtype, Ints dims, double value) {
  if (!model::IsComputable(dtype) || !model::Tensor::ByteSize(dtype, dims)) return ClassId();
  const int64_t elements = CheckedProduct(dims).value_or(kMaxFilled + 1);
  if (elements > kMaxFilled) return ClassId();
  return Constant(dtype, std::move(dims),
                  std::vector<double>(static_cast<size_t>(elements), value));
}

ClassId Terms::Reshape(ClassId x, Ints shape) {
  return Op("Reshape", {x}, {{"shape", std::move(shape)}});
}

ClassId Terms::ReshapeTo(ClassId x, const TensorType& like) {
  if (!x.valid()) return x;
  if (SameShape(type(x), like)) return x;
  std::optional<Ints> shape = ReshapeAttribute(type(x), like);
  return shape ? Reshape(x, *std::move(shape)) : ClassId();
}

ClassId Terms::Transpose(ClassId x, Ints perm) {
  if (!x.valid() || std::is_sorted(perm.begin(), perm.end())) return x;
  return Op("Transpose", {x}, {{"perm", std::move(perm)}});
}

ClassId Terms::Concat(std::span<const ClassId> parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return Op("Concat", parts, {{"axis", axis}});
}

ClassId Terms::Slice(ClassId x, const domain::SliceRange& range) {
  if (!x.valid()) return x;
  const std::optional<int64_t> size = NumberAt(type(x), static_cast<int>(range.axis));
  if (range.begin == 0 && size == range.end) return x;
  return Op("Slice", {x}, domain::SliceAttributes(range));
}

ClassId Terms::Pad(ClassId x, Ints pads) {
  if (std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; })) return x;
  return Op("Pad", {x}, {{"pads", std::move(pads)}});
}

ClassId Terms::Vector(ClassId x, int rank, int axis, int64_t size) {
  if (!x.valid() || !VariesAlong(type(x), rank, axis, size)) return ClassId();
  const int64_t elements = type(x).elements();
  const ClassId flat = ReshapeTo(x, model::StaticType(type(x).dtype, std::vector{elements}));
  if (elements == size) return flat;
  return Op("Expand", {flat}, {{"shape", Ints{size}}});
}

absl::StatusOr<std::optional<ClassId>> Terms::Result(ClassId id) const {
  if (!trouble_.ok()) return trouble_;
  if (!id.valid()) return std::nullopt;
  return id;
}

absl::StatusOr<bool> Terms::Unite(ClassId left, ClassId right) {
  if (!trouble_.ok()) return trouble_;
  if (!left.valid() || !right.valid()) return false;
  return graph_.Union(left, right, origin_);
}

}  // namespace quotient::rules
