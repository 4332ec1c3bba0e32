// Rules about Concat and Slice alone: they combine, cancel and exchange places.

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "core/rules/concat_split.h"
#include "core/rules/types.h"

namespace quotient::rules {

bool IsOperator(const OpWord& word, absl::string_view name) {
  return word.sort == OpWord::Sort::kOperator && word.name == name;
}

std::optional<SliceRange> Range(const OpWord& word, const TensorType& input) {
  if (word.sort != OpWord::Sort::kOperator || word.name != "Slice") return std::nullopt;
  return domain::ReadSlice(word.attributes, input);
}

std::vector<ClassId> PartsOf(const SiteMatch& match) {
  return {match.classes.begin() + 1, match.classes.end()};
}

int64_t ConcatAxis(const OpWord& word, const TensorType& part) {
  const int64_t axis = word.attributes.GetInt("axis", 0);
  if (axis >= 0) return axis;
  return part.has_rank() ? axis + part.rank() : -1;
}

bool CanConcat(const Terms& terms, std::span<const ClassId> parts, int64_t axis) {
  const TensorType& first = terms.type(parts[0]);
  return std::ranges::all_of(parts, [&](ClassId part) {
    const TensorType& type = terms.type(part);
    if (!type.has_rank() || !first.has_rank() || type.rank() != first.rank()) return false;
    for (int i = 0; i < type.rank(); ++i) {
      if (i != axis && !model::SameDim(type.dim(i), first.dim(i))) return false;
    }
    return true;
  });
}

std::optional<TensorType> ConcatType(Terms& terms, const std::vector<ClassId>& parts,
                                     int64_t axis) {
  TensorType type = terms.type(parts[0]);
  if (!type.has_rank() || axis < 0 || axis >= type.rank()) return std::nullopt;
  int64_t total = 0;
  for (const ClassId part : parts) {
    const auto size = NumberAt(terms.type(part), static_cast<int>(axis));
    if (!size) return std::nullopt;
    total += *size;
  }
  (*type.shape)[axis] = total;
  return type;
}

ClassId SlicedOperand(Terms& terms, const SliceRange& range, int rank, ClassId c) {
  const TensorType& type = terms.type(c);
  if (!type.has_rank()) return ClassId();
  const int64_t own = range.axis - (rank - type.rank());
  if (own < 0 || type.dim(static_cast<int>(own)).Is(1)) return c;
  return terms.Slice(c, {own, range.begin, range.end});
}

std::optional<ENodeId> NodeOf(const View& view, ClassId cls,
                              const std::function<bool(const OpWord&)>& wanted) {
  for (const ENodeId enode : view.graph().nodes(view.graph().Find(cls))) {
    if (wanted(view.word(enode))) return enode;
  }
  return std::nullopt;
}

namespace {

// --- concat-concat: Concat(.., Concat(y..), ..) = Concat(.., y.., ..) ---

constexpr size_t kMaxParts = 256;

void SearchNestedConcats(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const auto outer = view.graph().node(enode);
    SiteMatch match{{view.graph().class_of(enode)}, {outer.op}, {}};
    bool nested = false;
    for (const ClassId part : outer.children) {
      const auto inner = NodeOf(view, part, [&](const OpWord& word) {
        return IsOperator(word, "Concat") &&
               ConcatAxis(word, view.type(part)) == ConcatAxis(view.word(enode), view.type(part));
      });
      if (inner && view.graph().Find(part) != view.graph().class_of(enode)) {
        nested = true;
        const auto children = view.graph().node(*inner).children;
        match.classes.insert(match.classes.end(), children.begin(), children.end());
      } else {
        match.classes.push_back(part);
      }
    }
    return !nested || match.classes.size() > kMaxParts || emit(std::move(match));
  });
}

std::vector<Equation> JoinConcats(Terms& terms, const SiteMatch& match) {
  const std::vector<ClassId> parts = PartsOf(match);
  const int64_t axis = ConcatAxis(terms.word(match.ops[0]), terms.type(parts[0]));
  return {{match.classes[0], axis < 0 ? ClassId() : terms.Concat(parts, axis)}};
}

