#include "core/rules/shared_input.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "core/rules/conv_window.h"
#include "core/rules/siblings.h"
#include "core/rules/site_rule.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

// --- Building ---

// Concatenates the biases, with zeros for members without one. Returns nullopt if no member has
// one.
std::optional<ClassId> ConcatBiases(Terms& terms, const std::vector<Sibling>& members,
                                    const std::vector<int64_t>& sizes) {
  std::vector<ClassId> biases;
  bool any = false;
  for (size_t i = 0; i < members.size(); ++i) {
    any |= members[i].bias.valid();
    biases.push_back(members[i].bias.valid()
                         ? members[i].bias
                         : terms.Filled(terms.type(members[i].weight).dtype, {sizes[i]}, 0));
  }
  if (!any) return std::nullopt;
  return terms.Concat(biases, 0);
}

std::vector<Equation> SliceEquations(Terms& terms, const std::vector<Sibling>& members,
                                     const std::vector<int64_t>& sizes, ClassId merged,
                                     int64_t axis) {
  std::vector<Equation> equations;
  int64_t begin = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    equations.push_back({members[i].root, terms.Slice(merged, {axis, begin, begin + sizes[i]})});
    begin += sizes[i];
  }
  return equations;
}

// --- MatMul ---

// Calls visit(member) for each way to extend a product by a following Add of a constant vector over
// the columns, until it returns false.
template <typename Visit>
void ForEachBias(const View& view, const Sibling& product, const Visit& visit) {
  const int64_t columns = *NumberAt(view.type(product.weight), -1);
  ForEachNarrowParent(view, product.root, [&](ENodeId parent) {
    const auto node = view.graph().node(parent);
    if (view.word(parent).name != "Add" || node.children.size() != 2) return true;
    const ClassId bias = node.children[1];
    const ClassData& data = view.data(bias);
    if (!data.weight_only || !data.type.has_rank() || data.type.rank() != 1 ||
        !data.type.dim(0).Is(columns)) {
      return true;
    }
    Sibling member = product;
    member.bias = view.graph().Find(bias);
    member.root = view.graph().class_of(parent);
    return visit(member);
  });
}

// With the first bias, if there is one.
Sibling WithBias(const View& view, const Sibling& product) {
  Sibling with_bias = product;
  ForEachBias(view, product, [&](const Sibling& member) {
    with_bias = member;
    return false;
  });
  return with_bias;
}

// The products of an input that can be merged, by all sizes of the weight but its columns. Of
// several matrices, each has its own product.
std::map<Ints, std::vector<Sibling>> MatMulGroups(const View& view, ClassId x,
                                                  std::span<const ENodeId> readers) {
  std::map<Ints, std::vector<Sibling>> groups;
  const TensorType& type = view.type(x);
  if (!type.has_rank() || type.rank() < 2 || view.data(x).weight_only) return groups;
  for (const ENodeId enode : readers) {
    const auto node = view.graph().node(enode);
    const ClassId weight = node.children[1];
    if (!IsPlainWeight(view, weight) || view.type(weight).rank() < 2) continue;
    Ints others = view.type(weight).dims();
    others.pop_back();
    groups[std::move(others)].push_back({view.graph().class_of(enode), weight, ClassId(), node.op});
  }
  return groups;
}

void SearchMatMuls(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  for (const ClassId x : FirstOperands(view, anchors)) {
    for (auto& [others, members] :
         MatMulGroups(view, x, ReadersOfFirst(view, x, view.graph().kind(anchors[0])))) {
      for (Sibling& member : members) member = WithBias(view, member);
      if (!EmitVariants(view, x, members, emit)) return;
    }
  }
}

bool MatMulsOfClasses(const View& view, std::span<const ENodeId> anchors,
                      std::span<const ClassId> classes, const EmitFn& emit) {
  for (auto& [others, members] : MatMulGroups(
           view, classes[0], ReadersOfWeights(view, classes, view.graph().kind(anchors[0])))) {
    for (size_t i = 0, products = members.size(); i < products; ++i) {
      ForEachBias(view, Sibling(members[i]), [&](const Sibling& member) {
        members.push_back(member);
        return true;
      });
    }
    if (!EmitThese(view, classes, members, emit)) break;
  }
  return true;
}

