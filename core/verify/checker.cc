#include "core/verify/checker.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/model/occurring_sizes.h"
#include "core/verify/stayed_sizes.h"

namespace quotient::verify {
namespace {

// Checking at the other bindings may take this share of the operations that checking at the dims
// used for measuring takes.
constexpr double kShareOfBindings = 0.5;
// This many operations, which take some milliseconds, are not counted.
constexpr double kFreeOperations = 5e7;
// A binding is not tried if it takes more than this many evaluations at the dims used for
// measuring, or that many times the memory of one.
constexpr double kMostOfOneBinding = 4;
// This much memory is always allowed.
constexpr double kFreeBytes = 1 << 24;
// Sets beside those that are wished for may take this many operations together, which are some
// milliseconds.
constexpr double kFurtherOperations = 1e7;
// Of the numbers of a model so many are tried as sizes, those closest to a usual length.
constexpr size_t kMostNumbers = 12;
constexpr int64_t kUsualLength = 256;

// Whether all dimensions of all inputs, bound or not, are numbers.
bool HasNumbersAlone(const model::Graph& graph) {
  return std::ranges::all_of(
      graph.inputs, [&graph](model::ValueId id) { return graph.value(id).type.is_static(); });
}

}  // namespace

class Checker::Builder {
 public:
  Builder(const Checked& original, const Shapes& measured, const CheckSettings& settings,
          const StopCondition& stop)
      : original_(original),
        measured_(WithInputsOfKnownNames(*original.graph, measured)),
        settings_(settings),
        stop_(stop) {}

  absl::StatusOr<Checker> Run() {
    checker_.threads_ = settings_.threads;
    const double measured = std::max(OperationsOf(*original_.cut), 1.0);
    left_ = std::max(kShareOfBindings * settings_.input_sets * measured, kFreeOperations);
    most_ = kMostOfOneBinding * measured;
    most_bytes_ = std::max(kMostOfOneBinding * BytesOf(*original_.cut), kFreeBytes);
    if (settings_.only_candidate != nullptr) FindFurther(*settings_.only_candidate->cut);
    QUOTIENT_RETURN_IF_ERROR(AddBindings());
    for (const BindingKind kind : {BindingKind::kLong, BindingKind::kLargeBatch}) {
      QUOTIENT_RETURN_IF_ERROR(AddLarge(kind, left_ / (8 * measured)));
    }
    QUOTIENT_RETURN_IF_ERROR(AddEmptyBatch());
    const bool takes_a_place = is_expensive_ && settings_.input_sets > 1;
    const int input_sets = takes_a_place ? settings_.input_sets - 1 : settings_.input_sets;
    QUOTIENT_ASSIGN_OR_RETURN(
        Reference reference,
        Reference::Create(*original_.cut, input_sets, settings_.seed, settings_.threads, stop_,
                          {.assume_finite_inputs = settings_.assume_finite_inputs,
                           .further_wide = FurtherSets(measured),
                           .further = further_}));
    checker_.measured_ = std::make_unique<Reference>(std::move(reference));
    checker_.note_ = Note(takes_a_place);
    return std::move(checker_);
  }

 private:
  // A binding at which the original can be cut.
  struct Proposal {
    Shapes shapes;
    std::unique_ptr<CutGraph> cut;
    double operations;
  };

  void FindFurther(const CutGraph& candidate) {
    const Thresholds own = FindThresholds(original_.cut->graph);
    const auto lacks = [](const auto& numbers, auto number) {
      return std::ranges::find(numbers, number) == numbers.end();
    };
    further_.integers = DifferingRows(original_.cut->graph, candidate.graph);
    const Thresholds others = FindThresholds(candidate.graph);
    std::ranges::copy_if(others.integers, std::back_inserter(further_.integers),
                         [&](int64_t number) { return lacks(own.integers, number); });
    std::ranges::copy_if(others.floats, std::back_inserter(further_.floats),
                         [&](double number) { return lacks(own.floats, number); });
  }

  // Further sets cost little if an evaluation takes next to nothing, and small inputs need them:
  // a set of few elements has no room for all kinds of numbers.
  int FurtherSets(double operations) const {
    const int64_t wide = settings_.input_sets / 2;
    const int64_t wanted = WideSetsWanted(original_.cut->graph, further_) - wide;
    const auto affordable = static_cast<int64_t>(kFurtherOperations / operations);
    return static_cast<int>(std::clamp<int64_t>(wanted, 0, affordable));
  }

