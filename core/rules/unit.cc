#include "core/rules/unit.h"

#include <algorithm>
#include <cmath>

#include "core/rules/magnitudes.h"

namespace quotient::rules {
namespace {

// Limits on the e-nodes examined in all and on the depth, because guards are evaluated often.
constexpr int kMostForms = 64;
constexpr int kDeepest = 4;

// The size, or 1 if it is zero or has no bound.
double SizeOrOne(double size) { return size > 0 && std::isfinite(size) ? size : 1; }

// The number of products that one output adds up, or 1 if it is not known.
double TermsOf(const OpWord& word, const TensorType& weight) {
  if (!weight.is_static() || weight.rank() < 1) return 1;
  return std::max(word.def->contraction.terms(word.attributes, weight.dims()), 1.0);
}

class UnitReader {
 public:
  explicit UnitReader(const View& view) : view_(view) {}

  double Of(ClassId id, int depth) {
    if (depth == kDeepest) return 1;
    std::optional<double> least;
    for (const ENodeId enode : view_.graph().nodes(view_.graph().Find(id))) {
      if (++forms_ > kMostForms) break;
      const double unit = OfForm(enode, depth);
      least = std::min(least.value_or(unit), unit);
    }
    return least.value_or(1);
  }

  double OfContraction(const OpWord& word, ClassId x, ClassId weight, int depth) {
    const double largest = SizeOrOne(SizesOf(view_.data(weight)).largest);
    const double factor = SizeOrOne(std::abs(word.attributes.GetFloat("alpha", 1)));
    return Of(x, depth) * factor * largest * std::sqrt(TermsOf(word, view_.type(weight)));
  }

 private:
  double OfForm(ENodeId enode, int depth) {
    const OpWord& word = view_.word(enode);
    const std::span<const ClassId> children = view_.graph().node(enode).children;
    // Constants are on the right.
    if (word.sort != OpWord::Sort::kOperator || children.size() < 2 ||
        !view_.data(children[1]).weight_only || view_.data(children[0]).weight_only) {
      return 1;
    }
    const Sizes right = SizesOf(view_.data(children[1]));
    if (word.name == "Mul") return Of(children[0], depth + 1) * SizeOrOne(right.largest);
    if (word.name == "Div") return Of(children[0], depth + 1) / SizeOrOne(right.smallest);
    if (word.name == "Add" || word.name == "Sub") return Of(children[0], depth + 1);
    if (word.def->op_class != ops::OpClass::kContraction) return 1;
    return OfContraction(word, children[0], children[1], depth + 1);
  }

  const View& view_;
  int forms_ = 0;
};

}  // namespace

double UnitOf(const View& view, ClassId id) { return UnitReader(view).Of(id, 0); }

double UnitOfContraction(const View& view, const OpWord& word, ClassId x, ClassId weight) {
  return UnitReader(view).OfContraction(word, x, weight, 0);
}

bool IsShiftBeside(const ClassData& summand, double unit) {
  return model::IsFloat(summand.type.dtype) &&
         SizesOf(summand).largest <= LargestShift(summand.type.dtype) * std::min(unit, 1.0);
}

}  // namespace quotient::rules
