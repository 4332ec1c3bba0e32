#include "core/journal/replay_egraph.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/egraph/placed_match.h"
#include "core/egraph/ranges.h"
#include "core/journal/site_matches.h"

namespace quotient::journal {
namespace {

using domain::OpWord;
using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;
using egraph::Match;

// How many steps it takes to apply a rewrite and to add an e-node, whose types are inferred. With
// these, steps follow the time (README.md).
constexpr int64_t kStepsPerRewrite = 100;
constexpr int64_t kStepsPerENode = 50;
// Rather too much than too little, for an e-node and what is known of its class.
constexpr double kBytesPerENode = 1000;

absl::Status Invalid(absl::string_view why) { return MakeError(Reason::kJournalInvalid, why); }

}  // namespace

std::vector<ENodeId> FirstENodes(const EGraph& graph) {
  std::vector<ENodeId> first(graph.class_bound());
  for (uint32_t i = 0; i < graph.enode_bound(); ++i) {
    if (!graph.live(ENodeId(i))) continue;
    ENodeId& choice = first[graph.class_of(ENodeId(i)).value()];
    if (!choice.valid()) choice = ENodeId(i);
  }
  return first;
}

absl::StatusOr<std::unique_ptr<ReplayEGraph>> ReplayEGraph::Begin(const model::Graph& graph,
                                                                  const model::Graph& measured,
                                                                  const ReplaySettings& settings,
                                                                  StepBudget* budget) {
  QUOTIENT_ASSIGN_OR_RETURN(
      domain::TensorEGraph tensors,
      domain::FromGraph(graph, measured, settings.assume_finite_inputs, settings.other));
  budget->Take(kStepsPerENode * tensors.egraph->enode_bound());
  QUOTIENT_RETURN_IF_ERROR(budget->Check());
  std::unique_ptr<ReplayEGraph> replay(
      new ReplayEGraph(std::move(tensors), settings.most_bytes, budget));
  domain::TensorDomain* const domain = replay->tensors_.domain.get();
  domain->LimitConstants(settings.max_folded_bytes);
  QUOTIENT_ASSIGN_OR_RETURN(replay->rules_,
                            rules::BuildRules(domain, settings.max_opset, {}, settings.families));
  for (size_t i = 0; i < replay->rules().size(); ++i) {
    replay->rule_by_name_.emplace(replay->rules()[i]->name(), i);
  }
  replay->NameOriginals();
  return replay;
}

// While proofs are recorded, an e-node and the class that was made with it have the same number.
void ReplayEGraph::NameOriginals() {
  const model::Graph& original = tensors_.original;
  originals_.resize(graph().enode_bound(), {.sort = Place::Sort::kAbsent});
  for (size_t i = 0; i < tensors_.class_of_value.size(); ++i) {
    const ClassId cls = tensors_.class_of_value[i];
    if (!cls.valid()) continue;
    const ENodeId enode(cls.value());
    by_value_.emplace(original.values[i].name, enode);
    Place& place = originals_[enode.value()];
    if (place.name.empty()) place = {.name = original.values[i].name};
  }
  for (uint32_t i = 0; i < originals_.size(); ++i) {
    const OpWord& word = tensors_.domain->word(graph().node(ENodeId(i)).op);
    if (word.sort == OpWord::Sort::kAbsent) absent_ = ENodeId(i);
    if (word.sort != OpWord::Sort::kOpaque) continue;
    for (const model::ValueId output : original.nodes[word.index].outputs) {
      if (!output.valid()) continue;
      originals_[i] = {.sort = Place::Sort::kNode, .name = original.value(output).name};
      by_node_.emplace(originals_[i].name, ENodeId(i));
      break;
    }
  }
}

absl::StatusOr<ENodeId> ReplayEGraph::Find(const Place& place) const {
  switch (place.sort) {
    case Place::Sort::kValue:
    case Place::Sort::kNode: {
      const auto& by_name = place.sort == Place::Sort::kValue ? by_value_ : by_node_;
      const auto at = by_name.find(place.name);
      if (at != by_name.end()) return at->second;
      return Invalid(absl::StrCat("the model computes no '", absl::CEscape(place.name), "'"));
    }
    case Place::Sort::kAbsent:
      if (absent_.valid()) return absent_;
      return Invalid("the model leaves no operand out");
    case Place::Sort::kMade:
      break;
  }
  if (place.rewrite >= made_.size() ||
      place.index >= made_[place.rewrite].end - made_[place.rewrite].first) {
    return Invalid(
        absl::StrCat("no earlier rewrite makes [", place.rewrite, ",", place.index, "]"));
  }
  return ENodeId(made_[place.rewrite].first + place.index);
}

absl::StatusOr<Place> ReplayEGraph::PlaceOf(ENodeId enode) const {
  if (enode.value() < originals_.size()) {
    const Place& place = originals_[enode.value()];
    QUOTIENT_ASSIGN_OR_RETURN(const ENodeId found, Find(place));
    if (found == enode) return place;
    return MakeError(Reason::kInternal, absl::StrCat("e-node ", enode.value(), " has no name"));
  }
  const auto after = std::ranges::upper_bound(made_, enode.value(), {}, &Made::first);
  if (after == made_.begin() || enode.value() >= std::prev(after)->end) {
    return MakeError(Reason::kInternal, absl::StrCat("e-node ", enode.value(), " was not made"));
  }
  const auto rewrite = static_cast<uint32_t>(std::prev(after) - made_.begin());
  return Place{.sort = Place::Sort::kMade,
               .rewrite = rewrite,
               .index = enode.value() - made_[rewrite].first};
}

absl::StatusOr<std::vector<Match>> ReplayEGraph::MatchesAt(size_t rule, uint32_t alternative,
                                                           std::span<const ClassId> classes) const {
  const egraph::Rule& of = *rules()[rule];
  const std::vector<const egraph::Program*> programs = of.programs();
  std::vector<Match> matches;
  if (programs.empty()) {
    matches = FindSiteMatches(of, graph(), alternative, classes, &budget_);
  } else if (alternative < programs.size()) {
    int64_t steps = 0;
    for (egraph::PlacedMatch& at :
         egraph::FindMatchesAt(*programs[alternative], graph(), classes, &steps)) {
      at.match.alternative = alternative;
      matches.push_back(std::move(at.match));
    }
    budget_.Take(steps);
    if (steps > egraph::kMostLookedAt) budget_.NoteCut();
  }
  budget_.Take(static_cast<int64_t>(classes.size()));
  QUOTIENT_RETURN_IF_ERROR(budget_.Check());
  return matches;
}

absl::StatusOr<ReplayEGraph::Found> ReplayEGraph::FindMatch(const Rewrite& rewrite) const {
  const auto rule = rule_by_name_.find(rewrite.rule);
  if (rule == rule_by_name_.end()) return Invalid("there is no such rule");
  std::vector<ClassId> classes;
  for (const Place& place : rewrite.at) {
    QUOTIENT_ASSIGN_OR_RETURN(const ENodeId enode, Find(place));
    classes.push_back(graph().class_of(enode));
  }
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<Match> matches,
                            MatchesAt(rule->second, rewrite.alternative, classes));
  if (rewrite.which >= matches.size()) return Invalid("the rule does not match there");
  return Found{rule->second, std::move(matches[rewrite.which])};
}

