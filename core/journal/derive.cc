#include "core/journal/derive.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/domain/selection.h"
#include "core/journal/reasons.h"
#include "core/journal/same_enodes.h"
#include "core/journal/support.h"

namespace quotient::journal {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;
using egraph::Match;
using egraph::ProofLog;

absl::Status Underivable(absl::string_view why) {
  return MakeError(Reason::kInternal, absl::StrCat("no journal can be written: ", why));
}

// The match with other ids and words.
template <typename OfClass, typename OfWord>
absl::StatusOr<Match> Translated(const egraph::Rule& rule, const Match& match,
                                 const OfClass& of_class, const OfWord& of_word) {
  Match result = match;
  for (ClassId& cls : result.classes) {
    QUOTIENT_ASSIGN_OR_RETURN(const ENodeId same, of_class(ENodeId(cls.value())));
    cls = ClassId(same.value());
  }
  const size_t num_words = rule.NumWords(match);
  for (size_t i = 0; i < num_words; ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(result.ops[i], of_word(match.ops[i]));
  }
  return result;
}

// What is asked of the past about a rewrite that did not match when it was made again.
struct Doubt {
  // Whether to look for the time when the rule first matched, since it may not match any more when
  // the search makes the rewrite.
  bool looks_early = false;
  Reach reach = Reach::kFound;
};
// By the number of the rewrite among all attempts of the search.
using Doubts = absl::btree_map<size_t, Doubt>;

// All rewrites of a search, made again.
class Past {
 public:
  struct Rewrite {
    size_t attempt;  // Its number among all attempts.
    size_t rule;     // In ReplayedRound::rules.
    Match match;     // Its classes are e-nodes that stand for them.
  };

  static absl::StatusOr<std::unique_ptr<Past>> Make(const Selected& selected,
                                                    const model::Graph& measured,
                                                    const RoundSettings& settings,
                                                    const Doubts& doubts,
                                                    const StopCondition& stop) {
    QUOTIENT_ASSIGN_OR_RETURN(
        std::unique_ptr<ReplayedRound> round,
        ReplayedRound::Begin(selected.tensors.original, measured, settings));
    std::unique_ptr<Past> past(new Past(selected, std::move(round), doubts));
    QUOTIENT_RETURN_IF_ERROR(past->Repeat(stop));
    return past;
  }

  const ReplayedRound& round() const { return *round_; }
  uint32_t originals() const { return originals_; }
  const Reasons& reasons() const { return reasons_; }
  const Rewrite& rewrite(uint32_t number) const { return rewrites_[number]; }
  size_t num_rewrites() const { return rewrites_.size(); }
  // The live e-node that is the same as one of the search.
  absl::StatusOr<ENodeId> FindLive(ENodeId of_search) { return same_.FindLive(of_search); }

 private:
  Past(const Selected& selected, std::unique_ptr<ReplayedRound> round, const Doubts& doubts)
      : selected_(selected),
        round_(std::move(round)),
        doubts_(doubts),
        originals_(round_->graph().enode_bound()),
        of_search_(AsAdded(*selected.tensors.egraph)),
        same_(of_search_, *selected.tensors.domain, round_->tensors(), originals_) {
    for (size_t i = 0; i < round_->rules().size(); ++i) {
      rule_by_name_.emplace(round_->rules()[i]->name(), i);
    }
  }

  // What a rewrite rests on.
  struct Ground {
    Match match;  // Its classes are e-nodes that stood for them when it was found.
    Support support;
    uint32_t on_first = 0;  // As in Reasons::AddRewrite.
  };
  // A rewrite whose ground is looked for before it is made.
  struct Early {
    size_t attempt;
    size_t rule;
    Match of_search;
    std::optional<Ground> ground;
  };

