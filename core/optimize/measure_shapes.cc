#include "core/optimize/measure_shapes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/model/occurring_sizes.h"

namespace quotient::optimize {
namespace {

using model::Dim;
using model::Graph;
using model::ValueId;

constexpr int64_t kBatch = 1;
constexpr int64_t kLength = 128;
constexpr int64_t kSide = 224;

// Sizes to try if the model does not accept the assumed ones: powers of two, and common sides of
// images and lengths of audio.
constexpr int64_t kLadder[] = {
    1,   2,   3,    4,    8,    16,   28,   32,   48,   64,   80,    96,    112,   128,  160, 192,
    224, 256, 299,  320,  336,  384,  416,  448,  480,  512,  518,   560,   608,   640,  768, 800,
    896, 960, 1024, 1280, 1536, 2048, 3000, 4096, 8000, 8192, 16000, 16384, 32768, 65536};

// A number that has to be found for a symbol.
struct Size {
  std::string symbol;
  std::string input;    // Name of the first input that has the symbol.
  int axis = 0;         // The symbol's axis in that input.
  int64_t assumed = 0;  // The number that is tried first.
};

// Whether a live node reads each value.
std::vector<bool> ReadValues(const Graph& graph) {
  const std::vector<bool> live = model::LiveNodes(graph);
  std::vector<bool> read(graph.values.size(), false);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!live[n]) continue;
    for (ValueId id : graph.nodes[n].inputs) {
      if (id.valid()) read[id.value()] = true;
    }
  }
  return read;
}

// Whether another choice of sizes can make the error go away.
bool ConcernsSizes(const absl::Status& status) {
  const std::optional<Reason> reason = GetReason(status);
  return reason == Reason::kModelShape || reason == Reason::kModelMalformed ||
         reason == Reason::kLimitDims || reason == Reason::kModelUnsupported;
}

class Chooser {
 public:
  Chooser(const Graph& graph, const ops::InputShapes& asked, const AcceptShapes& accept,
          const StopCondition& stop)
      : graph_(graph), asked_(asked), accept_(accept), stop_(stop), read_(ReadValues(graph)) {
    constexpr size_t kMostVisits = 1'000'000;  // Inference visits so many values in some seconds.
    tries_left_ = std::clamp<size_t>(kMostVisits / (graph.values.size() + 1), 60, 1000);
  }

  absl::StatusOr<MeasureShapes> Run() {
    CollectAsked();
    CollectSizes();
    if (!sizes_.empty()) QUOTIENT_RETURN_IF_ERROR(Try(numbers_).status());
    while (!accepted_ && !sizes_.empty()) {
      QUOTIENT_ASSIGN_OR_RETURN(const bool better, Step());
      if (!better) break;
    }
    if (!accepted_) QUOTIENT_RETURN_IF_ERROR(TakeFirst());
    QUOTIENT_RETURN_IF_ERROR(Shrink());
    return Chosen();
  }

 private:
  // --- Sizes that are open ---

  // Collects the symbols that the user's dims bind. BindShapes refuses dims of a wrong rank.
  void CollectAsked() {
    for (ValueId id : graph_.inputs) {
      const model::Value& input = graph_.value(id);
      const auto asked = asked_.find(input.name);
      if (asked == asked_.end() || !input.type.has_rank()) continue;
      if (asked->second.size() != input.type.shape->size()) continue;
      for (size_t axis = 0; axis < asked->second.size(); ++axis) {
        const Dim& dim = (*input.type.shape)[axis];
        if (dim.is_symbol()) bound_[dim.symbol()] = asked->second[axis];
      }
    }
  }

  bool IsOpen(ValueId id) const {
    const model::Value& input = graph_.value(id);
    return read_[id.value()] && !asked_.contains(input.name) && input.type.has_rank() &&
           input.type.dtype != model::DType::kUndefined;
  }

