#pragma once

// The text form of graphs, for tests, journals and people. Print and Parse are inverse except for
// comments and blanks.
//
//   graph squeeze {
//     input x: float32[N,3,8,8]
//     input bias: float32[4] = [0, 0, 0, 1]        # an overridable default
//     const w: float32[4,3,3,3] = random(7)        # uniform in [-1,1), seed 7
//     const axes: int64[2] = [2, 3]
//     const s: float32[] = [0.5]
//     c = Conv(x, w, bias) {pads=[1,1,1,1], strides=[1,1]}
//     (a, b) = Split(c) {axis=1, split=[2,2]}
//     y: float32[N,2,8,8] = Add(a, b)              # a declared type, optional
//     z = Clip(y, _, s)                            # _: input left out
//     o = ConstantOfShape(axes) {value=float32[1] [0.5]}
//     m = Opaque "com.acme.Foo" (y)
//     output z, m
//   }
//
// A node's name follows at the end of its line: `y = Relu(x) @relu_1`.

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/attribute.h"
#include "core/model/graph.h"

namespace quotient::model {

// Node outputs have the types that the text declares, otherwise unknown ones. Fails with
// INVALID_ARGUMENT (reason MODEL_MALFORMED), with line and column, for anything that is not a
// graph.
absl::StatusOr<Graph> ParseGraph(absl::string_view text);

// The attributes that such a text has in braces, which are part of it: "{axis=1, perm=[1,0]}".
// Fails like ParseGraph.
absl::StatusOr<AttributeMap> ParseAttributes(absl::string_view text);

// Constants of up to `inline_elements` elements are written in full, larger ones as `digest(hex)`,
// which ParseGraph rejects. Constants made by random() are written as elements, too.
std::string PrintGraph(const Graph& graph, int64_t inline_elements = 1 << 20);

}  // namespace quotient::model
