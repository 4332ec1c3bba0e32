#include "core/generate/instances.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "core/base/rng.h"
#include "core/generate/words.h"

namespace quotient::generate {
namespace {

using Shapes = std::vector<Ints>;         // By variable.
using Words = std::vector<AttributeMap>;  // By operator.

// --- Shapes

class ShapesToTry {
 public:
  ShapesToTry(const Terms& terms, TermId left)
      : small_(terms.Small().dims), variables_(terms.VariablesOf(left)) {
    Add(whole_, small_);
    AddRoomy(terms.universe());
    for (const int variable : variables_)
      sizes_.insert(small_[variable].begin(), small_[variable].end());
  }

  // An axis less of one variable, and of all.
  void WithLowerRanks() {
    Shapes all = small_;
    for (const int variable : variables_) {
      Shapes one = small_;
      for (Shapes* each : {&one, &all}) {
        Ints& dims = (*each)[variable];
        if (!dims.empty()) dims.erase(dims.begin());
      }
      Add(others_, std::move(one));
    }
    Add(whole_, std::move(all));
  }
  // An axis more: one that the other variables have, so that they can be broadcast to each other.
  void WithHigherRanks() {
    std::set<int64_t> sizes = sizes_;
    sizes.insert({1, 2});
    for (const int64_t size : sizes) {
      Shapes all = small_;
      for (const int variable : variables_) {
        Shapes one = small_;
        for (Shapes* each : {&one, &all}) {
          Ints& dims = (*each)[variable];
          dims.insert(dims.begin(), size);
        }
        Add(others_, std::move(one));
      }
      Add(size == *sizes.rbegin() ? whole_ : others_, std::move(all));
    }
  }
  // The largest number of none is an infinity.
  void WithEmptyAxes() {
    for (const int64_t size : sizes_) Add(others_, WithSize(size, 0));
  }
  // One axis of one variable is shorter, and broadcast, or longer. Images are also larger than
  // their kernels meanwhile.
  void WithOtherAxes() {
    for (const Shapes& base : {small_, roomy_}) {
      for (const int variable : variables_) {
        for (size_t axis = 0; axis < base[variable].size(); ++axis) {
          for (const int64_t size : {1, 2, 3}) {
            Shapes shapes = base;
            shapes[variable][axis] = size;
            Add(others_, std::move(shapes));
          }
        }
      }
    }
  }
  // A Slice of few elements takes all of a short axis, and an operand of one row fits where one of
  // several does not.
  void WithShortAxes() {
    for (const int64_t size : sizes_) Add(whole_, WithSize(size, 1));
  }
  // Operands of different ranks that fit each other nevertheless, as a vector fits a stack of
  // square matrices.
  void WithMixedRanks() {
    constexpr size_t kMostVariables = 3;
    constexpr int64_t kSize = 2;
    if (variables_.size() > kMostVariables) return;
    size_t mixtures = 1;
    for (size_t i = 0; i < variables_.size(); ++i) mixtures *= 3;
    for (size_t mixture = 0; mixture < mixtures; ++mixture) {
      Shapes shapes = small_;
      size_t rest = mixture;
      for (const int variable : variables_) {
        const size_t rank = shapes[variable].size() + rest % 3;
        shapes[variable].assign(rank > 0 ? rank - 1 : 0, kSize);
        rest /= 3;
      }
      Add(others_, std::move(shapes));
    }
  }
  // Matrices that are square fit many an operator that they should not.
  void WithEqualAxes() {
    for (const int64_t size : {2, 3}) {
      Shapes shapes = small_;
      for (Ints& dims : shapes) std::ranges::fill(dims, size);
      Add(others_, std::move(shapes));
    }
  }
  // What holds because a window covers an image, or an axis has one element, does not hold there.
  void WithLongAxes() {
    constexpr int64_t kMore = 9;
    Shapes all = small_;
    for (const int64_t size : sizes_) {
      Shapes longer = WithSize(size, size + kMore);
      Add(others_, std::move(longer));
    }
    for (const int variable : variables_) {
      for (int64_t& dim : all[variable]) dim += dim == 1 ? 0 : kMore;
    }
    Add(whole_, std::move(all));
  }

  // Those in which all combinations of attributes are tried.
  const std::vector<Shapes>& whole() const { return whole_; }
  const std::vector<Shapes>& others() const { return others_; }

 private:
  void AddRoomy(const Universe& universe) {
    constexpr int64_t kMore = 4;
    roomy_ = small_;
    for (size_t i = 0; i < roomy_.size(); ++i) {
      Ints& dims = roomy_[i];
      if (universe.variables[i].is_weight || dims.size() != 4) continue;
      dims[2] += kMore;
      dims[3] += kMore + 1;
    }
    Add(whole_, roomy_);
  }
  // Dimensions that are equal often have to be.
  Shapes WithSize(int64_t size, int64_t other) const {
    Shapes shapes = small_;
    for (Ints& dims : shapes) std::ranges::replace(dims, size, other);
    return shapes;
  }
  void Add(std::vector<Shapes>& list, Shapes shapes) {
    if (seen_.insert(shapes).second) list.push_back(std::move(shapes));
  }