int64_t ReplayEGraph::MostENodes(std::span<const Rewrite> rewrites) const {
  constexpr int64_t kAlways = 10'000, kForEachPlace = 100;
  int64_t places = 0;
  for (const Rewrite& rewrite : rewrites) places += static_cast<int64_t>(rewrite.at.size());
  return kAlways + 4 * static_cast<int64_t>(originals_.size()) + kForEachPlace * places;
}

absl::Status ReplayEGraph::Make(std::span<const Rewrite> rewrites) {
  const auto name = [&](size_t i) {
    return absl::StrCat("rewrite ", i, " (", absl::CEscape(rewrites[i].rule), ")");
  };
  // By how many rewrites were made when it is found to match.
  std::vector<std::vector<size_t>> found_after(rewrites.size());
  for (size_t i = 0; i < rewrites.size(); ++i) {
    if (rewrites[i].found_after > i) return Annotate(Invalid("found after it was made"), name(i));
    found_after[rewrites[i].found_after].push_back(i);
  }
  const int64_t most_enodes = MostENodes(rewrites);
  std::vector<std::optional<Found>> found(rewrites.size());
  for (size_t i = 0; i < rewrites.size(); ++i) {
    for (const size_t next : found_after[i]) {
      absl::StatusOr<Found> one = FindMatch(rewrites[next]);
      if (!one.ok()) return Annotate(one.status(), name(next));
      found[next] = *std::move(one);
    }
    const absl::StatusOr<bool> changed = Apply(found[i]->rule, found[i]->match);
    if (!changed.ok()) return Annotate(changed.status(), name(i));
    if (!*changed) return Annotate(Invalid("the rule changes nothing there"), name(i));
    if (graph().enode_bound() > most_enodes) {
      return Annotate(
          MakeError(Reason::kLimitNodes,
                    absl::StrCat("the e-graph has more than the ", most_enodes,
                                 " e-nodes that so many rewrites may make of the model")),
          name(i));
    }
    found[i].reset();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Rewrite>> ReplayEGraph::Describe(size_t rule,
                                                              const Match& match) const {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Match> matches,
                            MatchesAt(rule, match.alternative, match.classes));
  const auto at = std::ranges::find(matches, match.ops, &Match::ops);
  if (at == matches.end()) return std::nullopt;
  Rewrite rewrite = {.rule = rules()[rule]->name(),
                     .alternative = match.alternative,
                     .which = static_cast<uint32_t>(at - matches.begin()),
                     .found_after = static_cast<uint32_t>(made_.size())};
  for (const ClassId cls : match.classes) {
    QUOTIENT_ASSIGN_OR_RETURN(rewrite.at.emplace_back(), PlaceOf(ENodeId(cls.value())));
  }
  return rewrite;
}

absl::StatusOr<bool> ReplayEGraph::Has(size_t rule, const Match& match) const {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Match> matches,
                            MatchesAt(rule, match.alternative, match.classes));
  return std::ranges::find(matches, match.ops, &Match::ops) != matches.end();
}