  absl::Status Repeat(const StopCondition& stop) {
    NoteENodes(nullptr, Reasons::kNone);
    absl::Status status;
    size_t attempt = 0;
    const auto for_each = [&](const auto& visit) {
      attempt = 0;
      selected_.tensors.egraph->proofs()->ForEachAttempt([&](const ProofLog::Attempt& tried) {
        if (status.ok() && stop.cancelled()) {
          status = MakeError(Reason::kCancelled, "the job was cancelled");
        }
        if (status.ok()) status = visit(tried);
        ++attempt;
      });
    };
    for_each([&](const ProofLog::Attempt& tried) { return ExpectEarly(attempt, tried); });
    for_each([&](const ProofLog::Attempt& tried) { return RepeatOne(attempt, tried); });
    fprintf(stderr, "T attempts %zu\n", attempt);
    return status;
  }

  absl::StatusOr<size_t> RuleOf(const ProofLog::Attempt& tried) const {
    const auto found = rule_by_name_.find(selected_.rules[tried.origin - 1]->name());
    if (found == rule_by_name_.end()) return Underivable("a rule is not known");
    return found->second;
  }

  static Match MatchOf(const ProofLog::Attempt& tried) {
    Match match;
    match.alternative = tried.alternative;
    for (const uint32_t id : tried.classes) match.classes.emplace_back(id);
    for (const uint32_t op : tried.ops) match.ops.emplace_back(op);
    return match;
  }

  absl::StatusOr<Match> FromSearch(size_t rule, const Match& of_search) {
    return Translated(
        *round_->rules()[rule], of_search, [this](ENodeId enode) { return same_.Find(enode); },
        [this](egraph::OpId word) { return same_.Word(word); });
  }

  absl::Status ExpectEarly(size_t attempt, const ProofLog::Attempt& tried) {
    const auto doubt = doubts_.find(attempt);
    if (doubt == doubts_.end() || !doubt->second.looks_early) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(const size_t rule, RuleOf(tried));
    early_.push_back({attempt, rule, MatchOf(tried), std::nullopt});
    return absl::OkStatus();
  }

  absl::Status LookEarly() {
    for (Early& early : early_) {
      if (early.ground.has_value()) continue;
      const absl::StatusOr<Match> match = FromSearch(early.rule, early.of_search);
      if (absl::IsNotFound(match.status())) continue;  // Not all of its places are there.
      QUOTIENT_RETURN_IF_ERROR(match.status());
      if (round_->Has(early.rule, *match)) early.ground = GroundOf(early.attempt, early.rule, *match);
    }
    return absl::OkStatus();
  }

  // `match` is in the e-graph now.
  Ground GroundOf(size_t attempt, size_t rule, Match match) const {
    const auto doubt = doubts_.find(attempt);
    const Reach reach = doubt == doubts_.end() ? Reach::kFound : doubt->second.reach;
    const EGraph& graph = round_->graph();
    Support support(*round_->rules()[rule], match, graph, reasons_.enodes(), reach);
    for (ClassId& cls : match.classes) cls = ClassId(support.Standing(graph.Find(cls)).value());
    return {std::move(match), std::move(support),
            reach == Reach::kAll ? static_cast<uint32_t>(rewrites_.size()) : 0};
  }

  // The ground of a rewrite that is about to be made.
  Ground TakeGround(size_t attempt, size_t rule, const Match& match) {
    const auto early = std::ranges::find(early_, attempt, &Early::attempt);
    if (early == early_.end()) return GroundOf(attempt, rule, match);
    std::optional<Ground> ground = std::move(early->ground);
    early_.erase(early);
    if (!ground.has_value()) return GroundOf(attempt, rule, match);
    ground->support.Renew();
    return *std::move(ground);
  }

