#include "core/rules/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/model/text.h"
#include "core/ops/interval.h"
#include "core/rules/magnitudes.h"
#include "core/rules/smooth.h"
#include "core/rules/types.h"
#include "core/rules/unit.h"

namespace quotient::rules {
namespace {

// Constants larger than this are not read element by element.
constexpr int64_t kMaxRead = 1 << 16;

// The number rounded to this type.
double Rounded(model::DType dtype, double number) {
  std::span<std::byte> buffer;
  const model::Tensor tensor = model::Tensor::Allocate(dtype, {}, &buffer);
  model::Store(dtype, buffer, 0, std::span<const double>(&number, 1));
  return tensor.GetDouble(0);
}

// At least ToleranceOf.
double MostTolerance(model::DType dtype, double wanted) {
  return 2 * ops::EpsilonOf(dtype) * std::abs(wanted);
}

// Exporters compute some numbers themselves, so the last bits may differ. Numbers that float16 can
// represent are written exactly, and must match exactly: x * 1.0000001 before a Floor is on
// purpose.
double ToleranceOf(model::DType dtype, double wanted) {
  if (Rounded(model::DType::kFloat16, wanted) == wanted) return 0;
  return MostTolerance(dtype, wanted);
}

bool IsFilledWith(const ClassData& data, absl::string_view text) {
  double wanted;
  if (!data.constant || data.constant->elements() == 0 || data.constant->elements() > kMaxRead ||
      !model::IsComputable(data.constant->dtype()) || !absl::SimpleAtod(text, &wanted)) {
    return false;
  }
  // Most constants are far from `wanted`, and their bounds tell so without reading them.
  const model::DType dtype = data.constant->dtype();
  const double most = model::IsFloat(dtype) ? MostTolerance(dtype, wanted) : 0;
  const ops::Interval& values = data.facts.values;
  if (values.low > wanted + most || values.high < wanted - most) return false;
  const double tolerance = most == 0 ? 0 : ToleranceOf(dtype, wanted);
  for (int64_t i = 0; i < data.constant->elements(); ++i) {
    if (!(std::abs(data.constant->GetDouble(i) - wanted) <= tolerance)) return false;
  }
  return true;
}

bool IsSingularAtZero(const OpWord& word) {
  return word.sort == OpWord::Sort::kOperator && word.def->numerics.singular_at_zero;
}

bool IsRegular(const View& view, ClassId id) {
  const auto parents = view.graph().parents(view.graph().Find(id));
  return std::none_of(parents.begin(), parents.end(),
                      [&](ENodeId parent) { return IsSingularAtZero(view.word(parent)); });
}

// Whether the canonical form has such an attribute: one of ONNX, or one made from a parameter.
bool HasAttribute(const ops::OpDef& def, absl::string_view name) {
  const auto is_it = [name](const char* other) { return name == other; };
  return std::ranges::any_of(def.attributes, is_it, &ops::AttributeDef::name) ||
         std::ranges::any_of(def.parameters, is_it, &ops::Parameter::attribute);
}

// Whether a Pad puts constant zeros around its operand.
bool PadsZeros(const OpWord& word) {
  return word.attributes.GetString("mode", "constant") == "constant" &&
         word.attributes.GetFloat("constant_value", 0) == 0;
}

// Whether every element that is not NaN is at most as large as a factor that is near one may be.
bool IsBounded(const ClassData& data) {
  constexpr double kLargest = 0x1p8;
  const ops::Interval& values = data.facts.values;
  return model::IsFloat(data.type.dtype) && values.low >= -kLargest && values.high <= kLargest;
}

// The axis along which alone the operator works, as its attributes say.
std::optional<int64_t> AxisOf(const OpWord& word) {
  const Ints* const axes = word.attributes.FindInts("axes");
  if (axes != nullptr) return axes->size() == 1 ? std::optional(axes->front()) : std::nullopt;
  if (!word.attributes.Has("axis")) return std::nullopt;
  return word.attributes.GetInt("axis", 0);
}

bool HasElements(const TensorType& type) {
  if (!type.has_rank()) return false;
  const auto is_positive = [](const model::Dim& dim) { return dim.is_number() && !dim.Is(0); };
  return std::ranges::all_of(*type.shape, is_positive);
}

// Whether an image surely has an element to pool.
bool HasSpatialElements(const TensorType& x) {
  if (!x.has_rank() || x.rank() < 3) return false;
  for (int axis = 2; axis < x.rank(); ++axis) {
    if (NumberAt(x, axis).value_or(0) == 0) return false;
  }
  return true;
}

void AddMagnitudeWords(Words& words) {
  const auto guard = [&](absl::string_view name, Purpose purpose, bool (*holds)(const ClassData&)) {
    words.Guard(name, "c", purpose,
                [holds](const View& view, auto args) { return holds(view.data(args[0].id)); });
  };
  guard("shift", Purpose::kRounding, IsShift);
  guard("factor", Purpose::kRange, IsFactor);
  guard("early_factor", Purpose::kRange, IsEarlyFactor);
  guard("near_one", Purpose::kRange, IsNearOne);
  guard("invertible", Purpose::kRange, IsInvertible);
  words.Guard("summable", "cc", Purpose::kRounding, [](const View& view, auto args) {
    return MayBeSummed(view.data(args[0].id), view.data(args[1].id));
  });
  // More ways to compute x lower its unit. It may rise if something becomes known of what lies
  // further down: such a match is found only once something nearer changes.
  words.Guard(
      "shift_beside", "cc", Purpose::kRounding,
      [](const View& view, auto args) {
        return IsShiftBeside(view.data(args[1].id), UnitOf(view, args[0].id));
      },
      Words::Otherwise::kFalls);
  words.Guard(
      "shift_behind", "occc", Purpose::kRounding,
      [](const View& view, auto args) {
        const double unit = UnitOfContraction(view, view.word(args[0].op), args[1].id, args[2].id);
        return IsShiftBeside(view.data(args[3].id), unit);
      },
      Words::Otherwise::kFalls);
  words.Guard("normalizable", "occc", Purpose::kRounding, [](const View& view, auto args) {
    return IsNormalizable(view.data(args[1].id), view.data(args[2].id), view.data(args[3].id),
                          view.word(args[0].op).attributes.GetFloat("epsilon", 1e-5f));
  });
  // Both look at readers, and no reader goes away. A class may turn out to be smooth when one that
  // reads it is merged with one of the original graph: such a match is found only once something
  // nearer changes.
  words.Guard(
      "smooth", "c", Purpose::kRounding,
      [](const View& view, auto args) { return IsSmooth(view, args[0].id); },
      Words::Otherwise::kFalls);
  // Facts hold exactly for one e-node of a class, and for the others up to rounding: a value that
  // is not negative in one may be -1e-9 in another.
  words.Guard(
      "regular", "c", Purpose::kRounding,
      [](const View& view, auto args) { return IsRegular(view, args[0].id); },
      Words::Otherwise::kFalls);
  words.Term("finite_weight", "c",
             [](Terms& terms, auto args) { return terms.FiniteWeight(args[0].id); });
}

}  // namespace

// Those of egraph/pattern.h are there so that one of several equal matches is taken.
Words::Words(TensorDomain* domain)
    : domain_(domain), purposes_{{"distinct", Purpose::kCost}, {"before", Purpose::kCost}} {
  vocabulary_.kind = [domain](absl::string_view name) -> absl::StatusOr<egraph::KindId> {
    if (ops::FindOp(name) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("no operator '", name, "'"));
    }
    return domain->KindOfName(name);
  };
  vocabulary_.op = [domain](absl::string_view name,
                            absl::string_view attributes) -> absl::StatusOr<OpId> {
    const ops::OpDef* def = ops::FindOp(name);
    if (def == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("no operator word '", name, "'"));
    }
    absl::StatusOr<AttributeMap> parsed =
        model::ParseAttributes(absl::StrCat("{", attributes, "}"));
    if (!parsed.ok()) return absl::InvalidArgumentError(parsed.status().message());
    for (const auto& [attribute, value] : *parsed) {
      if (!HasAttribute(*def, attribute)) {
        return absl::InvalidArgumentError(absl::StrCat(name, " has no attribute ", attribute));
      }
    }
    return domain->Operator(name, *std::move(parsed));
  };
}