absl::StatusOr<bool> ReplayEGraph::Apply(size_t rule, const Match& match) {
  EGraph& graph = *tensors_.egraph;
  const uint32_t first = graph.enode_bound();
  const size_t unions = graph.proofs()->unions().size();
  const absl::StatusOr<bool> changed =
      rules()[rule]->Apply(graph, match, static_cast<egraph::Origin>(rule + 1));
  QUOTIENT_RETURN_IF_ERROR(changed.status());
  QUOTIENT_RETURN_IF_ERROR(graph.Rebuild());
  QUOTIENT_RETURN_IF_ERROR(CountMade(match, first, graph.proofs()->unions().size() - unions));
  if (*changed || graph.enode_bound() != first) made_.push_back({first, graph.enode_bound()});
  return *changed || graph.enode_bound() != first;
}

absl::Status ReplayEGraph::CountMade(const Match& match, uint32_t first, size_t unions) {
  int64_t operands = static_cast<int64_t>(match.classes.size());
  for (uint32_t i = first; i < graph().enode_bound(); ++i) {
    const egraph::ENodeView node = graph().node(ENodeId(i));
    operands += static_cast<int64_t>(node.children.size());
    bytes_ += kBytesPerENode + sizeof(ClassId) * static_cast<double>(node.children.size());
    const std::optional<model::Tensor>& constant = tensors_.domain->word(node.op).constant;
    if (constant.has_value()) bytes_ += static_cast<double>(constant->bytes().size());
  }
  const int64_t enodes = graph().enode_bound() - first;
  budget_.Take(kStepsPerRewrite + kStepsPerENode * (enodes + static_cast<int64_t>(unions)) +
               operands);
  if (bytes_ <= most_bytes_) return absl::OkStatus();
  return MakeError(Reason::kLimitBytes,
                   absl::StrCat("what rewrites have made takes more than the ",
                                static_cast<int64_t>(most_bytes_), " bytes that it may"));
}

