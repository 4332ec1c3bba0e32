#pragma once

// Trail: what it takes to bring flat arrays back to an earlier state. A write to a word that was
// there at the last mark logs the old word; whatever was appended since is cut off. So going back
// costs as much as was changed, however large the arrays are, and costs nothing while there is no
// mark. One thread.
//
//   Trail trail;
//   FlatArray<Row> rows(&trail);        // registers itself; must not move
//   trail.Mark();
//   rows.Write(i, &Row::cls, other);
//   trail.Rollback();                   // to the last mark, which is gone afterwards

#include <cstdint>
#include <utility>
#include <vector>

namespace quotient::egraph {

// An array of 32-bit words as the trail sees it; FlatArray has the types.
struct TrailedWords {
  uint32_t* words = nullptr;
  uint32_t stride = 1;        // words of an element
  uint32_t size = 0;          // elements
  uint32_t logged_below = 0;  // words below it were there at the last mark; 0: no mark
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

  bool active() const { return !marks_.empty(); }
  size_t num_marks() const { return marks_.size(); }

  void Mark() {
    marks_.push_back({records_.size(), sizes_.size()});
    for (const TrailedWords* array : arrays_) sizes_.push_back(array->size);
    ProtectWords();
  }

  // To the state at the last mark, which is gone.
  void Rollback() {
    const MarkPosition mark = marks_.back();
    for (size_t i = records_.size(); i-- > mark.records;) {
      arrays_[records_[i].array]->words[records_[i].word] = records_[i].old;
    }
    records_.resize(mark.records);
    for (size_t i = 0; i < arrays_.size(); ++i) arrays_[i]->size = sizes_[mark.sizes + i];
    Forget();
  }

  // Keeps the changes: they now belong to the mark before, if there is one.
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
    size_t sizes;  // where its sizes begin in sizes_
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
  std::vector<uint32_t> sizes_;  // of all arrays, for each mark
};

}  // namespace quotient::egraph