  // Adds bindings whose sizes reach numbers that occur in the models, if that is cheap.
  absl::Status AddLarge(BindingKind kind, double most_growth) {
    // Smaller sizes than those used for measuring were tried before.
    if (most_growth < 1) return absl::OkStatus();
    std::vector<int64_t> numbers = NumbersOf(*original_.graph);
    if (settings_.only_candidate != nullptr) {
      for (const int64_t number : NumbersOf(*settings_.only_candidate->graph)) {
        if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
      }
    }
    for (Shapes& shapes :
         ProposeLarge(*original_.graph, measured_, kind, std::move(numbers), most_growth, stop_)) {
      QUOTIENT_RETURN_IF_ERROR(AddBinding(kind, {std::move(shapes)}).status());
    }
    return absl::OkStatus();
  }

  static std::vector<int64_t> NumbersOf(const model::Graph& graph) {
    return model::OccurringSizes(graph, kUsualLength, kMostNumbers);
  }

  absl::Status AddBindings() {
    QUOTIENT_ASSIGN_OR_RETURN(const bool has_first, AddOneOf(BindingKind::kFirst));
    if (has_first) {
      QUOTIENT_ASSIGN_OR_RETURN(has_second_, AddOneOf(BindingKind::kSecond));
    }
    BrokenNames broken = ProposeBrokenNames(*original_.graph, measured_, stop_);
    tried_all_names_ = broken.tried_all;
    for (std::vector<Shapes>& alternatives : broken.bindings) {
      QUOTIENT_RETURN_IF_ERROR(
          AddBinding(BindingKind::kSomeAreOne, std::move(alternatives)).status());
    }
    return AddOneOf(BindingKind::kSwapped).status();
  }

  absl::StatusOr<bool> AddOneOf(BindingKind kind) {
    return AddBinding(kind, ProposeBindings(*original_.graph, measured_, kind, stop_));
  }

  // An evaluation of empty tensors takes next to nothing. What a reduction makes of no elements is
  // not defined, so only types are compared.
  absl::Status AddEmptyBatch() {
    constexpr BindingKind kKind = BindingKind::kEmptyBatch;
    for (Shapes& shapes : ProposeBindings(*original_.graph, measured_, kKind, stop_)) {
      absl::StatusOr<CutGraph> cut = CutAt(*original_.graph, shapes, settings_.threads, stop_);
      if (!cut.ok() && stop_.ShouldStop()) return cut.status();
      const bool is_usable =
          cut.ok() && BytesOf(*cut) <= most_bytes_ && cut->cut_nodes <= original_.cut->cut_nodes;
      if (!is_usable) continue;
      Proposal proposal{std::move(shapes), std::make_unique<CutGraph>(*std::move(cut)), 0};
      QUOTIENT_ASSIGN_OR_RETURN(const bool added,
                                Keep(proposal, kKind, /*sets=*/1, {.only_types = true}));
      if (added) break;
    }
    return absl::OkStatus();
  }

  // Adds the first proposal that is affordable and at which the original can be evaluated. If there
  // is none, it chooses among the others (AddAnyOf).
  absl::StatusOr<bool> AddBinding(BindingKind kind, std::vector<Shapes> alternatives) {
    std::vector<Proposal> others;
    for (Shapes& shapes : alternatives) {
      if (IsThere(shapes)) continue;
      absl::StatusOr<CutGraph> cut = CutAt(*original_.graph, shapes, settings_.threads, stop_);
      if (!cut.ok()) {
        if (stop_.ShouldStop()) return cut.status();
        continue;
      }
      // A node that is cut out only at these dims may have been rewritten, so that its values could
      // not be compared.
      if (cut->cut_nodes > original_.cut->cut_nodes) continue;
      if (BytesOf(*cut) > most_bytes_) {
        NoteTooExpensive(kind);
        continue;
      }
      Proposal proposal{std::move(shapes), std::make_unique<CutGraph>(*std::move(cut)), 0};
      proposal.operations = OperationsOf(*proposal.cut);
      if (IsAffordable(proposal)) {
        QUOTIENT_ASSIGN_OR_RETURN(const bool added, Add(proposal, kind));
        if (added) return true;
      } else {
        others.push_back(std::move(proposal));
      }
    }
    return AddAnyOf(std::move(others), kind);
  }

