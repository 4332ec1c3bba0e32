#include "core/rules/shared_input.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "core/rules/conv_window.h"
#include "core/rules/site_rule.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

// The most contractions that are merged into one. More siblings become several groups.
constexpr size_t kMaxMembers = 64;

// One of the contractions to merge.
struct Member {
  ClassId root;    // Its result, including the bias.
  ClassId weight;  // Constant.
  ClassId bias;    // Constant; invalid if there is none.
  OpId op;
};

// --- Which contractions belong together ---

// The constant from which a weight was computed by scaling, reshaping and similar operators.
// Variants of one contraction, such as with and without a merged scale, have the same base. This
// looks further than Rule::SearchAt allows: if only a base changes, the variants are chosen anew
// when something nearer does.
ClassId BaseOf(const View& view, ClassId weight) {
  static const auto& kThrough = *new std::set<std::string>{
      "Mul", "Div", "Add", "Sub", "Neg", "Reshape", "Transpose", "Pad", "Cast"};
  ClassId cls = view.graph().Find(weight);
  for (int steps = 0; steps < 32; ++steps) {
    const ENodeId first = view.graph().nodes(cls).front();
    const auto node = view.graph().node(first);
    if (!kThrough.contains(view.word(first).name) || node.children.empty()) break;
    cls = view.graph().Find(node.children[0]);
  }
  return cls;
}

// Keeps one variant of each contraction: the one that was made first, or last.
std::vector<Member> OnePerBase(const View& view, const std::vector<Member>& members, bool last) {
  std::map<ClassId, size_t> slot_of_base;
  std::vector<Member> chosen;
  for (const Member& member : members) {
    const auto [it, is_new] = slot_of_base.try_emplace(BaseOf(view, member.weight), chosen.size());
    if (is_new) {
      chosen.push_back(member);
    } else if (last) {
      chosen[it->second] = member;
    }
  }
  return chosen;
}

bool SameRoots(const std::vector<Member>& a, const std::vector<Member>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Member& x, const Member& y) { return x.root == y.root; });
}

// Two ways to compute one value are one member: the first.
std::vector<Member> OnePerRoot(const std::vector<Member>& members) {
  std::set<ClassId> roots;
  std::vector<Member> chosen;
  for (const Member& member : members) {
    if (roots.insert(member.root).second) chosen.push_back(member);
  }
  return chosen;
}

// Classes of a match: x, then weight, bias and root of each member, with the weight in place of a
// missing bias. Numbers: for each member, whether it has a bias.
bool EmitGroup(ClassId x, std::span<const Member> members, const EmitFn& emit) {
  SiteMatch match;
  match.classes.push_back(x);
  for (const Member& member : members) {
    const ClassId bias = member.bias.valid() ? member.bias : member.weight;
    match.classes.insert(match.classes.end(), {member.weight, bias, member.root});
    match.ops.push_back(member.op);
    match.numbers.push_back(member.bias.valid());
  }
  return emit(std::move(match));
}

// Emits as few groups as possible, of nearly equal size.
bool Emit(ClassId x, const std::vector<Member>& candidates, const EmitFn& emit) {
  const std::vector<Member> members = OnePerRoot(candidates);
  if (members.size() < 2) return true;
  const std::span<const Member> all(members);
  const size_t groups = (members.size() + kMaxMembers - 1) / kMaxMembers;
  for (size_t group = 0; group < groups; ++group) {
    const size_t begin = members.size() * group / groups;
    const size_t end = members.size() * (group + 1) / groups;
    if (!EmitGroup(x, all.subspan(begin, end - begin), emit)) return false;
  }
  return true;
}

std::vector<Member> ReadMembers(const SiteMatch& match) {
  std::vector<Member> members;
  for (size_t i = 0; i < match.ops.size(); ++i) {
    const ClassId* classes = &match.classes[1 + 3 * i];
    const ClassId bias = match.numbers[i] != 0 ? classes[1] : ClassId();
    members.push_back({classes[2], classes[0], bias, match.ops[i]});
  }
  return members;
}

// Emits both selections of variants of a group, if they differ.
bool EmitVariants(const View& view, ClassId x, const std::vector<Member>& group,
                  const EmitFn& emit) {
  const std::vector<Member> first = OnePerBase(view, group, /*last=*/false);
  const std::vector<Member> last = OnePerBase(view, group, /*last=*/true);
  if (!Emit(x, first, emit)) return false;
  return SameRoots(first, last) || Emit(x, last, emit);
}

// Whether this is a constant matrix or kernel that is not itself the result of a merge.
bool IsPlainWeight(const View& view, ClassId weight) {
  const ClassData& data = view.data(weight);
  return data.weight_only && data.type.is_static() && model::IsFloat(data.type.dtype) &&
         !view.HasOperator(weight, "Concat");
}

// --- Building ---