  const Shapes small_;
  Shapes roomy_;
  const std::vector<int> variables_;
  std::set<int64_t> sizes_;  // The dimensions of the variables, each once.
  std::vector<Shapes> whole_;
  std::vector<Shapes> others_;
  std::set<Shapes> seen_;
};

// --- Attributes

class WordsToTry {
 public:
  WordsToTry(const Terms& terms, TermId left, Rng& rng) : rng_(rng), own_(terms.Small().words) {
    for (const TermId part : terms.Parts(left)) {
      if (terms.term(part).is_variable()) continue;
      const int op = terms.term(part).op;
      const auto has_op = [op](const Choice& choice) { return choice.op == op; };
      if (std::ranges::any_of(choices_, has_op)) continue;
      Choice choice{op, AttributesToTry(terms.op(part).name)};
      if (!choice.attributes.empty()) choices_.push_back(std::move(choice));
    }
  }

  std::vector<Words> All() {
    constexpr size_t kMost = 250;
    size_t combinations = 1;
    for (const Choice& choice : choices_) combinations *= choice.attributes.size() + 1;
    all_.push_back(own_);
    if (combinations <= kMost) {
      AddProduct(0, own_);
    } else {
      AddPairs();
      for (size_t i = 0; i < kMost; ++i) AddRandom();
    }
    return std::move(all_);
  }

 private:
  struct Choice {
    int op;
    std::vector<AttributeMap> attributes;  // Besides those of the universe.
  };

  void AddProduct(size_t first, const Words& words) {
    for (size_t i = first; i < choices_.size(); ++i) {
      for (const AttributeMap& attributes : choices_[i].attributes) {
        Words varied = words;
        varied[choices_[i].op] = attributes;
        AddProduct(i + 1, varied);
        all_.push_back(std::move(varied));
      }
    }
  }
  void AddPairs() {
    for (size_t i = 0; i < choices_.size(); ++i) {
      for (const AttributeMap& one : choices_[i].attributes) {
        Words words = own_;
        words[choices_[i].op] = one;
        all_.push_back(words);
        for (size_t j = i + 1; j < choices_.size(); ++j) {
          for (const AttributeMap& other : choices_[j].attributes) {
            all_.push_back(words);
            all_.back()[choices_[j].op] = other;
          }
        }
      }
    }
  }
  void AddRandom() {
    Words words = own_;
    for (const Choice& choice : choices_) {
      words[choice.op] = choice.attributes[rng_.Below(choice.attributes.size())];
    }
    all_.push_back(std::move(words));
  }

  Rng& rng_;
  const Words own_;
  std::vector<Choice> choices_;  // By operator of the term that may have other attributes.
  std::vector<Words> all_;
};

// --- Both

class Graphs {
 public:
  Graphs(const Terms& terms, TermId term)
      : terms_(terms), term_(term), variables_(terms.VariablesOf(term)) {
    for (const TermId part : terms.Parts(term)) {
      if (!terms.term(part).is_variable()) operators_.insert(terms.term(part).op);
    }
  }

  // Adds nothing if such a graph was asked for before.
  void Add(const Shapes& shapes, const Words& words) {
    if (!asked_.insert({DimsIn(shapes), TextOf(words)}).second) return;
    Instance instance;
    instance.dims = shapes;
    instance.words = words;
    auto graph = terms_.ToGraph(std::span(&term_, 1), instance);
    if (graph) graphs_.push_back(*std::move(graph));
  }
  std::vector<model::Graph> Take() { return std::move(graphs_); }

 private:
  // What of them is in the term.
  Shapes DimsIn(const Shapes& shapes) const {
    Shapes dims;
    for (const int variable : variables_) dims.push_back(shapes[variable]);
    return dims;
  }
  std::string TextOf(const Words& words) const {
    std::string text;
    for (const int op : operators_) text += ToString(words[op]);
    return text;
  }

  const Terms& terms_;
  const TermId term_;
  const std::vector<int> variables_;  // Of the term.
  std::set<int> operators_;           // Of the term.
  std::set<std::pair<Shapes, std::string>> asked_;
  std::vector<model::Graph> graphs_;
};

}  // namespace

std::vector<model::Graph> GraphsToTry(const Terms& terms, TermId left, const RuleStyle& style,
                                      uint64_t seed) {
  ShapesToTry shapes(terms, left);
  if (!style.same_ranks) {
    shapes.WithLowerRanks();
    shapes.WithHigherRanks();
    shapes.WithMixedRanks();
  }
  if (!style.has_elements) shapes.WithEmptyAxes();
  shapes.WithOtherAxes();
  shapes.WithShortAxes();
  shapes.WithEqualAxes();
  shapes.WithLongAxes();

  Rng rng(seed);
  std::vector<Words> words = {terms.Small().words};
  if (style.any_words) words = WordsToTry(terms, left, rng).All();
  Graphs graphs(terms, left);
  for (const Shapes& each : shapes.whole()) {
    for (const Words& word : words) graphs.Add(each, word);
  }
  for (const Shapes& each : shapes.others()) graphs.Add(each, words[0]);
  constexpr int kMostDraws = 600;
  for (int i = 0; words.size() > 1 && i < kMostDraws; ++i) {
    graphs.Add(shapes.others()[rng.Below(shapes.others().size())], words[rng.Below(words.size())]);
  }
  return graphs.Take();
}

}  // namespace quotient::generate