std::vector<Equation> MergeMatMuls(Terms& terms, const SiteMatch& match) {
  const std::vector<Sibling> members = ReadSiblings(match);
  std::vector<ClassId> weights;
  std::vector<int64_t> sizes;
  for (const Sibling& member : members) {
    weights.push_back(member.weight);
    sizes.push_back(*NumberAt(terms.type(member.weight), -1));
  }
  const int rank = terms.type(weights[0]).rank();
  ClassId merged = terms.Op("MatMul", {match.classes[0], terms.Concat(weights, rank - 1)});
  if (const auto bias = ConcatBiases(terms, members, sizes)) {
    merged = terms.Op("Add", {merged, *bias});
  }
  const int64_t axis = std::max(rank, terms.type(match.classes[0]).rank()) - 1;
  return SliceEquations(terms, members, sizes, merged, axis);
}

// --- Gemm ---

bool IsPlainGemm(const View& view, std::span<const ClassId> children, bool transposed) {
  if (!IsPlainWeight(view, children[1])) return false;
  if (children.size() < 3) return true;
  const ClassData& bias = view.data(children[2]);
  return bias.weight_only && bias.type.has_rank() && bias.type.rank() == 1 &&
         model::SameDim(bias.type.dim(0), view.type(children[1]).dim(transposed ? 0 : 1));
}

std::map<OpId, std::vector<Sibling>> GemmGroups(const View& view, ClassId x,
                                                std::span<const ENodeId> readers) {
  std::map<OpId, std::vector<Sibling>> groups;
  if (view.data(x).weight_only) return groups;
  for (const ENodeId enode : readers) {
    const auto node = view.graph().node(enode);
    const bool transposed = view.word(enode).attributes.GetInt("transB", 0) != 0;
    if (!IsPlainGemm(view, node.children, transposed)) continue;
    const ClassId bias = node.children.size() == 3 ? node.children[2] : ClassId();
    groups[node.op].push_back({view.graph().class_of(enode), node.children[1], bias, node.op});
  }
  return groups;
}

void SearchGemms(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  for (const ClassId x : FirstOperands(view, anchors)) {
    for (const auto& [op, members] :
         GemmGroups(view, x, ReadersOfFirst(view, x, view.graph().kind(anchors[0])))) {
      if (!EmitVariants(view, x, members, emit)) return;
    }
  }
}

bool GemmsOfClasses(const View& view, std::span<const ENodeId> anchors,
                    std::span<const ClassId> classes, const EmitFn& emit) {
  for (const auto& [op, members] : GemmGroups(
           view, classes[0], ReadersOfWeights(view, classes, view.graph().kind(anchors[0])))) {
    if (!EmitThese(view, classes, members, emit)) break;
  }
  return true;
}

std::vector<Equation> MergeGemms(Terms& terms, const SiteMatch& match) {
  const std::vector<Sibling> members = ReadSiblings(match);
  const AttributeMap& attributes = terms.word(members[0].op).attributes;
  const int axis = attributes.GetInt("transB", 0) != 0 ? 0 : 1;
  std::vector<ClassId> weights;
  std::vector<int64_t> sizes;
  for (const Sibling& member : members) {
    weights.push_back(member.weight);
    sizes.push_back(*NumberAt(terms.type(member.weight), axis));
  }
  std::vector<ClassId> children = {match.classes[0], terms.Concat(weights, axis)};
  if (const auto bias = ConcatBiases(terms, members, sizes)) children.push_back(*bias);
  return SliceEquations(terms, members, sizes, terms.Op("Gemm", children, attributes), 1);
}

// --- Conv ---

struct ConvMember {
  Sibling member;
  Convolution conv;
};

// What Convs must have in common to have a common window: strides, dilations, and for each axis the
// size of the output (relative to the input) and the shift of the window within a dilation.
std::vector<int64_t> Alignment(const Convolution& conv) {
  std::vector<int64_t> key(conv.strides);
  key.insert(key.end(), conv.dilations.begin(), conv.dilations.end());
  for (int axis = 0; axis < conv.spatial(); ++axis) {
    const int64_t begin = conv.pads[axis];
    const int64_t end = conv.pads[conv.spatial() + axis];
    key.push_back(conv.dilations[axis] * conv.kernel[axis] - begin - end);
    key.push_back(begin % conv.dilations[axis]);
  }
  return key;
}

std::vector<int64_t> ExactWindow(const Convolution& conv) {
  std::vector<int64_t> key(conv.kernel);
  key.insert(key.end(), conv.pads.begin(), conv.pads.end());
  return key;
}