  void CollectSizes() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (!IsOpen(graph_.inputs[i])) continue;
      const model::Value& input = graph_.value(graph_.inputs[i]);
      for (int axis = 0; axis < input.type.rank(); ++axis) {
        const Dim& dim = input.type.dim(axis);
        if (!dim.is_symbol() || bound_.contains(dim.symbol())) continue;
        if (!index_.emplace(dim.symbol(), sizes_.size()).second) continue;
        sizes_.push_back({dim.symbol(), input.name, axis, Assumed(i, axis)});
        numbers_.push_back(sizes_.back().assumed);
      }
    }
  }

  int64_t Assumed(size_t input, int axis) const {
    const int rank = graph_.value(graph_.inputs[input]).type.rank();
    const std::optional<model::Tensor>& fallback = graph_.defaults[input];
    if (fallback.has_value() && static_cast<int>(fallback->dims().size()) == rank) {
      return std::max<int64_t>(fallback->dims()[axis], 1);
    }
    return axis == 0 ? kBatch : AssumedExtent(graph_.value(graph_.inputs[input]).type);
  }

  // Returns the number that is assumed for the length of a sequence or the side of an image. It is
  // halved until the tensor, which may have such symbols along many axes, has no more elements than
  // usual tensors.
  static int64_t AssumedExtent(const model::TensorType& type) {
    constexpr double kMostElements = 1 << 22;
    double known = 1;
    int open = 0;
    for (int axis = 0; axis < type.rank(); ++axis) {
      if (type.dim(axis).is_number()) known *= static_cast<double>(type.dim(axis).number());
      open += axis > 0 && !type.dim(axis).is_number() ? 1 : 0;
    }
    int64_t extent = type.rank() < 4 ? kLength : kSide;
    while (extent > 1 && known * std::pow(extent, open) > kMostElements) extent /= 2;
    return extent;
  }

  int64_t NumberOf(const Dim& dim, const std::vector<int64_t>& numbers) const {
    if (dim.is_number()) return dim.number();
    const auto bound = bound_.find(dim.symbol());
    return bound != bound_.end() ? bound->second : numbers[index_.at(dim.symbol())];
  }

  ops::InputShapes ShapesOf(const std::vector<int64_t>& numbers) const {
    ops::InputShapes shapes = asked_;
    for (ValueId id : graph_.inputs) {
      const model::Value& input = graph_.value(id);
      if (!IsOpen(id) || input.type.is_static()) continue;
      std::vector<int64_t>& dims = shapes[input.name];
      for (const Dim& dim : *input.type.shape) dims.push_back(NumberOf(dim, numbers));
    }
    return shapes;
  }

  // --- The search ---

  // Returns whether inference comes further with these numbers than with any before. If so, they
  // become the best numbers.
  absl::StatusOr<bool> Try(const std::vector<int64_t>& numbers) {
    if (tries_left_ == 0 || !tried_.insert(numbers).second) return false;
    --tries_left_;
    QUOTIENT_RETURN_IF_ERROR(CheckTime());
    const ops::InputShapes shapes = ShapesOf(numbers);
    QUOTIENT_ASSIGN_OR_RETURN(const size_t nodes, ops::NodesThatFit(graph_, shapes));
    if (nodes == graph_.nodes.size()) QUOTIENT_RETURN_IF_ERROR(Accept(shapes));
    const bool better = accepted_ || most_nodes_ < static_cast<int64_t>(nodes);
    if (better) {
      most_nodes_ = static_cast<int64_t>(nodes);
      numbers_ = numbers;
    }
    return better;
  }

  absl::Status CheckTime() const {
    if (stop_.cancelled()) return MakeError(Reason::kCancelled, "the job was cancelled");
    if (!stop_.ShouldStop()) return absl::OkStatus();
    return MakeError(Reason::kRunBudget, "time was up before sizes to measure with were found");
  }

  absl::Status Accept(const ops::InputShapes& shapes) {
    const absl::StatusOr<double> operations = accept_(shapes);
    accepted_ = operations.ok();
    if (accepted_) {
      operations_ = *operations;
    } else {
      if (!ConcernsSizes(operations.status())) return operations.status();
      failure_ = operations.status();
    }
    return absl::OkStatus();
  }

  // Returns the groups of sizes that change together: each size by itself, all sizes that are
  // assumed to be equal, and all sizes that are not batches.
  std::vector<std::vector<size_t>> Groups() const {
    std::vector<std::vector<size_t>> groups;
    std::map<int64_t, std::vector<size_t>> kinds;
    std::vector<size_t> no_batch;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      groups.push_back({i});
      kinds[sizes_[i].assumed].push_back(i);
      if (sizes_[i].assumed != kBatch) no_batch.push_back(i);
    }
    for (auto& [assumed, members] : kinds) {
      if (members.size() > 1) groups.push_back(std::move(members));
    }
    if (no_batch.size() > 1) groups.push_back(std::move(no_batch));
    return groups;
  }

  // Returns the numbers to try for a size, nearest to the assumed one first: the ladder, numbers
  // that occur in the model, the other sizes, and the sums of two of them (a mask may cover a past
  // and a present sequence).
  std::vector<int64_t> Numbers(const Size& size) const {
    constexpr size_t kMostForSums = 8;
    constexpr size_t kMostOccurring = 16;
    const std::vector<int64_t> occurring =
        model::OccurringSizes(graph_, size.assumed, kMostOccurring);
    std::set<int64_t> numbers(std::begin(kLadder), std::end(kLadder));
    numbers.insert(occurring.begin(), occurring.end());
    for (const auto& [symbol, number] : bound_) numbers.insert(std::max<int64_t>(number, 1));
    for (size_t i = 0; i < numbers_.size(); ++i) {
      numbers.insert(numbers_[i]);
      for (size_t j = 0; j < i && numbers_.size() <= kMostForSums; ++j) {
        numbers.insert(numbers_[i] + numbers_[j]);
      }
    }
    std::vector<int64_t> ordered(numbers.begin(), numbers.end());
    const auto distance = [&size](int64_t number) {
      return std::abs(std::log(static_cast<double>(number) / static_cast<double>(size.assumed)));
    };
    std::stable_sort(ordered.begin(), ordered.end(),
                     [&](int64_t a, int64_t b) { return distance(a) < distance(b); });
    if (size.assumed > 1 && !occurring.empty()) {
      // A length of 1 may make sense only because it is broadcast, so what the model names is tried
      // before. The last of these numbers is the farthest.
      const auto one = std::ranges::find(ordered, 1);
      const auto farthest = std::ranges::find(ordered, occurring.back());
      if (one < farthest) std::rotate(one, one + 1, farthest + 1);
    }
    return ordered;
  }

  // Takes the best numbers of the first group that brings inference further. False if none does.
  absl::StatusOr<bool> Step() {
    for (const std::vector<size_t>& group : Groups()) {
      if (tries_left_ == 0) return false;
      const std::vector<int64_t> before = numbers_;
      bool better = false;
      for (const int64_t number : Numbers(sizes_[group[0]])) {
        if (tries_left_ == 0) break;
        std::vector<int64_t> numbers = before;
        for (const size_t i : group) numbers[i] = number;
        QUOTIENT_ASSIGN_OR_RETURN(const bool now, Try(numbers));
        better |= now;
        if (accepted_) return true;
      }
      if (better) return true;
    }
    return false;
  }

  // Takes the numbers that were assumed first. They may have been turned down only because tensors
  // become empty, which some models can be measured with.
  absl::Status TakeFirst() {
    for (size_t i = 0; i < sizes_.size(); ++i) numbers_[i] = sizes_[i].assumed;
    QUOTIENT_RETURN_IF_ERROR(Accept(ShapesOf(numbers_)));
    if (accepted_) return absl::OkStatus();
    if (sizes_.empty()) {
      if (asked_.empty() || GetReason(failure_) != Reason::kModelShape) return failure_;
      return MakeError(Reason::kOptionInvalid,
                       absl::StrCat("with the shapes to measure with the model makes no sense (",
                                    failure_.message(), ")"));
    }
    return MakeError(Reason::kShapeMissing,
                     absl::StrCat("the model has dimensions without a number (", OpenDims(),
                                  "), and no sizes were found with which it makes sense (",
                                  failure_.message(), "); bind them with --measure-shape ",
                                  sizes_[0].input, "=DIMS (for measuring only) or --shape ",
                                  sizes_[0].input, "=DIMS (for good), and other inputs likewise"));
  }

  // --- Sizes that are too expensive ---

  // Halves all lengths and sides while an evaluation takes too long, or single ones where not all
  // can change. The numbers must have been accepted.
  absl::Status Shrink() {
    int attempts_left = 32;
    for (const std::vector<size_t>& group : GroupsToShrink()) {
      bool smaller = true;
      while (smaller && operations_ > kMostOperations && attempts_left-- > 0) {
        QUOTIENT_RETURN_IF_ERROR(CheckTime());
        QUOTIENT_ASSIGN_OR_RETURN(smaller, TakeSmaller(Halved(group)));
      }
    }
    return absl::OkStatus();
  }

  // Takes these numbers if they are others, and the model accepts them and comes as far with them
  // as before: a tensor must not become empty.
  absl::StatusOr<bool> TakeSmaller(const std::vector<int64_t>& numbers) {
    if (numbers == numbers_) return false;
    const ops::InputShapes before = ShapesOf(numbers_);
    const ops::InputShapes shapes = ShapesOf(numbers);
    QUOTIENT_ASSIGN_OR_RETURN(const size_t nodes_before, ops::NodesThatFit(graph_, before));
    QUOTIENT_ASSIGN_OR_RETURN(const size_t nodes, ops::NodesThatFit(graph_, shapes));
    if (nodes < nodes_before) return false;
    QUOTIENT_RETURN_IF_ERROR(Accept(shapes));
    if (!accepted_) {
      // The caller relies on the last call of accept_ being for the chosen sizes.
      QUOTIENT_RETURN_IF_ERROR(Accept(before));
      return false;
    }
    numbers_ = numbers;
    return true;
  }

  // All lengths and sides together, then each by itself.
  std::vector<std::vector<size_t>> GroupsToShrink() const {
    std::vector<std::vector<size_t>> groups(1);
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (sizes_[i].assumed == kBatch) continue;
      groups[0].push_back(i);
      groups.push_back({i});
    }
    return groups;
  }

  std::vector<int64_t> Halved(const std::vector<size_t>& group) const {
    constexpr int64_t kLeast = 16;  // Networks for images halve their sides four times or more.
    std::vector<int64_t> numbers = numbers_;
    for (const size_t i : group) {
      if (numbers[i] / 2 >= kLeast) numbers[i] /= 2;
    }
    return numbers;
  }

  // --- The result ---

  static std::string DimName(const Size& size) {
    const bool has_name = !absl::StartsWith(size.symbol, model::kInferredSymbol);
    return absl::StrCat(has_name ? absl::StrCat("'", size.symbol, "'") : absl::StrCat(size.axis),
                        " of input '", size.input, "'");
  }

  std::string OpenDims() const {
    constexpr size_t kMostNamed = 5;
    std::vector<std::string> names;
    for (const Size& size : std::span(sizes_).first(std::min(sizes_.size(), kMostNamed))) {
      names.push_back(DimName(size));
    }
    if (sizes_.size() > kMostNamed) {
      names.push_back(absl::StrCat(sizes_.size() - kMostNamed, " more"));
    }
    return absl::StrJoin(names, ", ");
  }

  MeasureShapes Chosen() const {
    MeasureShapes chosen{.shapes = ShapesOf(numbers_), .notes = {}};
    for (size_t i = 0; i < sizes_.size(); ++i) {
      chosen.notes.push_back(absl::StrCat("dimension ", DimName(sizes_[i]), " was taken as ",
                                          numbers_[i], " for measuring"));
    }
    for (ValueId id : graph_.inputs) {
      const model::Value& input = graph_.value(id);
      if (!read_[id.value()] || input.type.has_rank() || asked_.contains(input.name)) continue;
      if (input.type.dtype == model::DType::kUndefined) {
        chosen.notes.push_back(absl::StrCat("input '", input.name,
                                            "' is not a tensor, or its element type is not known, "
                                            "so what reads it is not measured"));
        continue;
      }
      chosen.notes.push_back(absl::StrCat("the rank of input '", input.name,
                                          "' is not known, so what reads it is not measured; "
                                          "--measure-shape ",
                                          input.name, "=DIMS says it"));
    }
    return chosen;
  }

  const Graph& graph_;
  const ops::InputShapes& asked_;
  const AcceptShapes& accept_;
  const StopCondition& stop_;
  const std::vector<bool> read_;          // By value: whether a live node reads it.
  std::map<std::string, int64_t> bound_;  // Numbers of the symbols that `asked` binds.
  std::vector<Size> sizes_;
  std::map<std::string, size_t> index_;  // Index in sizes_ by symbol.

  size_t tries_left_ = 0;
  std::set<std::vector<int64_t>> tried_;
  std::vector<int64_t> numbers_;  // The best numbers so far, parallel to sizes_.
  int64_t most_nodes_ = -1;       // Number of nodes that fit them.
  bool accepted_ = false;
  double operations_ = 0;  // Operations of one evaluation with the sizes accepted last.
  absl::Status failure_;   // Why accept_ refused the last sizes.
};

}  // namespace

absl::StatusOr<MeasureShapes> ChooseMeasureShapes(const Graph& graph, const ops::InputShapes& asked,
                                                  const AcceptShapes& accept,
                                                  const StopCondition& stop) {
  return Chooser(graph, asked, accept, stop).Run();
}

}  // namespace quotient::optimize