  bool IsThere(const Shapes& shapes) const {
    return std::ranges::find(checker_.bindings_, shapes, &CheckedBinding::shapes) !=
           checker_.bindings_.end();
  }

  // Adds the cheapest proposal. One that is not affordable is added only if there is no binding
  // yet.
  absl::StatusOr<bool> AddAnyOf(std::vector<Proposal> proposals, BindingKind kind) {
    std::ranges::stable_sort(proposals, {}, &Proposal::operations);
    for (Proposal& proposal : proposals) {
      const bool is_affordable = IsAffordable(proposal);
      if (!is_affordable) NoteTooExpensive(kind);
      const bool is_allowed = kind == BindingKind::kFirst && proposal.operations <= most_;
      if (!is_affordable && !is_allowed) continue;
      QUOTIENT_ASSIGN_OR_RETURN(const bool added, Add(proposal, kind));
      is_expensive_ |= added && !is_affordable;
      if (added) return true;
    }
    return false;
  }

  void NoteTooExpensive(BindingKind kind) {
    if (IsLarge(kind)) return;
    (BreaksNames(kind) ? names_are_trusted_ : is_limited_) = true;
  }

  bool IsAffordable(const Proposal& proposal) const { return proposal.operations <= left_; }

  absl::StatusOr<bool> Add(Proposal& proposal, BindingKind kind) {
    // Both kinds of inputs if that is cheap, else alternating kinds.
    const int sets = 4 * proposal.operations <= left_ ? 2 : 1;
    const bool wide_first = kind != BindingKind::kFirst || !IsAffordable(proposal);
    QUOTIENT_ASSIGN_OR_RETURN(const bool kept,
                              Keep(proposal, kind, sets,
                                   {.wide_first = wide_first,
                                    .assume_finite_inputs = settings_.assume_finite_inputs,
                                    .binding = static_cast<int64_t>(checker_.bindings_.size()) + 1,
                                    .further = further_}));
    if (kept) left_ -= sets * proposal.operations;
    return kept;
  }

  // False if the original cannot be evaluated there.
  absl::StatusOr<bool> Keep(Proposal& proposal, BindingKind kind, int sets,
                            const Reference::Kinds& kinds) {
    absl::StatusOr<Reference> reference = Reference::Create(
        *proposal.cut, sets, settings_.seed + 1000 * (static_cast<uint64_t>(kind) + 1),
        settings_.threads, stop_, kinds);
    if (!reference.ok()) {
      if (stop_.ShouldStop()) return reference.status();
      return false;
    }
    checker_.bindings_.push_back({std::move(proposal.shapes), kind,
                                  static_cast<int>(proposal.cut->graph.nodes.size()),
                                  proposal.cut->cut_nodes});
    checker_.bound_.push_back(
        {std::move(proposal.cut), std::make_unique<Reference>(*std::move(reference))});
    return true;
  }

  std::string Note(bool takes_a_place) const {
    if (FreeDims(*original_.graph, measured_).empty()) {
      return HasNumbersAlone(*original_.graph)
                 ? "every dimension that is checked is a number in the model"
                 : "no input that is checked has a dimension without a number";
    }
    std::string note;
    if (checker_.bindings_.empty()) {
      note = is_limited_
                 ? "other sizes would take too long to check"
                 : "no other sizes were found that the model takes, of those that were tried";
    } else if (!has_second_) {
      note = is_limited_
                 ? "a second binding would take too long to check"
                 : "no further sizes were found that the model takes, of those that were tried";
    }
    const auto add = [&note](absl::string_view text) {
      absl::StrAppend(&note, note.empty() ? "" : "; ", text);
    };
    if (names_are_trusted_) {
      add("dimensions of one name were taken to be equal: others would take too long to check");
    }
    if (!tried_all_names_) {
      add("dimensions of one name were taken to be equal: there are too many to try all of them");
    }
    if (takes_a_place) add("wide values were checked at the other binding alone");
    for (const std::string& sentence :
         SizesThatStayed(*original_.graph, measured_, checker_.bindings_)) {
      add(sentence);
    }
    return note;
  }