  absl::Status RepeatOne(size_t attempt, const ProofLog::Attempt& tried) {
    QUOTIENT_RETURN_IF_ERROR(LookEarly());
    QUOTIENT_ASSIGN_OR_RETURN(const size_t rule, RuleOf(tried));
    QUOTIENT_ASSIGN_OR_RETURN(const Match match, FromSearch(rule, MatchOf(tried)));
    const EGraph& graph = round_->graph();
    Ground ground = TakeGround(attempt, rule, match);
    const Support& support = ground.support;
    const size_t unions_before = graph.proofs()->unions().size();
    QUOTIENT_ASSIGN_OR_RETURN(const bool changed, round_->Apply(rule, ground.match));
    if (!changed) return absl::OkStatus();
    const auto number = static_cast<uint32_t>(rewrites_.size());
    rewrites_.push_back({attempt, rule, std::move(ground.match)});
    NoteENodes(&support, number);
    for (const egraph::UnionRecord& made : graph.proofs()->unions().subspan(unions_before)) {
      // The reasons derive congruences themselves.
      if (made.origin == egraph::kCongruence) continue;
      reasons_.AddUnion(support.Standing(made.a), support.Standing(made.b), number);
    }
    reasons_.AddRewrite(support.equalities(), ground.on_first);
    return absl::OkStatus();
  }

  // Takes in the new e-nodes. `support` is that of the rewrite that made them, or null.
  void NoteENodes(const Support* support, uint32_t rewrite) {
    const EGraph& graph = round_->graph();
    std::vector<ENodeId> children;
    for (uint32_t i = reasons_.enodes().size(); i < graph.enode_bound(); ++i) {
      const egraph::ENodeView node = graph.node(ENodeId(i));
      children.clear();
      for (const ClassId id :
           graph.proofs()->born_children().subspan(children_noted_, node.children.size())) {
        children.push_back(support == nullptr ? ENodeId(id.value()) : support->Standing(id));
      }
      children_noted_ += node.children.size();
      reasons_.AddENode(node.op, children, rewrite);
    }
  }

  const Selected& selected_;
  const std::unique_ptr<ReplayedRound> round_;
  const Doubts& doubts_;
  const uint32_t originals_;
  const ENodeTable of_search_;
  SameENodes same_;
  absl::flat_hash_map<std::string, size_t> rule_by_name_;
  Reasons reasons_;
  std::vector<Rewrite> rewrites_;
  size_t children_noted_ = 0;  // Of the children of all e-nodes.
  std::vector<Early> early_;   // Those that are not made yet.
};

// What is left of the past for the chosen e-nodes: the rewrites that they need, made in a fresh
// e-graph.
class Rest {
 public:
  static absl::StatusOr<std::unique_ptr<Rest>> Begin(const Past& past, const model::Graph& graph,
                                                     const model::Graph& measured,
                                                     const RoundSettings& settings) {
    QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<ReplayedRound> round,
                              ReplayedRound::Begin(graph, measured, settings));
    return std::unique_ptr<Rest>(new Rest(past, std::move(round)));
  }