// --- concat-empty: operands without elements add nothing ---

// Classes of a match: the root, and the operands that may have elements, or the first operand if
// none has any.
void SearchEmptyParts(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const auto node = view.graph().node(enode);
    const int64_t axis = ConcatAxis(view.word(enode), view.type(node.children[0]));
    if (axis < 0 || node.children.size() < 2) return true;
    SiteMatch match{{view.graph().class_of(enode)}, {node.op}, {}};
    for (const ClassId part : node.children) {
      if (NumberAt(view.type(part), static_cast<int>(axis)) != 0) match.classes.push_back(part);
    }
    if (match.classes.size() == 1) match.classes.push_back(node.children[0]);
    return match.classes.size() > node.children.size() || emit(std::move(match));
  });
}

// An operand that is left out may be the only one that gives another axis its number. Then the
// types differ and nothing is rewritten.
std::vector<Equation> LeaveOutEmptyParts(Terms& terms, const SiteMatch& match) {
  const std::vector<ClassId> parts = PartsOf(match);
  const int64_t axis = ConcatAxis(terms.word(match.ops[0]), terms.type(parts[0]));
  const ClassId joined = axis < 0 ? ClassId() : terms.Concat(parts, axis);
  if (!joined.valid() || !SameType(terms.type(joined), terms.type(match.classes[0]))) return {};
  return {{match.classes[0], joined}};
}

// --- concat-slices: adjacent Slices of one tensor become one Slice ---

// The range of a tensor that a part of a Concat is a Slice of.
struct Piece {
  ClassId source;
  SliceRange range;
};

// Calls visit(piece) for each way to write a part as a Slice, until it returns false.
template <typename Visit>
void ForEachPiece(const View& view, ClassId part, int64_t axis, const Visit& visit) {
  for (const ENodeId enode : view.graph().nodes(view.graph().Find(part))) {
    const auto node = view.graph().node(enode);
    if (!IsOperator(view.word(enode), "Slice") || node.children.size() != 1) continue;
    const auto range = Range(view.word(enode), view.type(node.children[0]));
    // An empty range is skipped, because [0, 0) in a match stands for a part that is no Slice.
    // Numbers in a match have 32 bits.
    if (!range || range->axis != axis || range->size() <= 0 ||
        range->end > std::numeric_limits<int32_t>::max()) {
      continue;
    }
    if (!visit(Piece{view.graph().Find(node.children[0]), *range})) return;
  }
}

std::optional<Piece> PieceOf(const View& view, ClassId part, int64_t axis) {
  std::optional<Piece> first;
  ForEachPiece(view, part, axis, [&first](const Piece& piece) {
    first = piece;
    return false;
  });
  return first;
}

// Classes of a match: the root, and a class for each part of the new Concat. Numbers: the axis and,
// for each part, begin and end of the Slice of that class, or 0 and 0 for the class itself.
void SearchNeighbours(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const auto node = view.graph().node(enode);
    const int64_t axis = ConcatAxis(view.word(enode), view.type(node.children[0]));
    if (axis < 0) return true;
    SiteMatch match{{view.graph().class_of(enode)}, {}, {axis}};
    std::optional<Piece> last;
    bool joins = false;
    for (const ClassId part : node.children) {
      const std::optional<Piece> piece = PieceOf(view, part, axis);
      if (piece && last && piece->source == last->source && piece->range.begin == last->range.end) {
        match.numbers.back() = piece->range.end;
        joins = true;
      } else {
        match.classes.push_back(piece ? piece->source : part);
        match.numbers.push_back(piece ? piece->range.begin : 0);
        match.numbers.push_back(piece ? piece->range.end : 0);
      }
      last = piece;
    }
    return !joins || emit(std::move(match));
  });
}

