#pragma once

// Trail undoes changes of flat arrays. A write to a word that existed at the last mark logs the old
// word, and what was appended since is cut off. So a rollback costs as much as was changed,
// whatever the size of the arrays, and nothing is logged without a mark. One thread.
//
//   Trail trail;
//   FlatArray<Row> rows(&trail);        // registers itself; must not move
//   trail.Mark();
//   rows.Write(i, &Row::cls, other);
//   trail.Rollback();                   // to the last mark, which is removed

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace quotient::egraph {

// An array of 32-bit words as the trail sees it; FlatArray adds the types.
struct TrailedWords {
  uint32_t* words = nullptr;
  uint32_t stride = 1;        // Words per element.
  uint32_t size = 0;          // In elements.
  uint32_t logged_below = 0;  // Words before it existed at the last mark; 0 without one.
};

class Trail {
 public:
  Trail() = default;
  Trail(const Trail&) = delete;
  Trail& operator=(const Trail&) = delete;

  uint32_t Register(TrailedWords* array) {
    arrays_.push_back(array);
    return static_cast<uint32_t>(arrays_.size() - 1);
  }

  // All registered arrays, in order of registration. Tests compare their words.
  std::span<const TrailedWords* const> arrays() const { return arrays_; }

  bool active() const { return !marks_.empty(); }
  size_t num_marks() const { return marks_.size(); }

  void Mark() {
    marks_.push_back({records_.size(), sizes_.size()});
    for (const TrailedWords* array : arrays_) sizes_.push_back(array->size);
    ProtectWords();
  }

  // Returns to the last mark and removes it.
  void Rollback() {
    const MarkPosition mark = marks_.back();
    for (size_t i = records_.size(); i-- > mark.records;) {
      arrays_[records_[i].array]->words[records_[i].word] = records_[i].old;
    }
    records_.resize(mark.records);
    for (size_t i = 0; i < arrays_.size(); ++i) arrays_[i]->size = sizes_[mark.sizes + i];
    Forget();
  }

  // Removes the last mark and keeps the changes, which then belong to the mark before it.
  void Forget() {
    sizes_.resize(marks_.back().sizes);
    marks_.pop_back();
    if (marks_.empty()) records_.clear();
    ProtectWords();
  }

  void Log(uint32_t array, uint32_t word, uint32_t old) { records_.push_back({array, word, old}); }

 private:
  struct Record {
    uint32_t array;
    uint32_t word;
    uint32_t old;
  };
  struct MarkPosition {
    size_t records;
    size_t sizes;  // Index of its first entry in sizes_.
  };

  void ProtectWords() {
    for (size_t i = 0; i < arrays_.size(); ++i) {
      TrailedWords& array = *arrays_[i];
      array.logged_below = marks_.empty() ? 0 : sizes_[marks_.back().sizes + i] * array.stride;
    }
  }

  std::vector<TrailedWords*> arrays_;
  std::vector<Record> records_;
  std::vector<MarkPosition> marks_;
  std::vector<uint32_t> sizes_;  // For each mark, the sizes of all arrays.
};

}  // namespace quotient::egraph
