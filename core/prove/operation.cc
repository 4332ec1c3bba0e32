#include "core/prove/operation.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/prove/families.h"

namespace quotient::prove {
namespace {

// Mixes 64 bits (SplitMix64).
uint64_t Mixed(uint64_t bits) {
  bits += 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

// Where an element is in the random order by which extremes are chosen. Mixed is a bijection, so no
// two elements are in the same place. Zero is in the middle, so that Relu keeps one of two
// elements.
uint64_t PlaceInOrder(Element element) { return Mixed(element) - Mixed(0) + (uint64_t{1} << 63); }

// Nothing is chosen of equal elements.
void NoteChoice(const Operation& operation, absl::string_view function,
                std::span<const Element> elements) {
  const auto differs = [&](Element each) { return each != elements[0]; };
  if (std::ranges::any_of(elements, differs)) operation.functions.insert(std::string(function));
}

}  // namespace

int64_t NumElements(const Ints& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

bool Advance(Ints& index, const Ints& dims) {
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (++index[axis] < dims[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

int64_t Offset(const Ints& index, const Ints& dims) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) offset = offset * dims[axis] + index[axis];
  return offset;
}

Element Broadcast(const FieldTensor& tensor, const Ints& index) {
  Ints own(tensor.dims.size());
  const size_t skipped = index.size() - own.size();
  for (size_t axis = 0; axis < own.size(); ++axis) {
    own[axis] = tensor.dims[axis] == 1 ? 0 : index[skipped + axis];
  }
  return tensor.elements[Offset(own, tensor.dims)];
}

absl::Status NoValue(const Operation& operation) {
  return absl::FailedPreconditionError(absl::StrCat(operation.name, " has no value here"));
}

absl::Status OtherForm(const Operation& operation) {
  return absl::UnimplementedError(absl::StrCat(operation.name, " has another form"));
}

std::optional<Element> FloatAttribute(const AttributeMap& attributes, absl::string_view name,
                                      double default_value) {
  return FromFloat(static_cast<float>(attributes.GetFloat(name, default_value)));
}

Element Uninterpreted(absl::string_view function, std::span<const Element> arguments) {
  uint64_t bits = 0;
  for (const char letter : function) bits = Mixed(bits ^ static_cast<unsigned char>(letter));
  for (const Element argument : arguments) bits = Mixed(bits ^ argument);
  return bits % kPrime;
}

Element Open(const Operation& operation, absl::string_view function,
             std::span<const Element> arguments) {
  operation.functions.insert(std::string(function));
  return Uninterpreted(function, arguments);
}

Element Largest(const Operation& operation, std::span<const Element> elements) {
  NoteChoice(operation, "Max", elements);
  return *std::ranges::max_element(elements, {}, PlaceInOrder);
}

Element Smallest(const Operation& operation, std::span<const Element> elements) {
  NoteChoice(operation, "Min", elements);
  return *std::ranges::min_element(elements, {}, PlaceInOrder);
}

absl::StatusOr<FieldTensor> Evaluate(const Operation& operation) {
  static const auto& definitions = *[] {
    auto* all = new absl::flat_hash_map<absl::string_view, const Definition*>;
    for (const auto family : {ElementwiseDefinitions(), MoveDefinitions(), ContractionDefinitions(),
                              ReductionDefinitions(), AttentionDefinitions(), PoolDefinitions()}) {
      for (const Definition& definition : family) all->emplace(definition.name, &definition);
    }
    return all;
  }();
  const auto found = definitions.find(operation.name);
  if (found == definitions.end()) {
    return absl::UnimplementedError(absl::StrCat(operation.name, " has no exact definition"));
  }
  return found->second->evaluate(operation);
}

}  // namespace quotient::prove