  // Makes the rewrites of these numbers, in their order, so that e-nodes have the same order as in
  // the search. Each is looked for as soon as what it rests on is there, and again later, because a
  // rule may not match any more when there is more. Those that do not match are made as well, as far
  // as that is possible, and returned.
  absl::StatusOr<std::vector<uint32_t>> Make(std::span<const uint32_t> numbers,
                                             const StopCondition& stop) {
    std::vector<std::vector<size_t>> ready = ReadyAt(numbers);
    std::vector<Found> found(numbers.size());
    std::vector<size_t> wanted;
    std::vector<uint32_t> failed;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (stop.cancelled()) return MakeError(Reason::kCancelled, "the job was cancelled");
      wanted.insert(wanted.end(), ready[i].begin(), ready[i].end());
      std::vector<size_t> missing;
      for (const size_t next : wanted) {
        QUOTIENT_RETURN_IF_ERROR(Find(past_.rewrite(numbers[next]), &found[next]));
        const bool is_found = found[next].described.has_value() || next == i;
        if (!is_found && ++found[next].trials < kMostTrials) missing.push_back(next);
      }
      wanted = std::move(missing);
      QUOTIENT_ASSIGN_OR_RETURN(const bool matches,
                                MakeOne(past_.rewrite(numbers[i]), &found[i]));
      if (!matches) failed.push_back(numbers[i]);
      found[i] = {};
    }
    return failed;
  }

  absl::StatusOr<ENodeId> FindLive(ENodeId of_past) { return same_.FindLive(of_past); }
  const ReplayedRound& round() const { return *round_; }
  std::vector<Rewrite> TakeRewrites() { return std::move(rewrites_); }

 private:
  Rest(const Past& past, std::unique_ptr<ReplayedRound> round)
      : past_(past),
        round_(std::move(round)),
        same_(past.reasons().enodes(), *past.round().tensors().domain, round_->tensors(),
              past.originals()) {}

  // A rewrite that is to be made.
  struct Found {
    std::optional<Match> match;        // Nullopt while its places are not there.
    std::optional<Rewrite> described;  // Nullopt while its rule does not match.
    int trials = 0;
  };
  // How often a rewrite is looked for where what it rests on seems to be there.
  static constexpr int kMostTrials = 50;

  // By how many of the rewrites are made when what they rest on is there: their indices.
  std::vector<std::vector<size_t>> ReadyAt(std::span<const uint32_t> numbers) const {
    absl::flat_hash_map<uint32_t, size_t> index_of;
    std::vector<std::vector<size_t>> ready(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      size_t first = 0;
      for (const uint32_t before : past_.reasons().RewritesBefore(numbers[i])) {
        const auto at = index_of.find(before);
        if (at != index_of.end()) first = std::max(first, at->second + 1);
      }
      index_of[numbers[i]] = i;
      ready[first].push_back(i);
    }
    return ready;
  }

  absl::Status Find(const Past::Rewrite& rewrite, Found* found) {
    absl::StatusOr<Match> match = Translated(
        *round_->rules()[rewrite.rule], rewrite.match,
        [this](ENodeId enode) { return same_.Find(enode); },
        [this](egraph::OpId word) { return same_.Word(word); });
    // Something before it did not match, or did something else.
    if (absl::IsNotFound(match.status())) return absl::OkStatus();
    QUOTIENT_RETURN_IF_ERROR(match.status());
    QUOTIENT_ASSIGN_OR_RETURN(found->described, round_->Describe(rewrite.rule, *match));
    found->match = *std::move(match);
    return absl::OkStatus();
  }

  // Returns false if it does not match.
  absl::StatusOr<bool> MakeOne(const Past::Rewrite& rewrite, Found* found) {
    if (!found->described.has_value()) QUOTIENT_RETURN_IF_ERROR(Find(rewrite, found));
    if (!found->match.has_value()) return false;
    QUOTIENT_ASSIGN_OR_RETURN(const bool changed, round_->Apply(rewrite.rule, *found->match));
    if (!changed) return true;
    if (!found->described.has_value()) return false;
    rewrites_.push_back(*std::move(found->described));
    return true;
  }

  const Past& past_;
  const std::unique_ptr<ReplayedRound> round_;
  SameENodes same_;
  std::vector<Rewrite> rewrites_;
};

// Whether two graphs are equal up to the last name.
bool IsSame(const model::Graph& a, const model::Graph& b) {
  const auto same_values = [](const model::Value& x, const model::Value& y) {
    if (x.name != y.name || x.type != y.type) return false;
    if (x.constant.has_value() != y.constant.has_value()) return false;
    return !x.constant.has_value() || x.constant->digest() == y.constant->digest();
  };
  const auto same_nodes = [](const model::Node& x, const model::Node& y) {
    return x.name == y.name && x.op == y.op && x.attributes == y.attributes &&
           x.inputs == y.inputs && x.outputs == y.outputs && x.source == y.source;
  };
  return a.inputs == b.inputs && a.outputs == b.outputs &&
         std::ranges::equal(a.values, b.values, same_values) &&
         std::ranges::equal(a.nodes, b.nodes, same_nodes);
}

class Deriver {
 public:
  Deriver(const Selected& selected, const model::Graph& measured, const RoundSettings& settings,
          const StopCondition& stop)
      : selected_(selected), measured_(measured), settings_(settings), stop_(stop) {}

