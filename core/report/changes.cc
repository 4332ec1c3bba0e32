// 1. Changed nodes that are joined by an edge belong to one place.
// 2. Places of the two graphs are one place if they feed the same input of a node that both graphs
//    have, or have a node of the same name. Places that share what they read stay apart: all blocks
//    of a network may read one mask.
// 3. If then one place of each graph that feeds nothing is left without a counterpart, these two
//    belong together: they make the outputs.
// 4. Places with the same operators, joined in the same way, are listed once.

#include "core/report/changes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace quotient::report {
namespace {

using Nodes = std::vector<DrawnNode>;

constexpr size_t kMostNeighbours = 6;  // On each side of an excerpt.

// Inputs may be anything in reports that were read from a file.
template <typename F>
void ForEachInput(const Nodes& nodes, size_t node, F&& use) {
  for (size_t slot = 0; slot < nodes[node].inputs.size(); ++slot) {
    const int input = nodes[node].inputs[slot];
    if (input >= 0 && static_cast<size_t>(input) < nodes.size()) use(slot, input);
  }
}

class UnionFind {
 public:
  explicit UnionFind(size_t size) : parents_(size) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }
  size_t Find(size_t node) {
    while (parents_[node] != node) node = parents_[node] = parents_[parents_[node]];
    return node;
  }
  void Join(size_t a, size_t b) { parents_[Find(b)] = Find(a); }

 private:
  std::vector<size_t> parents_;
};

// Numbers nodes of both graphs through: those of the second come behind those of the first.
class Places {
 public:
  Places(const Nodes& before, const Nodes& after)
      : before_(before), after_(after), joined_(before.size() + after.size()) {
    JoinNeighbours(before_, 0);
    JoinNeighbours(after_, before_.size());
    JoinReaders();
    JoinNames();
    JoinOutputs();
  }

  std::vector<Change> Get() {
    std::map<size_t, size_t> place_of_root;
    std::vector<Change> places;
    const auto place = [&](size_t node) -> Change& {
      const auto [entry, fresh] = place_of_root.emplace(joined_.Find(node), places.size());
      if (fresh) places.emplace_back();
      return places[entry->second];
    };
    for (size_t i = 0; i < before_.size(); ++i) {
      if (before_[i].changed) place(i).before.push_back(static_cast<int>(i));
    }
    for (size_t i = 0; i < after_.size(); ++i) {
      if (after_[i].changed) place(before_.size() + i).after.push_back(static_cast<int>(i));
    }
    return places;
  }

 private:
  void JoinNeighbours(const Nodes& nodes, size_t first) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!nodes[i].changed) continue;
      ForEachInput(nodes, i, [&](size_t, int input) {
        if (nodes[input].changed) joined_.Join(first + i, first + input);
      });
    }
  }

  static std::string NameOf(const DrawnNode& node) {
    return absl::StrCat(node.name, "\n", node.op);
  }

  void JoinReaders() {
    absl::flat_hash_map<std::string, size_t> reader_of_name;
    for (size_t i = 0; i < before_.size(); ++i) {
      if (!before_[i].changed) reader_of_name.emplace(NameOf(before_[i]), i);
    }
    for (size_t i = 0; i < after_.size(); ++i) {
      if (after_[i].changed) continue;
      const auto same = reader_of_name.find(NameOf(after_[i]));
      if (same == reader_of_name.end()) continue;
      const DrawnNode& reader = before_[same->second];
      if (reader.inputs.size() == after_[i].inputs.size()) {
        JoinSlots(same->second, i);
      } else {
        JoinInputs(same->second, i);
      }
    }
  }

  // What the same inputs of two nodes read.
  void JoinSlots(size_t reader, size_t other) {
    ForEachInput(before_, reader, [&](size_t slot, int its) {
      const int others = after_[other].inputs[slot];
      if (others < 0 || static_cast<size_t>(others) >= after_.size()) return;
      if (before_[its].changed && after_[others].changed) {
        joined_.Join(its, before_.size() + others);
      }
    });
  }

  // All that two nodes read, if both read something that changed.
  void JoinInputs(size_t reader, size_t other) {
    std::vector<size_t> its, others;
    ForEachInput(before_, reader, [&](size_t, int input) {
      if (before_[input].changed) its.push_back(input);
    });
    ForEachInput(after_, other, [&](size_t, int input) {
      if (after_[input].changed) others.push_back(before_.size() + input);
    });
    if (its.empty() || others.empty()) return;
    for (const size_t each : its) joined_.Join(each, others[0]);
    for (const size_t each : others) joined_.Join(its[0], each);
  }

  void JoinNames() {
    absl::flat_hash_map<std::string, size_t> node_of_name;
    for (size_t i = 0; i < before_.size(); ++i) {
      if (before_[i].changed) node_of_name.emplace(before_[i].name, i);
    }
    for (size_t i = 0; i < after_.size(); ++i) {
      if (!after_[i].changed) continue;
      const auto same = node_of_name.find(after_[i].name);
      if (same != node_of_name.end()) joined_.Join(same->second, before_.size() + i);
    }
  }

  // The places of a graph that nothing reads, by root.
  std::set<size_t> Unread(const Nodes& nodes, size_t first) {
    std::vector<bool> is_read(nodes.size(), false);
    for (size_t i = 0; i < nodes.size(); ++i) {
      ForEachInput(nodes, i, [&](size_t, int input) { is_read[input] = true; });
    }
    std::set<size_t> roots;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].changed && !is_read[i]) roots.insert(joined_.Find(first + i));
    }
    return roots;
  }

  void JoinOutputs() {
    std::set<size_t> roots[2];
    for (size_t i = 0; i < before_.size(); ++i) {
      if (before_[i].changed) roots[0].insert(joined_.Find(i));
    }
    for (size_t i = 0; i < after_.size(); ++i) {
      if (after_[i].changed) roots[1].insert(joined_.Find(before_.size() + i));
    }
    std::vector<size_t> lone[2];
    const std::set<size_t> unread[2] = {Unread(before_, 0), Unread(after_, before_.size())};
    for (const int side : {0, 1}) {
      for (const size_t root : unread[side]) {
        if (!roots[1 - side].contains(root)) lone[side].push_back(root);
      }
    }
    if (lone[0].size() == 1 && lone[1].size() == 1) joined_.Join(lone[0][0], lone[1][0]);
  }

  const Nodes& before_;
  const Nodes& after_;
  UnionFind joined_;
};