// Finds the ways to divide the parts of a Concat among the classes of a match, in order: a class is
// a part itself, or is what one or more parts behind each other are adjacent Slices of. Choices are
// made depth first. Those that are still open stand on a stack of their own, because a Concat may
// have more parts than the call stack allows.
class NeighboursOfClasses {
 public:
  NeighboursOfClasses(const View& view, ENodeId concat, int64_t axis,
                      std::span<const ClassId> classes, const EmitFn& emit)
      : view_(view),
        parts_(view.graph().node(concat).children),
        classes_(classes),
        emit_(emit),
        match_{{classes.begin(), classes.end()}, {}, {axis}} {
    for (const ClassId part : parts_) {
      const auto [pieces, is_new] = pieces_.try_emplace(view.graph().Find(part));
      if (!is_new) continue;
      ForEachPiece(view, part, axis, [&all = pieces->second](const Piece& piece) {
        all.push_back(piece);
        return true;
      });
    }
  }

  // Returns false if no more is wanted.
  bool Run() {
    std::vector<State> states;
    if (classes_.size() > 1) states.push_back(Entered(0, 1, /*is_slice=*/false));
    // Enough for parts that can be divided in one way, and few where many are alike.
    size_t steps = 300 + 4 * parts_.size();
    while (!states.empty()) {
      was_cut_ = steps-- == 0;
      if (was_cut_) break;
      const std::optional<State> next = NextChoice(states.back());
      if (!next.has_value()) {
        states.pop_back();
      } else if (next->part == parts_.size() && next->cls == classes_.size()) {
        if (!emit_(match_)) return false;
      } else if (next->cls < classes_.size() && (next->is_slice || next->part < parts_.size())) {
        states.push_back(*next);
      }
    }
    return true;
  }
  // Whether Run has not tried all ways, because there are too many.
  bool was_cut() const { return was_cut_; }

 private:
  // Where the division has come to.
  struct State {
    size_t part;          // The first part that is not divided.
    size_t cls;           // The class that it becomes a part of.
    bool is_slice;        // Whether parts before it are a Slice of this class, which may go on.
    size_t num_numbers;   // The numbers of the match here.
    int64_t last_number;  // The last of them: where the Slice ends.
    size_t next_choice = 0;
  };

  State Entered(size_t part, size_t cls, bool is_slice) const {
    return {part, cls, is_slice, match_.numbers.size(), match_.numbers.back()};
  }

  // Makes the next choice in a state. The first one is to end the Slice, or that the part is the
  // class itself, and the others are the pieces that the part can be. Nullopt if there is no more.
  std::optional<State> NextChoice(State& at) {
    match_.numbers.resize(at.num_numbers);
    match_.numbers.back() = at.last_number;
    if (at.next_choice == 0) {
      at.next_choice = 1;
      if (at.is_slice) return Entered(at.part, at.cls + 1, /*is_slice=*/false);
      if (Find(parts_[at.part]) == Find(classes_[at.cls])) {
        match_.numbers.insert(match_.numbers.end(), {0, 0});
        return Entered(at.part + 1, at.cls + 1, /*is_slice=*/false);
      }
    }
    if (at.part == parts_.size()) return std::nullopt;
    const std::vector<Piece>& pieces = pieces_.at(Find(parts_[at.part]));
    while (at.next_choice <= pieces.size()) {
      const Piece& piece = pieces[at.next_choice++ - 1];
      if (piece.source != Find(classes_[at.cls])) continue;
      if (!at.is_slice) {
        match_.numbers.insert(match_.numbers.end(), {piece.range.begin, piece.range.end});
      } else if (piece.range.begin == at.last_number) {
        match_.numbers.back() = piece.range.end;
      } else {
        continue;
      }
      return Entered(at.part + 1, at.cls, /*is_slice=*/true);
    }
    return std::nullopt;
  }

  ClassId Find(ClassId cls) const { return view_.graph().Find(cls); }

  const View& view_;
  const std::span<const ClassId> parts_;
  const std::span<const ClassId> classes_;
  const EmitFn& emit_;
  absl::flat_hash_map<ClassId, std::vector<Piece>> pieces_;  // Of each part, by its class.
  SiteMatch match_;
  bool was_cut_ = false;
};