  absl::StatusOr<Derived> Run() {
    QUOTIENT_ASSIGN_OR_RETURN(order_, domain::ChosenClasses(selected_.tensors, selected_.choice));
    QUOTIENT_ASSIGN_OR_RETURN(wanted_, domain::ToGraph(selected_.tensors, selected_.choice,
                                                       selected_.rules, selected_.splits));
    for (int pass = 0; pass < kMostPasses; ++pass) {
      QUOTIENT_ASSIGN_OR_RETURN(std::optional<Derived> derived, Try());
      if (derived.has_value()) return *std::move(derived);
    }
    return Underivable(last_failure_);
  }

 private:
  static constexpr int kMostPasses = 40;

  absl::StatusOr<std::optional<Derived>> Try() {
    QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<Past> past,
                              Past::Make(selected_, measured_, settings_, doubts_, stop_));
    fprintf(stderr, "T %ld past made, rewrites %zu doubts %zu enodes %u\n", time(nullptr), past->num_rewrites(), doubts_.size(), past->round().graph().enode_bound());
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<ENodeId> chosen, ChosenIn(*past));
    std::vector<uint32_t> numbers = past->reasons().RewritesFor(
        EqualitiesAmong(WithValues(*past, chosen), past->round().graph(),
                        past->reasons().enodes()));
    fprintf(stderr, "T %ld needed %zu\n", time(nullptr), numbers.size());
    if (needs_all_) {
      numbers.clear();
      for (uint32_t i = 0; i < past->num_rewrites(); ++i) numbers.push_back(i);
    }
    QUOTIENT_ASSIGN_OR_RETURN(
        const std::unique_ptr<Rest> rest,
        Rest::Begin(*past, selected_.tensors.original, measured_, settings_));
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<uint32_t> failed, rest->Make(numbers, stop_));
    fprintf(stderr, "T %ld failed %zu\n", time(nullptr), failed.size());
    if (!failed.empty()) {
      QUOTIENT_RETURN_IF_ERROR(Widen(*past, failed));
      return std::nullopt;
    }
    return Finish(chosen, *rest);
  }

  // The chosen e-nodes, in the order of their classes, and then the parts of Splits.
  absl::StatusOr<std::vector<ENodeId>> ChosenIn(Past& past) const {
    std::vector<ENodeId> chosen;
    for (const ClassId cls : order_) {
      QUOTIENT_ASSIGN_OR_RETURN(chosen.emplace_back(),
                                past.FindLive(selected_.choice[cls.value()]));
    }
    for (const domain::Split& split : selected_.splits) {
      for (const domain::Split::Part& part : split.parts) {
        QUOTIENT_ASSIGN_OR_RETURN(chosen.emplace_back(), past.FindLive(part.slice));
      }
    }
    return chosen;
  }

  // And the e-nodes of the model that compute the same, because the result has their names.
  std::vector<ENodeId> WithValues(const Past& past, std::vector<ENodeId> chosen) const {
    const EGraph& graph = past.round().graph();
    std::vector<bool> is_chosen(graph.class_bound());
    for (const ENodeId enode : chosen) is_chosen[graph.class_of(enode).value()] = true;
    for (const ClassId cls : selected_.tensors.class_of_value) {
      if (cls.valid() && is_chosen[graph.Find(cls).value()]) chosen.emplace_back(cls.value());
    }
    for (const ClassId root : selected_.tensors.roots) chosen.emplace_back(root.value());
    return chosen;
  }

  // The first that failed may have made others fail, so that one alone may come to rest on all.
  absl::Status Widen(const Past& past, std::span<const uint32_t> failed) {
    for (const uint32_t number : failed) {
      const Past::Rewrite& rewrite = past.rewrite(number);
      Doubt& doubt = doubts_[rewrite.attempt];
      const bool is_first = number == failed.front();
      if (is_first) {
        last_failure_ = absl::StrCat("rule ", past.round().rules()[rewrite.rule]->name(),
                                     " does not match again");
        if (doubt.looks_early && doubt.reach == Reach::kAll) return Underivable(last_failure_);
      }
      if (!doubt.looks_early) {
        doubt.looks_early = true;
      } else if (is_first || doubt.reach < Reach::kAround) {
        doubt.reach = static_cast<Reach>(static_cast<uint8_t>(doubt.reach) + 1);
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<Derived>> Finish(std::span<const ENodeId> chosen,
                                                Rest& rest) {
    std::vector<ENodeId> in_rest;
    for (const ENodeId enode : chosen) {
      absl::StatusOr<ENodeId> live = rest.FindLive(enode);
      if (!live.ok()) return AllIfNot(absl::StrCat("a chosen e-node is missing: ", live.status().message()));
      in_rest.push_back(*live);
    }
    const std::vector<domain::Split> splits = SplitsIn(in_rest);
    QUOTIENT_ASSIGN_OR_RETURN(
        Round round, rest.round().Choose(std::span(in_rest).first(order_.size()), splits));
    round.rewrites = rest.TakeRewrites();
    absl::StatusOr<model::Graph> graph = rest.round().Finish(round);
    if (!graph.ok()) return AllIfNot(graph.status().message());
    if (!IsSame(*graph, wanted_)) {
      fprintf(stderr, "nodes %zu %zu values %zu %zu\n", graph->nodes.size(), wanted_.nodes.size(), graph->values.size(), wanted_.values.size());
      for (size_t i = 0; i < std::min(graph->nodes.size(), wanted_.nodes.size()); ++i) if (graph->nodes[i].name != wanted_.nodes[i].name || graph->nodes[i].op != wanted_.nodes[i].op || !(graph->nodes[i].attributes == wanted_.nodes[i].attributes)) fprintf(stderr, "node %zu %s %s | %s %s\n", i, graph->nodes[i].op.c_str(), graph->nodes[i].name.c_str(), wanted_.nodes[i].op.c_str(), wanted_.nodes[i].name.c_str());
      for (size_t i = 0; i < std::min(graph->values.size(), wanted_.values.size()); ++i) if (graph->values[i].name != wanted_.values[i].name || !(graph->values[i].type == wanted_.values[i].type)) fprintf(stderr, "value %zu %s %s | %s %s\n", i, ToString(graph->values[i].type).c_str(), graph->values[i].name.c_str(), ToString(wanted_.values[i].type).c_str(), wanted_.values[i].name.c_str());
    }
    if (!IsSame(*graph, wanted_)) return AllIfNot("another graph results");
    return Derived{std::move(round), *std::move(graph)};
  }

  // The Splits of the parts that follow the chosen e-nodes.
  std::vector<domain::Split> SplitsIn(std::span<const ENodeId> chosen) const {
    std::vector<domain::Split> splits(selected_.splits.begin(), selected_.splits.end());
    size_t next = order_.size();
    for (domain::Split& split : splits) {
      for (domain::Split::Part& part : split.parts) part.slice = chosen[next++];
    }
    return splits;
  }

  // What is left of the past does not suffice. With all of it, it must.
  absl::StatusOr<std::optional<Derived>> AllIfNot(absl::string_view why) {
    if (needs_all_) return Underivable(why);
    needs_all_ = true;
    return std::nullopt;
  }

  const Selected& selected_;
  const model::Graph& measured_;
  const RoundSettings& settings_;
  const StopCondition& stop_;
  std::vector<ClassId> order_;
  model::Graph wanted_;
  Doubts doubts_;
  bool needs_all_ = false;
  std::string last_failure_;
};

}  // namespace

absl::StatusOr<Derived> Derive(const Selected& selected, const model::Graph& measured,
                               const RoundSettings& settings, const StopCondition& stop) {
  return Deriver(selected, measured, settings, stop).Run();
}

}  // namespace quotient::journal
