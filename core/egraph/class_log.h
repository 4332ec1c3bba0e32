#pragma once

// ClassLog lets an analysis follow the e-graph's marks. Save records the data of a class before
// they change; Rollback restores them and cuts off the data of newer classes.
//
//   log_.Save(id, data_[id.value()]);
//   data_[id.value()] = ...;
//   ...
//   void Rollback(const EGraph& graph) { log_.Rollback(data_, graph.class_bound()); }

#include <cstdint>
#include <utility>
#include <vector>

#include "core/egraph/ids.h"

namespace quotient::egraph {

template <typename Data>
class ClassLog {
 public:
  void Save(ClassId id, const Data& before) {
    if (!marks_.empty()) saved_.emplace_back(id, before);
  }

  void Mark() { marks_.push_back(saved_.size()); }

  // `data` is indexed by ClassId and can be resized.
  template <typename Container>
  void Rollback(Container& data, uint32_t class_bound) {
    for (; saved_.size() > marks_.back(); saved_.pop_back()) {
      data[saved_.back().first.value()] = std::move(saved_.back().second);
    }
    marks_.pop_back();
    if (data.size() > class_bound) data.resize(class_bound);
  }

  void Forget() {
    marks_.pop_back();
    if (marks_.empty()) saved_.clear();
  }

 private:
  std::vector<std::pair<ClassId, Data>> saved_;
  std::vector<size_t> marks_;  // Sizes of saved_ at each mark.
};

}  // namespace quotient::egraph
