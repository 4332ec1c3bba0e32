#include "core/optimize/variants.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/status_macros.h"

namespace quotient::optimize {

Variants::Variants(std::shared_ptr<GrownEGraph> grown, std::vector<extract::Selection> selections)
    : grown_(std::move(grown)), selections_(std::move(selections)) {}

std::vector<RewriteFamily> Variants::FamiliesOf(size_t candidate) {
  if (families_of_ != candidate) Find(candidate);
  std::vector<RewriteFamily> families;
  for (const Family& family : families_) {
    families.push_back({family.undoable.name, family.saving_us});
  }
  return families;
}

absl::StatusOr<std::optional<Candidate>> Variants::Without(size_t candidate,
                                                           std::span<const size_t> families) {
  if (families_of_ != candidate) Find(candidate);
  std::vector<std::string> names;
  std::vector<egraph::ClassId> classes;
  for (const size_t family : families) {
    const Undoable& undoable = families_[family].undoable;
    names.push_back(undoable.name);
    classes.insert(classes.end(), undoable.classes.begin(), undoable.classes.end());
  }
  const extract::Selection selection = SelectionWithout(candidate, classes);
  // Leaving each of them out makes no cycle, but leaving them out together may.
  if (!extract::CheckSelection(grown_->problem(), selection).ok()) return std::nullopt;
  QUOTIENT_ASSIGN_OR_RETURN(std::optional<Candidate> variant, grown_->Make(selection));
  if (variant.has_value()) variant->left_out = std::move(names);
  return variant;
}

void Variants::Find(size_t candidate) {
  // Variants are compared by all that is known of kernels.
  if (!families_of_.has_value()) grown_->costs().SetBasis(pricing::CostBasis::kKnown);
  families_of_ = candidate;
  families_.clear();
  const extract::Problem problem = grown_->problem();
  const extract::Selection& chosen = selections_[candidate];
  const double cost = extract::SelectionCost(problem, chosen);
  for (Undoable& each : FindUndoable(grown_->tensors(), grown_->rules(), chosen, original_)) {
    const absl::StatusOr<double> without =
        extract::CheckSelection(problem, SelectionWithout(candidate, each.classes));
    if (without.ok()) families_.push_back({std::move(each), *without - cost});
  }
  std::ranges::stable_sort(families_, std::greater(), &Family::saving_us);
}

extract::Selection Variants::SelectionWithout(size_t candidate,
                                              std::span<const egraph::ClassId> classes) const {
  return Undo(grown_->graph(), grown_->problem().roots, selections_[candidate], original_, classes);
}

}  // namespace quotient::optimize