  const Checked& original_;
  const Shapes measured_;
  const CheckSettings& settings_;
  const StopCondition& stop_;
  Thresholds further_;              // Those of the candidate, if it is known.
  double left_ = 0;                 // Operations that bindings may still take.
  double most_ = 0;                 // Operations that one binding may take.
  double most_bytes_ = 0;           // Bytes that one binding may take.
  bool has_second_ = false;         // Whether a binding of the second kind was added.
  bool is_limited_ = false;         // Whether another size was left out as too expensive.
  bool names_are_trusted_ = false;  // The same for a binding that breaks names.
  bool tried_all_names_ = true;     // False if there were too many dimensions of one name.
  bool is_expensive_ = false;       // Whether the only binding takes more than bindings should.
  Checker checker_;
};

absl::StatusOr<Checker> Checker::Create(const Checked& original, const Shapes& measured,
                                        const CheckSettings& settings, const StopCondition& stop) {
  return Builder(original, measured, settings, stop).Run();
}

absl::StatusOr<Verdict> Checker::CheckAt(size_t index, const Checked& candidate,
                                         const StopCondition& stop) {
  const CheckedBinding& binding = bindings_[index];
  const absl::StatusOr<CutGraph> cut = CutAt(*candidate.graph, binding.shapes, threads_, stop);
  if (!cut.ok() && stop.ShouldStop()) return cut.status();
  Verdict verdict{.failure = absl::StrCat("it does not take these dims: ", cut.status().message())};
  if (cut.ok()) {
    QUOTIENT_ASSIGN_OR_RETURN(verdict, bound_[index].reference->Check(*cut, threads_, stop));
  }
  if (verdict.passed) return verdict;
  const absl::string_view kind = ToString(binding.kind);
  verdict.binding = absl::StrCat(ToString(binding.shapes), kind.empty() ? "" : ": ", kind);
  verdict.bound_at = static_cast<int>(index);
  verdict.breaks_names = BreaksNames(binding.kind);
  verdict.failure = absl::StrCat("at ", verdict.binding, ": ", verdict.failure);
  return verdict;
}

absl::StatusOr<Verdict> Checker::Check(const Checked& candidate, const StopCondition& stop) {
  Verdict total;
  total.passed = true;
  std::map<std::string, size_t> never_finite;  // Number of bindings by output.
  const auto add = [&](const Verdict& verdict) {
    for (const std::string& output : verdict.never_finite) ++never_finite[output];
    total.inputs += verdict.inputs;
    total.tolerance = verdict.tolerance;
    total.max_relative_error = std::max(total.max_relative_error, verdict.max_relative_error);
  };
  for (size_t i = 0; i < bound_.size(); ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(Verdict verdict, CheckAt(i, candidate, stop));
    if (!verdict.passed) return verdict;
    add(verdict);
  }
  QUOTIENT_ASSIGN_OR_RETURN(Verdict verdict, measured_->Check(*candidate.cut, threads_, stop));
  if (!verdict.passed) return verdict;
  add(verdict);
  for (const auto& [output, bindings] : never_finite) {
    if (bindings > bound_.size()) total.never_finite.push_back(output);
  }
  return total;
}

absl::StatusOr<std::optional<FirstDifference>> Checker::Locate(const Checked& candidate,
                                                               const Verdict& verdict,
                                                               const StopCondition& stop) const {
  if (verdict.passed || verdict.set_at < 0) return std::nullopt;
  const auto find = [&](const Reference& reference, const CutGraph& cut) {
    return FindFirstDifference(reference.original(), cut, reference.inputs(verdict.set_at),
                               {.tolerance = verdict.tolerance,
                                .non_finite = reference.NonFiniteOf(verdict.set_at),
                                .threads = threads_},
                               stop);
  };
  if (verdict.bound_at < 0) return find(*measured_, *candidate.cut);
  const auto at = static_cast<size_t>(verdict.bound_at);
  QUOTIENT_ASSIGN_OR_RETURN(const CutGraph cut,
                            CutAt(*candidate.graph, bindings_[at].shapes, threads_, stop));
  return find(*bound_[at].reference, cut);
}

}  // namespace quotient::verify