absl::StatusOr<domain::Split> ReplayEGraph::SplitOf(const std::vector<Place>& parts) const {
  domain::Split split;
  ClassId of;
  for (const Place& place : parts) {
    QUOTIENT_ASSIGN_OR_RETURN(const ENodeId enode, Find(place));
    const egraph::ENodeView node = graph().node(enode);
    const OpWord& word = tensors_.domain->word(node.op);
    const bool is_slice = word.sort == OpWord::Sort::kOperator && word.name == "Slice" &&
                          node.children.size() == 1 && graph().live(enode);
    if (!is_slice) return Invalid("a part of a Split is no Slice");
    const ClassId input = graph().Find(node.children[0]);
    const model::TensorType& type = tensors_.domain->data(graph(), input).type;
    const std::optional<domain::SliceRange> range = domain::ReadSlice(word.attributes, type);
    if (!range.has_value()) return Invalid("a part of a Split has no known place");
    if (!split.parts.empty()) {
      const domain::SliceRange& last = split.parts.back().range;
      if (input != of || range->axis != last.axis || range->begin < last.end) {
        return Invalid("the parts of a Split do not lie behind each other");
      }
    }
    of = input;
    split.dim = type.dim(static_cast<int>(range->axis)).number();
    split.parts.push_back({*range, enode});
  }
  if (split.parts.size() < 2) return Invalid("a Split has fewer than two parts");
  return split;
}

absl::StatusOr<model::Graph> ReplayEGraph::Finish(const Rewriting& rewriting) const {
  std::vector<ENodeId> choice = FirstENodes(graph());
  for (const Place& place : rewriting.chosen) {
    QUOTIENT_ASSIGN_OR_RETURN(const ENodeId enode, Find(place));
    if (!graph().live(enode)) return Invalid("a chosen e-node equals an earlier one");
    choice[graph().class_of(enode).value()] = enode;
  }
  std::vector<domain::Split> splits;
  for (const std::vector<Place>& parts : rewriting.splits) {
    QUOTIENT_ASSIGN_OR_RETURN(splits.emplace_back(), SplitOf(parts));
    for (const domain::Split::Part& part : splits.back().parts) {
      if (choice[graph().class_of(part.slice).value()] != part.slice) {
        return Invalid("a part of a Split is not chosen");
      }
    }
  }
  absl::StatusOr<model::Graph> result = domain::ToGraph(tensors_, choice, rules(), splits);
  if (!result.ok()) {
    return Invalid(absl::StrCat("the chosen e-nodes make no graph: ", result.status().message()));
  }
  return result;
}

absl::StatusOr<Rewriting> ReplayEGraph::Choose(std::span<const ENodeId> chosen,
                                               std::span<const domain::Split> splits) const {
  const std::vector<ENodeId> first = FirstENodes(graph());
  Rewriting rewriting;
  for (const ENodeId enode : chosen) {
    if (first[graph().class_of(enode).value()] == enode) continue;
    QUOTIENT_ASSIGN_OR_RETURN(rewriting.chosen.emplace_back(), PlaceOf(enode));
  }
  for (const domain::Split& split : splits) {
    std::vector<Place>& parts = rewriting.splits.emplace_back();
    for (const domain::Split::Part& part : split.parts) {
      QUOTIENT_ASSIGN_OR_RETURN(parts.emplace_back(), PlaceOf(part.slice));
    }
  }
  return rewriting;
}

}  // namespace quotient::journal
