// DrawGraph: assigns nodes to layers by longest path, folds unchanged layers into bands, and draws
// boxes and edges. Nodes come in topological order, so one pass gives the layers.

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/report/html.h"

namespace quotient::report {
namespace {

constexpr int kBoxWidth = 150;
constexpr int kBoxHeight = 30;
constexpr int kGapX = 14;
constexpr int kGapY = 22;
// Number of unchanged layers drawn above and below each change, to show where it is.
constexpr int kMargin = 1;
// A longer picture would be unreadable, so further rows are only counted.
constexpr int kMostRows = 120;
constexpr size_t kMostColumns = 6;
// What a box has room for, without and with a cost beside it.
constexpr size_t kMostOpChars = 20;
constexpr size_t kMostOpCharsByCost = 12;

struct Row {
  std::vector<int> nodes;  // Indices of nodes; empty for a band.
  int folded = 0;          // Number of nodes that a band stands for.
};

std::vector<std::vector<int>> Layers(const std::vector<DrawnNode>& nodes) {
  std::vector<int> layer(nodes.size(), 0);
  std::vector<std::vector<int>> layers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (int input : nodes[i].inputs) {
      if (input >= 0 && input < static_cast<int>(i))
        layer[i] = std::max(layer[i], layer[input] + 1);
    }
    if (layers.size() <= static_cast<size_t>(layer[i])) layers.resize(layer[i] + 1);
    layers[layer[i]].push_back(static_cast<int>(i));
  }
  return layers;
}

std::vector<Row> Rows(const std::vector<DrawnNode>& nodes) {
  const std::vector<std::vector<int>> layers = Layers(nodes);
  const int count = static_cast<int>(layers.size());
  std::vector<bool> shown(layers.size(), false);
  for (int i = 0; i < count; ++i) {
    const bool changed = std::any_of(layers[i].begin(), layers[i].end(),
                                     [&nodes](int node) { return nodes[node].changed; });
    if (!changed) continue;
    for (int j = std::max(0, i - kMargin); j <= std::min(count - 1, i + kMargin); ++j) {
      shown[j] = true;
    }
  }
  std::vector<Row> rows;
  for (int i = 0; i < count; ++i) {
    if (shown[i]) {
      rows.push_back({layers[i], 0});
    } else if (rows.empty() || rows.back().folded == 0) {
      rows.push_back({{}, static_cast<int>(layers[i].size())});
    } else {
      rows.back().folded += static_cast<int>(layers[i].size());
    }
  }
  return rows;
}

struct Place {
  int x = 0;
  int y = 0;
};

class Drawing {
 public:
  explicit Drawing(const std::vector<DrawnNode>& nodes) : nodes_(nodes), rows_(Rows(nodes)) {
    for (const Row& row : rows_)
      columns_ = std::max(columns_, std::min(row.nodes.size(), kMostColumns));
    width_ = static_cast<int>(columns_) * (kBoxWidth + kGapX) + kGapX;
  }

  std::string Draw(absl::string_view label) {
    PlaceRows();
    for (const auto& [index, place] : places_) DrawEdges(index, place);
    for (const auto& [index, place] : places_) DrawBox(nodes_[index], place);
    return absl::StrFormat(
        "<svg class=\"graph\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
        "role=\"img\" aria-label=\"%s\">%s</svg>",
        width_, y_, width_, y_, HtmlEscaped(label), body_);
  }

 private:
  void PlaceRows() {
    const int count = static_cast<int>(rows_.size());
    for (int i = 0; i < std::min(count, kMostRows); ++i) PlaceRow(rows_[i]);
    if (count > kMostRows) Band(absl::StrCat(count - kMostRows, " further rows"));
  }

  void PlaceRow(const Row& row) {
    if (row.nodes.empty()) {
      Band(absl::StrCat(row.folded, row.folded == 1 ? " unchanged node" : " unchanged nodes"));
      return;
    }
    // Changed nodes come first, so that they are drawn even if the row is too wide to draw whole.
    std::vector<int> nodes = row.nodes;
    std::stable_partition(nodes.begin(), nodes.end(), [this](int n) { return nodes_[n].changed; });
    const size_t drawn = std::min(nodes.size(), kMostColumns);
    const int used = static_cast<int>(drawn) * (kBoxWidth + kGapX) - kGapX;
    int x = (width_ - used) / 2;
    for (size_t i = 0; i < drawn; ++i, x += kBoxWidth + kGapX) places_[nodes[i]] = {x, y_};
    y_ += kBoxHeight + kGapY;
    if (nodes.size() > drawn) Band(absl::StrCat("+ ", nodes.size() - drawn, " beside these"));
  }

  void Band(absl::string_view label) {
    absl::StrAppendFormat(&body_,
                          "<line class=\"band\" x1=\"0\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>"
                          "<text class=\"bandlabel\" x=\"%d\" y=\"%d\">%s</text>",
                          width_, y_ + 7, y_ + 7, width_ / 2, y_ + 11, label);
    y_ += 14 + kGapY;
  }

  void DrawEdges(int index, const Place& to) {
    for (int input : nodes_[index].inputs) {
      const auto from = places_.find(input);
      if (from == places_.end()) continue;
      const int x1 = from->second.x + kBoxWidth / 2, y1 = from->second.y + kBoxHeight;
      const int x2 = to.x + kBoxWidth / 2, y2 = to.y;
      absl::StrAppendFormat(&body_, "<path class=\"edge\" d=\"M%d %dC%d %d %d %d %d %d\"/>", x1, y1,
                            x1, y1 + kGapY, x2, y2 - kGapY, x2, y2);
    }
  }

  void DrawBox(const DrawnNode& node, const Place& place) {
    absl::StrAppendFormat(
        &body_,
        "<g><title>%s</title><rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
        "rx=\"5\"/><text x=\"%d\" y=\"%d\">%s</text><text class=\"cost\" x=\"%d\" "
        "y=\"%d\">%s</text></g>",
        HtmlEscaped(node.name), node.changed ? "changed" : "same", place.x, place.y, kBoxWidth,
        kBoxHeight, place.x + 8, place.y + 19,
        HtmlEscaped(node.op.substr(0, node.cost_us > 0 ? kMostOpCharsByCost : kMostOpChars)),
        place.x + kBoxWidth - 8, place.y + 19,
        node.cost_us > 0 ? absl::StrFormat("%s%.4g", EstimateMark(node.estimated), node.cost_us)
                         : "");
  }

  const std::vector<DrawnNode>& nodes_;
  const std::vector<Row> rows_;
  size_t columns_ = 1;
  int width_ = 0;
  int y_ = 4;
  std::map<int, Place> places_;
  std::string body_;
};

}  // namespace

std::string DrawGraph(const std::vector<DrawnNode>& nodes, absl::string_view label) {
  return Drawing(nodes).Draw(label);
}

}  // namespace quotient::report