// Emits groups of Convs with equal windows, and a group of all.
bool EmitConvs(const View& view, ClassId x, const std::vector<ConvMember>& group,
               const EmitFn& emit) {
  std::map<std::vector<int64_t>, std::vector<Sibling>> by_window;
  std::vector<Sibling> all;
  for (const ConvMember& member : group) {
    by_window[ExactWindow(member.conv)].push_back(member.member);
    all.push_back(member.member);
  }
  for (const auto& [window, members] : by_window) {
    if (!EmitVariants(view, x, members, emit)) return false;
  }
  return by_window.size() < 2 || EmitVariants(view, x, all, emit);
}

// The Convs of an input that can be merged, by what must agree.
std::map<std::vector<int64_t>, std::vector<ConvMember>> ConvGroups(
    const View& view, ClassId x, std::span<const ENodeId> readers) {
  std::map<std::vector<int64_t>, std::vector<ConvMember>> groups;
  if (view.data(x).weight_only) return groups;
  for (const ENodeId enode : readers) {
    const auto node = view.graph().node(enode);
    const auto conv = ReadConvolution(view.word(enode), view.type(node.children[1]));
    const ClassId bias = node.children.size() == 3 ? node.children[2] : ClassId();
    if (conv && conv->group == 1 && IsPlainWeight(view, node.children[1]) &&
        (!bias.valid() || view.data(bias).weight_only)) {
      groups[Alignment(*conv)].push_back(
          {{view.graph().class_of(enode), node.children[1], bias, node.op}, *conv});
    }
  }
  return groups;
}

void SearchConvs(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  for (const ClassId x : FirstOperands(view, anchors)) {
    for (const auto& [key, members] :
         ConvGroups(view, x, ReadersOfFirst(view, x, view.graph().kind(anchors[0])))) {
      if (!EmitConvs(view, x, members, emit)) return;
    }
  }
}

bool ConvsOfClasses(const View& view, std::span<const ENodeId> anchors,
                    std::span<const ClassId> classes, const EmitFn& emit) {
  for (const auto& [key, group] : ConvGroups(
           view, classes[0], ReadersOfWeights(view, classes, view.graph().kind(anchors[0])))) {
    std::vector<Sibling> members;
    for (const ConvMember& member : group) members.push_back(member.member);
    if (!EmitThese(view, classes, members, emit)) break;
  }
  return true;
}

std::vector<Equation> MergeConvs(Terms& terms, const SiteMatch& match) {
  const std::vector<Sibling> members = ReadSiblings(match);
  std::vector<Convolution> convs;
  std::vector<int64_t> sizes;
  for (const Sibling& member : members) {
    const auto conv = ReadConvolution(terms.word(member.op), terms.type(member.weight));
    if (!conv) return {};
    convs.push_back(*conv);
    sizes.push_back(conv->out_channels);
  }
  const std::optional<Convolution> common = CommonWindow(convs);
  if (!common) return {};
  std::vector<ClassId> weights;
  for (size_t i = 0; i < members.size(); ++i) {
    weights.push_back(EnlargeWeight(terms, members[i].weight, convs[i], *common));
  }
  const ClassId merged = MakeConv(terms, ConvolutionAttributes(*common), match.classes[0],
                                  terms.Concat(weights, 0), ConcatBiases(terms, members, sizes));
  return SliceEquations(terms, members, sizes, merged, 1);
}

std::unique_ptr<egraph::Rule> NewMerge(TensorDomain* domain, const char* name, const char* equation,
                                       absl::string_view contraction, SiteRule::SearchFn search,
                                       SiteRule::ForClassesFn for_classes,
                                       SiteRule::BuildFn build) {
  return std::make_unique<SiteRule>(domain, name, equation, std::span(&contraction, 1),
                                    std::move(search), std::move(build), std::move(for_classes));
}

}  // namespace

std::unique_ptr<egraph::Rule> NewMatMulMerge(TensorDomain* domain) {
  return NewMerge(domain, "matmul-merge", "x A, x B, .. = Slices of x [A B ..]", "MatMul",
                  SearchMatMuls, MatMulsOfClasses, MergeMatMuls);
}

std::unique_ptr<egraph::Rule> NewGemmMerge(TensorDomain* domain) {
  return NewMerge(domain, "gemm-merge", "Gemm(x, A), Gemm(x, B), .. = Slices of Gemm(x, [A B ..])",
                  "Gemm", SearchGemms, GemmsOfClasses, MergeGemms);
}

std::unique_ptr<egraph::Rule> NewConvMerge(TensorDomain* domain) {
  return NewMerge(domain, "conv-merge", "Conv(x, a), Conv(x, b), .. = Slices of Conv(x, [a b ..])",
                  "Conv", SearchConvs, ConvsOfClasses, MergeConvs);
}

}  // namespace quotient::rules
