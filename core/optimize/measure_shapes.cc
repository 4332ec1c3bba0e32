#include "core/optimize/measure_shapes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/model/occurring_sizes.h"
#include "core/optimize/open_sizes.h"

namespace quotient::optimize {
namespace {

using model::Graph;

// Sizes to try if the model does not accept the assumed ones: powers of two, and common sides of
// images and lengths of audio.
constexpr int64_t kLadder[] = {
    1,   2,   3,    4,    8,    16,   28,   32,   48,   64,   80,    96,    112,   128,  160, 192,
    224, 256, 299,  320,  336,  384,  416,  448,  480,  512,  518,   560,   608,   640,  768, 800,
    896, 960, 1024, 1280, 1536, 2048, 3000, 4096, 8000, 8192, 16000, 16384, 32768, 65536};

// Whether another choice of sizes can make the error go away.
bool ConcernsSizes(const absl::Status& status) {
  const std::optional<Reason> reason = GetReason(status);
  return reason == Reason::kModelShape || reason == Reason::kModelMalformed ||
         reason == Reason::kLimitDims || reason == Reason::kModelUnsupported;
}

class Chooser {
 public:
  Chooser(const Graph& graph, const ops::InputShapes& asked, const AcceptShapes& accept,
          double most_operations, const StopCondition& stop)
      : graph_(graph),
        asked_(asked),
        accept_(accept),
        most_operations_(most_operations),
        stop_(stop),
        open_(graph, asked) {
    for (const OpenSize& size : sizes_) numbers_.push_back(size.assumed);
    // Inference visits so many values in some seconds.
    constexpr size_t kMostVisits = 1'000'000;
    tries_left_ = std::clamp<size_t>(kMostVisits / (graph.values.size() + 1), 60, 1000);
  }

  absl::StatusOr<MeasureShapes> Run() {
    if (!sizes_.empty()) QUOTIENT_RETURN_IF_ERROR(Try(numbers_).status());
    while (!accepted_ && !sizes_.empty()) {
      QUOTIENT_ASSIGN_OR_RETURN(const bool better, Step());
      if (!better) break;
    }
    if (!accepted_) QUOTIENT_RETURN_IF_ERROR(AcceptAssumed());
    QUOTIENT_RETURN_IF_ERROR(Shrink());
    return MeasureShapes{.shapes = open_.ShapesWith(numbers_), .notes = open_.Notes(numbers_)};
  }

 private:
  // --- The search ---

  // Returns whether inference comes further with these numbers than with any before. If so, they
  // become the best numbers.
  absl::StatusOr<bool> Try(const std::vector<int64_t>& numbers) {
    if (tries_left_ == 0 || !tried_.insert(numbers).second) return false;
    --tries_left_;
    QUOTIENT_RETURN_IF_ERROR(CheckTime());
    const ops::InputShapes shapes = open_.ShapesWith(numbers);
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
      if (sizes_[i].assumed != kAssumedBatch) no_batch.push_back(i);
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
  std::vector<int64_t> Numbers(const OpenSize& size) const {
    constexpr size_t kMostForSums = 8;
    constexpr size_t kMostOccurring = 16;
    const std::vector<int64_t> occurring =
        model::OccurringSizes(graph_, size.assumed, kMostOccurring);
    std::set<int64_t> numbers(std::begin(kLadder), std::end(kLadder));
    numbers.insert(occurring.begin(), occurring.end());
    for (const auto& [symbol, number] : open_.bound()) numbers.insert(std::max<int64_t>(number, 1));
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

  // Goes back to the numbers that were assumed at first. They may have been refused only because
  // tensors become empty, which some models can be measured with.
  absl::Status AcceptAssumed() {
    for (size_t i = 0; i < sizes_.size(); ++i) numbers_[i] = sizes_[i].assumed;
    QUOTIENT_RETURN_IF_ERROR(Accept(open_.ShapesWith(numbers_)));
    if (accepted_) return absl::OkStatus();
    if (sizes_.empty()) {
      if (asked_.empty() || GetReason(failure_) != Reason::kModelShape) return failure_;
      return MakeError(Reason::kOptionInvalid,
                       absl::StrCat("with the shapes to measure with the model makes no sense (",
                                    failure_.message(), ")"));
    }
    return MakeError(Reason::kShapeMissing,
                     absl::StrCat("the model has dimensions without a number (", open_.Names(),
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
      while (smaller && operations_ > most_operations_ && attempts_left-- > 0) {
        QUOTIENT_RETURN_IF_ERROR(CheckTime());
        QUOTIENT_ASSIGN_OR_RETURN(smaller, TrySmaller(Halved(group)));
      }
    }
    return absl::OkStatus();
  }

  // Takes these numbers if they differ from the present ones, the model accepts them, and as many
  // nodes fit them as before, since a tensor must not become empty. Returns whether it took them.
  absl::StatusOr<bool> TrySmaller(const std::vector<int64_t>& numbers) {
    if (numbers == numbers_) return false;
    const ops::InputShapes before = open_.ShapesWith(numbers_);
    const ops::InputShapes shapes = open_.ShapesWith(numbers);
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
      if (sizes_[i].assumed == kAssumedBatch) continue;
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

  const Graph& graph_;
  const ops::InputShapes& asked_;
  const AcceptShapes& accept_;
  const double most_operations_;
  const StopCondition& stop_;
  const OpenSizes open_;
  const std::vector<OpenSize>& sizes_ = open_.list();

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
                                                  const StopCondition& stop,
                                                  double most_operations) {
  return Chooser(graph, asked, accept, most_operations, stop).Run();
}

}  // namespace quotient::optimize
