#include "core/rules/vocabulary.h"

#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

// Constants larger than this are not read element by element.
constexpr int64_t kMaxRead = 1 << 16;

// The number as an element of that type: 0.044715 of a float16 constant is not the double.
double Rounded(model::DType dtype, double number) {
  std::span<std::byte> buffer;
  const model::Tensor tensor = model::Tensor::Allocate(dtype, {}, &buffer);
  model::Store(dtype, buffer, 0, std::span<const double>(&number, 1));
  return tensor.GetDouble(0);
}

// Exporters write some numbers through float arithmetic of their own: allow for its last bit.
bool IsNumber(double value, double wanted) {
  return value == wanted || std::abs(value - wanted) <= 2e-7 * std::abs(wanted);
}

bool IsFilledWith(const ClassData& data, absl::string_view text) {
  double wanted;
  if (!data.constant || data.constant->elements() == 0 || data.constant->elements() > kMaxRead ||
      !model::IsComputable(data.constant->dtype()) || !absl::SimpleAtod(text, &wanted)) {
    return false;
  }
  if (model::IsFloat(data.constant->dtype())) wanted = Rounded(data.constant->dtype(), wanted);
  for (int64_t i = 0; i < data.constant->elements(); ++i) {
    if (!IsNumber(data.constant->GetDouble(i), wanted)) return false;
  }
  return true;
}

}  // namespace

Words::Words(TensorDomain* domain) : domain_(domain) {
  vocabulary_.kind = [domain](absl::string_view name) -> absl::StatusOr<egraph::KindId> {
    if (ops::FindOp(name) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("no operator '", name, "'"));
    }
    return domain->KindOfName(name);
  };
  vocabulary_.op = [domain](absl::string_view name,
                            absl::string_view attributes) -> absl::StatusOr<OpId> {
    const ops::OpDef* def = ops::FindOp(name);
    if (def == nullptr || !attributes.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("no operator word '", name, "'"));
    }
    return domain->Operator(name);
  };
}

void Words::Guard(absl::string_view name, absl::string_view signature, GuardFn holds) {
  TensorDomain* domain = domain_;
  vocabulary_.guards[name] = egraph::Guard{
      std::string(signature),
      [domain, holds = std::move(holds)](const EGraph& graph, std::span<const Binding> arguments) {
        return holds(View(*domain, graph), arguments);
      }};
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
  words.Guard("float", "c", [](const View& view, auto args) {
    return model::IsFloat(view.type(args[0].id).dtype);
  });
  words.Guard("reaches_far", "c", [](const View& view, auto args) {
    const model::DType dtype = view.type(args[0].id).dtype;
    return dtype == model::DType::kFloat32 || dtype == model::DType::kFloat64 ||
           dtype == model::DType::kBfloat16;
  });
  words.Guard("weight", "c",
              [](const View& view, auto args) { return view.data(args[0].id).weight_only; });
  words.Guard("activation", "c", [](const View& view, auto args) {
    return !view.data(args[0].id).weight_only && !view.data(args[0].id).absent;
  });
  words.Guard("constant", "c", [](const View& view, auto args) {
    return view.data(args[0].id).constant.has_value();
  });
  words.Guard("is", "ct", [](const View& view, auto args) {
    return IsFilledWith(view.data(args[0].id), args[1].text);
  });
  words.Guard("same", "cc", [](const View& view, auto args) {
    return SameType(view.type(args[0].id), view.type(args[1].id));
  });
  words.Guard("keeps", "cc", [](const View& view, auto args) {
    return KeepsShape(view.type(args[0].id), view.type(args[1].id));
  });
  words.Guard("scalar", "cc", [](const View& view, auto args) {
    const TensorType& type = view.type(args[1].id);
    return type.has_rank() && IsScalar(view.type(args[0].id), type.rank());
  });
  words.Guard("has_rank", "ct", [](const View& view, auto args) {
    int rank;
    const TensorType& type = view.type(args[0].id);
    return absl::SimpleAtoi(args[1].text, &rank) && type.has_rank() && type.rank() == rank;
  });
  words.Guard("nonnegative", "c", [](const View& view, auto args) {
    return view.data(args[0].id).facts.nonnegative();
  });
  words.Guard("finite", "c",
              [](const View& view, auto args) { return view.data(args[0].id).facts.finite; });
  words.Guard("made_by", "ct", [](const View& view, auto args) {
    return view.HasOperator(args[0].id, args[1].text);
  });
  words.Term("reshape_to", "cc", [](Terms& terms, auto args) {
    return terms.ReshapeTo(args[0].id, terms.type(args[1].id));
  });
}

}  // namespace quotient::rules