// Concatenates the biases, with zeros for members without one. Returns nullopt if no member has
// one.
std::optional<ClassId> ConcatBiases(Terms& terms, const std::vector<Member>& members,
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

std::vector<Equation> SliceEquations(Terms& terms, const std::vector<Member>& members,
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

// Extends a member by a following Add of a constant vector over the columns.
Member WithBias(const View& view, Member member) {
  const int64_t columns = *NumberAt(view.type(member.weight), -1);
  const ClassId product = member.root;
  ForEachNarrowParent(view, product, [&](ENodeId parent) {
    const auto node = view.graph().node(parent);
    if (view.word(parent).name != "Add" || node.children.size() != 2) return true;
    const ClassId bias = node.children[1];
    const ClassData& data = view.data(bias);
    if (!data.weight_only || !data.type.has_rank() || data.type.rank() != 1 ||
        !data.type.dim(0).Is(columns)) {
      return true;
    }
    member.bias = view.graph().Find(bias);
    member.root = view.graph().class_of(parent);
    return false;
  });
  return member;
}

void SearchMatMuls(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  for (const ClassId x : FirstOperands(view, anchors)) {
    const TensorType& type = view.type(x);
    if (!type.has_rank() || type.rank() < 2 || view.data(x).weight_only) continue;
    // By all sizes of the weight but its columns. Of several matrices, each has its own product.
    std::map<Ints, std::vector<Member>> groups;
    for (const ENodeId enode : ReadersOfFirst(view, x, view.graph().kind(anchors[0]))) {
      const auto node = view.graph().node(enode);
      const ClassId weight = node.children[1];
      if (!IsPlainWeight(view, weight) || view.type(weight).rank() < 2) continue;
      Ints others = view.type(weight).dims();
      others.pop_back();
      groups[std::move(others)].push_back(
          WithBias(view, {view.graph().class_of(enode), weight, ClassId(), node.op}));
    }
    for (const auto& [others, members] : groups) {
      if (!EmitVariants(view, x, members, emit)) return;
    }
  }
}

std::vector<Equation> MergeMatMuls(Terms& terms, const SiteMatch& match) {
  const std::vector<Member> members = ReadMembers(match);
  std::vector<ClassId> weights;
  std::vector<int64_t> sizes;
  for (const Member& member : members) {
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

void SearchGemms(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  for (const ClassId x : FirstOperands(view, anchors)) {
    if (view.data(x).weight_only) continue;
    std::map<OpId, std::vector<Member>> groups;
    for (const ENodeId enode : ReadersOfFirst(view, x, view.graph().kind(anchors[0]))) {
      const auto node = view.graph().node(enode);
      const bool transposed = view.word(enode).attributes.GetInt("transB", 0) != 0;
      if (!IsPlainGemm(view, node.children, transposed)) continue;
      const ClassId bias = node.children.size() == 3 ? node.children[2] : ClassId();
      groups[node.op].push_back({view.graph().class_of(enode), node.children[1], bias, node.op});
    }
    for (const auto& [op, members] : groups) {
      if (!EmitVariants(view, x, members, emit)) return;
    }
  }
}

std::vector<Equation> MergeGemms(Terms& terms, const SiteMatch& match) {
  const std::vector<Member> members = ReadMembers(match);
  const AttributeMap& attributes = terms.word(members[0].op).attributes;
  const int axis = attributes.GetInt("transB", 0) != 0 ? 0 : 1;
  std::vector<ClassId> weights;
  std::vector<int64_t> sizes;
  for (const Member& member : members) {
    weights.push_back(member.weight);
    sizes.push_back(*NumberAt(terms.type(member.weight), axis));
  }
  std::vector<ClassId> children = {match.classes[0], terms.Concat(weights, axis)};
  if (const auto bias = ConcatBiases(terms, members, sizes)) children.push_back(*bias);
  return SliceEquations(terms, members, sizes, terms.Op("Gemm", children, attributes), 1);
}

// --- Conv ---

struct ConvMember {
  Member member;
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
  std::map<std::vector<int64_t>, std::vector<Member>> by_window;
  std::vector<Member> all;
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
std::map<std::vector<int64_t>, std::vector<ConvMember>> ConvGroups(const View& view, ClassId x,
                                                                   egraph::KindId kind) {
  std::map<std::vector<int64_t>, std::vector<ConvMember>> groups;
  for (const ENodeId enode : ReadersOfFirst(view, x, kind)) {
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
    if (view.data(x).weight_only) continue;
    for (const auto& [key, members] : ConvGroups(view, x, view.graph().kind(anchors[0]))) {
      if (!EmitConvs(view, x, members, emit)) return;
    }
  }
}

std::vector<Equation> MergeConvs(Terms& terms, const SiteMatch& match) {
  const std::vector<Member> members = ReadMembers(match);
  std::vector<Convolution> convs;
  std::vector<int64_t> sizes;
  for (const Member& member : members) {
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
                                       SiteRule::BuildFn build) {
  return std::make_unique<SiteRule>(domain, name, equation, std::span(&contraction, 1),
                                    std::move(search), std::move(build));
}

}  // namespace

std::unique_ptr<egraph::Rule> NewMatMulMerge(TensorDomain* domain) {
  return NewMerge(domain, "matmul-merge", "x A, x B, .. = Slices of x [A B ..]", "MatMul",
                  SearchMatMuls, MergeMatMuls);
}

std::unique_ptr<egraph::Rule> NewGemmMerge(TensorDomain* domain) {
  return NewMerge(domain, "gemm-merge", "Gemm(x, A), Gemm(x, B), .. = Slices of Gemm(x, [A B ..])",
                  "Gemm", SearchGemms, MergeGemms);
}

std::unique_ptr<egraph::Rule> NewConvMerge(TensorDomain* domain) {
  return NewMerge(domain, "conv-merge", "Conv(x, a), Conv(x, b), .. = Slices of Conv(x, [a b ..])",
                  "Conv", SearchConvs, MergeConvs);
}

}  // namespace quotient::rules