void Words::Guard(absl::string_view name, absl::string_view signature, Purpose purpose,
                  GuardFn holds, Otherwise otherwise) {
  TensorDomain* domain = domain_;
  purposes_[name] = purpose;
  vocabulary_.guards[name] = egraph::Guard{
      std::string(signature),
      [domain, holds = std::move(holds)](const EGraph& graph, std::span<const Binding> arguments) {
        return holds(View(*domain, graph), arguments);
      },
      otherwise};
}

std::optional<Purpose> Words::purpose(absl::string_view guard) const {
  const auto found = purposes_.find(guard);
  return found == purposes_.end() ? std::nullopt : std::optional(found->second);
}

void Words::Term(absl::string_view name, absl::string_view signature, TermFn build) {
  TensorDomain* domain = domain_;
  vocabulary_.term_builders[name] = egraph::TermBuilder{
      std::string(signature),
      [domain, build = std::move(build)](EGraph& graph, std::span<const Binding> arguments,
                                         egraph::Origin origin) {
        Terms terms(*domain, graph, origin);
        return terms.Result(build(terms, arguments));
      }};
}

void AddCommonWords(Words& words) {
  AddMagnitudeWords(words);
  words.Guard("float", "c", Purpose::kTypes, [](const View& view, auto args) {
    return model::IsFloat(view.type(args[0].id).dtype);
  });
  words.Guard("reaches_far", "c", Purpose::kRange, [](const View& view, auto args) {
    const model::DType dtype = view.type(args[0].id).dtype;
    return dtype == model::DType::kFloat32 || dtype == model::DType::kFloat64 ||
           dtype == model::DType::kBfloat16;
  });
  words.Guard("single", "c", Purpose::kRuntime, [](const View& view, auto args) {
    const model::DType dtype = view.type(args[0].id).dtype;
    return model::IsFloat(dtype) && dtype != model::DType::kFloat64;
  });
  words.Guard("weight", "c", Purpose::kCost,
              [](const View& view, auto args) { return view.data(args[0].id).weight_only; });
  words.Guard("activation", "c", Purpose::kCost, [](const View& view, auto args) {
    return !view.data(args[0].id).weight_only && !view.data(args[0].id).absent;
  });
  words.Guard("constant", "c", Purpose::kBuilding, [](const View& view, auto args) {
    return view.data(args[0].id).constant.has_value();
  });
  words.Guard("is", "ct", Purpose::kEquation, [](const View& view, auto args) {
    return IsFilledWith(view.data(args[0].id), args[1].text);
  });
  words.Guard("same", "cc", Purpose::kEquation, [](const View& view, auto args) {
    return SameType(view.type(args[0].id), view.type(args[1].id));
  });
  words.Guard("keeps", "cc", Purpose::kEquation, [](const View& view, auto args) {
    return KeepsShape(view.type(args[0].id), view.type(args[1].id));
  });
  words.Guard("scalar", "cc", Purpose::kEquation, [](const View& view, auto args) {
    const TensorType& type = view.type(args[1].id);
    return type.has_rank() && IsScalar(view.type(args[0].id), type.rank());
  });
  words.Guard("has_rank", "ct", Purpose::kEquation, [](const View& view, auto args) {
    int rank;
    const TensorType& type = view.type(args[0].id);
    return absl::SimpleAtoi(args[1].text, &rank) && type.has_rank() && type.rank() == rank;
  });
  words.Guard("same_rank", "cc", Purpose::kEquation, [](const View& view, auto args) {
    const TensorType& x = view.type(args[0].id);
    const TensorType& y = view.type(args[1].id);
    return x.has_rank() && y.has_rank() && x.rank() == y.rank();
  });
  words.Guard("along", "ot", Purpose::kEquation, [](const View& view, auto args) {
    int64_t axis;
    return absl::SimpleAtoi(args[1].text, &axis) && AxisOf(view.word(args[0].op)) == axis;
  });
  words.Guard("one_axis", "oo", Purpose::kEquation, [](const View& view, auto args) {
    const std::optional<int64_t> axis = AxisOf(view.word(args[0].op));
    return axis && axis == AxisOf(view.word(args[1].op));
  });
  words.Guard("two_axes", "oo", Purpose::kEquation, [](const View& view, auto args) {
    const std::optional<int64_t> axis = AxisOf(view.word(args[0].op));
    const std::optional<int64_t> other = AxisOf(view.word(args[1].op));
    return axis && other && axis != other;
  });
  words.Guard("has_elements", "c", Purpose::kEquation,
              [](const View& view, auto args) { return HasElements(view.type(args[0].id)); });
  words.Guard("has_pixels", "c", Purpose::kRuntime, [](const View& view, auto args) {
    return HasSpatialElements(view.type(args[0].id));
  });
  words.Guard("rises", "o", Purpose::kEquation, [](const View& view, auto args) {
    return view.word(args[0].op).attributes.GetFloat("alpha", 0.01) > 0;
  });
  words.Guard("pads_zeros", "o", Purpose::kEquation,
              [](const View& view, auto args) { return PadsZeros(view.word(args[0].op)); });
  words.Guard("bounded", "c", Purpose::kRange,
              [](const View& view, auto args) { return IsBounded(view.data(args[0].id)); });
  words.Guard("nonnegative", "c", Purpose::kEquation, [](const View& view, auto args) {
    return view.data(args[0].id).facts.nonnegative();
  });
  words.Guard("never_nan", "c", Purpose::kNonFinite,
              [](const View& view, auto args) { return view.data(args[0].id).facts.never_nan(); });
  words.Guard("below_infinity", "c", Purpose::kNonFinite, [](const View& view, auto args) {
    return view.data(args[0].id).facts.values.high < ops::Interval::kInfinity;
  });
  words.Guard(
      "made_by", "ct", Purpose::kCost,
      [](const View& view, auto args) { return view.HasOperator(args[0].id, args[1].text); },
      Words::Otherwise::kRises);
  words.Term("reshape_to", "cc", [](Terms& terms, auto args) {
    return terms.ReshapeTo(args[0].id, terms.type(args[1].id));
  });
}

}  // namespace quotient::rules