bool FindNeighboursOfClasses(const View& view, std::span<const ENodeId> anchors,
                             std::span<const ClassId> classes, const EmitFn& emit) {
  bool is_whole = true;
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    if (view.graph().class_of(enode) != view.graph().Find(classes[0])) return true;
    const int64_t axis =
        ConcatAxis(view.word(enode), view.type(view.graph().node(enode).children[0]));
    if (axis < 0) return true;
    NeighboursOfClasses search(view, enode, axis, classes, emit);
    const bool wants_more = search.Run();
    is_whole &= !search.was_cut();
    return wants_more;
  });
  return is_whole;
}

std::vector<Equation> JoinNeighbours(Terms& terms, const SiteMatch& match) {
  const int64_t axis = match.numbers[0];
  std::vector<ClassId> parts;
  for (size_t i = 1; i < match.classes.size(); ++i) {
    const SliceRange range{axis, match.numbers[2 * i - 1], match.numbers[2 * i]};
    parts.push_back(range.end == 0 ? match.classes[i] : terms.Slice(match.classes[i], range));
  }
  return {{match.classes[0], terms.Concat(parts, axis)}};
}

// --- slice-concat: a Slice of a Concat becomes a Concat of Slices ---

// Classes of a match: the root, and the parts of the Concat. Words: Slice, Concat.
void SearchSlicedConcats(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const auto slice = view.graph().node(enode);
    if (slice.children.size() != 1) return true;
    const auto concat = NodeOf(view, slice.children[0],
                               [](const OpWord& word) { return IsOperator(word, "Concat"); });
    if (!concat) return true;
    const auto node = view.graph().node(*concat);
    // The match of each Slice lists all parts, which would take much memory for very long Concats.
    if (node.children.size() > kMaxParts) return true;
    SiteMatch match{{view.graph().class_of(enode)}, {slice.op, node.op}, {}};
    match.classes.insert(match.classes.end(), node.children.begin(), node.children.end());
    return emit(std::move(match));
  });
}

std::vector<Equation> SliceConcat(Terms& terms, const SiteMatch& match) {
  const std::vector<ClassId> parts = PartsOf(match);
  const int64_t axis = ConcatAxis(terms.word(match.ops[1]), terms.type(parts[0]));
  const auto type = ConcatType(terms, parts, axis);
  if (!type) return {};
  const auto range = Range(terms.word(match.ops[0]), *type);
  if (!range || range->size() == 0) return {};
  std::vector<ClassId> taken;
  int64_t position = 0;
  for (const ClassId part : parts) {
    if (range->axis != axis) {
      taken.push_back(terms.Slice(part, *range));
      continue;
    }
    const int64_t size = *NumberAt(terms.type(part), static_cast<int>(axis));
    const int64_t begin = std::max<int64_t>(range->begin - position, 0);
    const int64_t end = std::min<int64_t>(range->end - position, size);
    if (begin < end) taken.push_back(terms.Slice(part, {axis, begin, end}));
    position += size;
  }
  return {{match.classes[0], terms.Concat(taken, axis)}};
}

}  // namespace

std::span<const SiteRow> ConcatGeometryRows() {
  static constexpr SiteRow kRows[] = {
      {"concat-concat", "Concat(.., Concat(y..), ..) = Concat(.., y.., ..)", "Concat",
       SearchNestedConcats, JoinConcats},
      {"concat-empty", "Concat(.., an operand without elements, ..) = Concat(.., ..)", "Concat",
       SearchEmptyParts, LeaveOutEmptyParts},
      {"concat-slices", "Concat(Slice(x; a, b), Slice(x; b, c)) = Slice(x; a, c)", "Concat",
       SearchNeighbours, JoinNeighbours, FindNeighboursOfClasses},
      {"slice-concat", "Slice(Concat(x..)) = Concat of what it takes of each", "Slice",
       SearchSlicedConcats, SliceConcat},
  };
  return kRows;
}

}  // namespace quotient::rules