// A text that is equal for places that look alike.
void AppendShape(const Nodes& nodes, const std::vector<int>& place, std::string* shape) {
  for (const int node : place) {
    absl::StrAppend(shape, nodes[node].op, "(");
    ForEachInput(nodes, node, [&](size_t, int input) {
      const auto inner = std::ranges::lower_bound(place, input);
      if (inner != place.end() && *inner == input) {
        absl::StrAppend(shape, inner - place.begin(), ",");
      } else {
        absl::StrAppend(shape, nodes[input].op, ",");
      }
    });
    absl::StrAppend(shape, ")\n");
  }
}

}  // namespace

std::vector<Change> FindChanges(const Nodes& before, const Nodes& after) {
  std::vector<Change> kinds;
  absl::flat_hash_map<std::string, size_t> kind_of_shape;
  for (Change& place : Places(before, after).Get()) {
    std::string shape;
    AppendShape(before, place.before, &shape);
    shape += "=>\n";
    AppendShape(after, place.after, &shape);
    const auto [entry, fresh] = kind_of_shape.emplace(std::move(shape), kinds.size());
    if (fresh) {
      kinds.push_back(std::move(place));
    } else {
      ++kinds[entry->second].places;
    }
  }
  return kinds;
}

Nodes Excerpt(const Nodes& nodes, const std::vector<int>& wanted) {
  std::vector<bool> is_wanted(nodes.size(), false);
  for (const int node : wanted) is_wanted[node] = true;
  std::set<int> inputs, readers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    ForEachInput(nodes, i, [&](size_t, int input) {
      if (is_wanted[i] && !is_wanted[input] && inputs.size() < kMostNeighbours)
        inputs.insert(input);
      if (!is_wanted[i] && is_wanted[input] && readers.size() < kMostNeighbours) {
        readers.insert(static_cast<int>(i));
      }
    });
  }
  std::set<int> shown(wanted.begin(), wanted.end());
  shown.insert(inputs.begin(), inputs.end());
  shown.insert(readers.begin(), readers.end());
  absl::flat_hash_map<int, int> number;
  for (const int node : shown) number.emplace(node, static_cast<int>(number.size()));
  Nodes excerpt;
  for (const int node : shown) {
    DrawnNode& box = excerpt.emplace_back(nodes[node]);
    box.inputs.clear();
    ForEachInput(nodes, node, [&](size_t, int input) {
      const auto place = number.find(input);
      if (place != number.end()) box.inputs.push_back(place->second);
    });
  }
  return excerpt;
}

}  // namespace quotient::report
