// A recursive-descent parser for the grammar shown in text.h; one function per construct.

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/reason.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/model/lexer.h"
#include "core/model/text.h"

namespace quotient::model {
namespace {

// Limits the memory that a text can request by random().
constexpr int64_t kMostRandomBytes = int64_t{1} << 30;

absl::Status NotANumber(absl::string_view text) {
  return MakeError(Reason::kModelMalformed, absl::StrCat("not a number: '", text, "'"));
}

absl::StatusOr<double> ParseDouble(absl::string_view text) {
  double value;
  if (!absl::SimpleAtod(text, &value)) return NotANumber(text);
  return value;
}

absl::StatusOr<int64_t> ParseInteger(absl::string_view text) {
  if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  int64_t value;
  if (!absl::SimpleAtoi(text, &value)) return NotANumber(text);
  return value;
}

class Parser {
 public:
  explicit Parser(absl::string_view text) : lexer_(text) {}

  absl::StatusOr<Graph> Parse() {
    QUOTIENT_RETURN_IF_ERROR(Expect("graph"));
    QUOTIENT_ASSIGN_OR_RETURN(graph_.name, ReadName());
    QUOTIENT_RETURN_IF_ERROR(Expect("{"));
    while (true) {
      QUOTIENT_ASSIGN_OR_RETURN(const Token token, lexer_.Peek());
      if (token.text == "}" && token.kind == Token::Kind::kPunctuation) break;
      QUOTIENT_RETURN_IF_ERROR(ParseStatement(token));
    }
    QUOTIENT_RETURN_IF_ERROR(Expect("}"));
    QUOTIENT_RETURN_IF_ERROR(ExpectEndOf("graph"));
    QUOTIENT_RETURN_IF_ERROR(Validate(graph_));
    return std::move(graph_);
  }

  absl::StatusOr<AttributeMap> ParseOnlyAttributes() {
    AttributeMap attributes;
    QUOTIENT_RETURN_IF_ERROR(Expect("{"));
    QUOTIENT_RETURN_IF_ERROR(ReadAttributes(&attributes));
    QUOTIENT_RETURN_IF_ERROR(ExpectEndOf("attributes"));
    return attributes;
  }

 private:
  absl::Status ParseStatement(const Token& first) {
    if (first.kind == Token::Kind::kName) {
      if (first.text == "input") return ParseInput();
      if (first.text == "const") return ParseConst();
      if (first.text == "output") return ParseOutput();
    }
    return ParseNode();
  }

  absl::Status ParseInput() {
    QUOTIENT_RETURN_IF_ERROR(Expect("input"));
    QUOTIENT_ASSIGN_OR_RETURN(const std::string name, ReadName());
    QUOTIENT_ASSIGN_OR_RETURN(TensorType type, ReadType());
    QUOTIENT_ASSIGN_OR_RETURN(const bool has_default, Accept("="));
    QUOTIENT_RETURN_IF_ERROR(CheckNew(name));
    names_[name] = graph_.AddInput(name, type);
    if (has_default) {
      QUOTIENT_ASSIGN_OR_RETURN(graph_.defaults.back(), ReadTensor(type));
    }
    return absl::OkStatus();
  }

  absl::Status ParseConst() {
    QUOTIENT_RETURN_IF_ERROR(Expect("const"));
    QUOTIENT_ASSIGN_OR_RETURN(const std::string name, ReadName());
    QUOTIENT_ASSIGN_OR_RETURN(const TensorType type, ReadType());
    QUOTIENT_RETURN_IF_ERROR(Expect("="));
    QUOTIENT_ASSIGN_OR_RETURN(Tensor tensor, ReadTensor(type));
    QUOTIENT_RETURN_IF_ERROR(CheckNew(name));
    names_[name] = graph_.AddConstant(name, std::move(tensor));
    return absl::OkStatus();
  }

  absl::Status ParseOutput() {
    QUOTIENT_RETURN_IF_ERROR(Expect("output"));
    bool more = true;
    while (more) {
      QUOTIENT_ASSIGN_OR_RETURN(const ValueId id, ReadKnownValue());
      graph_.outputs.push_back(id);
      QUOTIENT_ASSIGN_OR_RETURN(more, Accept(","));
    }
    return absl::OkStatus();
  }

  absl::Status ParseNode() {
    Node node;
    std::vector<std::pair<std::string, TensorType>> outputs;
    QUOTIENT_RETURN_IF_ERROR(ReadOutputs(&outputs));
    QUOTIENT_RETURN_IF_ERROR(Expect("="));
    QUOTIENT_ASSIGN_OR_RETURN(node.op, ReadName());
    if (node.op == kOpaqueOp) {
      auto opaque = std::make_shared<Opaque>();
      QUOTIENT_ASSIGN_OR_RETURN(opaque->op, ReadName());
      node.opaque = std::move(opaque);
    }
    QUOTIENT_RETURN_IF_ERROR(ReadInputs(&node.inputs));
    QUOTIENT_ASSIGN_OR_RETURN(const bool has_attributes, Accept("{"));
    if (has_attributes) QUOTIENT_RETURN_IF_ERROR(ReadAttributes(&node.attributes));
    QUOTIENT_ASSIGN_OR_RETURN(const bool has_name, Accept("@"));
    if (has_name) {
      QUOTIENT_ASSIGN_OR_RETURN(node.name, ReadName());
    }
    for (auto& [name, type] : outputs) {
      if (name == "_") {
        node.outputs.emplace_back();
        continue;
      }
      QUOTIENT_RETURN_IF_ERROR(CheckNew(name));
      node.outputs.push_back(names_[name] = graph_.AddValue(name, std::move(type)));
    }
    graph_.AddNode(std::move(node));
    return absl::OkStatus();
  }

  absl::Status ReadOutputs(std::vector<std::pair<std::string, TensorType>>* outputs) {
    QUOTIENT_ASSIGN_OR_RETURN(const bool several, Accept("("));
    bool more = true;
    while (more) {
      QUOTIENT_ASSIGN_OR_RETURN(std::string name, ReadName());
      TensorType type;
      QUOTIENT_ASSIGN_OR_RETURN(const Token next, lexer_.Peek());
      if (next.text == ":") {
        QUOTIENT_ASSIGN_OR_RETURN(type, ReadType());
      }
      outputs->emplace_back(std::move(name), std::move(type));
      more = false;
      if (several) {
        QUOTIENT_ASSIGN_OR_RETURN(more, Accept(","));
      }
    }
    return several ? Expect(")") : absl::OkStatus();
  }

  absl::Status ReadInputs(std::vector<ValueId>* inputs) {
    QUOTIENT_RETURN_IF_ERROR(Expect("("));
    QUOTIENT_ASSIGN_OR_RETURN(bool done, Accept(")"));
    while (!done) {
      QUOTIENT_ASSIGN_OR_RETURN(const Token token, lexer_.Peek());
      if (token.kind == Token::Kind::kName && token.text == "_") {
        QUOTIENT_RETURN_IF_ERROR(Expect("_"));
        inputs->emplace_back();
      } else {
        QUOTIENT_ASSIGN_OR_RETURN(const ValueId id, ReadKnownValue());
        inputs->push_back(id);
      }
      QUOTIENT_ASSIGN_OR_RETURN(const bool more, Accept(","));
      done = !more;
      if (done) QUOTIENT_RETURN_IF_ERROR(Expect(")"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadAttributes(AttributeMap* attributes) {
    QUOTIENT_ASSIGN_OR_RETURN(bool done, Accept("}"));
    while (!done) {
      QUOTIENT_ASSIGN_OR_RETURN(const std::string name, ReadName());
      QUOTIENT_RETURN_IF_ERROR(Expect("="));
      QUOTIENT_ASSIGN_OR_RETURN(Attribute value, ReadAttribute());
      attributes->Set(name, std::move(value));
      QUOTIENT_ASSIGN_OR_RETURN(const bool more, Accept(","));
      done = !more;
      if (done) QUOTIENT_RETURN_IF_ERROR(Expect("}"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Attribute> ReadAttribute() {
    QUOTIENT_ASSIGN_OR_RETURN(const Token token, lexer_.Next());
    if (token.kind == Token::Kind::kPunctuation && token.text == "[") return ReadListAttribute();
    const bool is_name = token.kind == Token::Kind::kName;
    if (is_name && DTypeFromName(token.text).has_value()) return TensorAttribute(token);
    if (is_name && (token.text == "floats" || token.text == "strings")) {
      QUOTIENT_RETURN_IF_ERROR(Expect("["));
      QUOTIENT_RETURN_IF_ERROR(Expect("]"));
      if (token.text == "floats") return Attribute(Floats());
      return Attribute(Strings());
    }
    return ScalarAttribute(token);
  }

  absl::StatusOr<Attribute> ScalarAttribute(const Token& token) {
    if (token.kind == Token::Kind::kString) return Attribute(token.text);
    int64_t integer;
    double real;
    if (absl::SimpleAtoi(token.text, &integer)) return Attribute(integer);
    if (absl::SimpleAtod(token.text, &real)) return Attribute(real);
    return lexer_.Error(token.offset, absl::StrCat("not an attribute: '", token.text, "'"));
  }

  // Parses "float32[2] [0.5, 1]" after the element type.
  absl::StatusOr<Attribute> TensorAttribute(const Token& dtype) {
    QUOTIENT_ASSIGN_OR_RETURN(const TensorType type, ReadDims(dtype));
    QUOTIENT_ASSIGN_OR_RETURN(Tensor tensor, ReadTensor(type));
    return Attribute(std::move(tensor));
  }

  // Not recursive, because lists of lists are not attributes.
  absl::StatusOr<Attribute> ReadListAttribute() {
    std::vector<Attribute> items;
    QUOTIENT_ASSIGN_OR_RETURN(bool done, Accept("]"));
    while (!done) {
      QUOTIENT_ASSIGN_OR_RETURN(const Token token, lexer_.Next());
      QUOTIENT_ASSIGN_OR_RETURN(Attribute item, ScalarAttribute(token));
      items.push_back(std::move(item));
      QUOTIENT_ASSIGN_OR_RETURN(const bool more, Accept(","));
      done = !more;
      if (done) QUOTIENT_RETURN_IF_ERROR(Expect("]"));
    }
    if (items.empty()) return Attribute(Ints());
    if (std::holds_alternative<int64_t>(items[0])) return Collect<int64_t, Ints>(items);
    if (std::holds_alternative<double>(items[0])) return Collect<double, Floats>(items);
    return Collect<std::string, Strings>(items);
  }

  template <typename Item, typename List>
  absl::StatusOr<Attribute> Collect(const std::vector<Attribute>& items) {
    List list;
    for (const Attribute& item : items) {
      const auto* value = std::get_if<Item>(&item);
      if (value == nullptr) return lexer_.Error(lexer_.offset(), "list of different kinds");
      list.push_back(*value);
    }
    return Attribute(std::move(list));
  }

  absl::StatusOr<TensorType> ReadType() {
    QUOTIENT_RETURN_IF_ERROR(Expect(":"));
    QUOTIENT_ASSIGN_OR_RETURN(const Token dtype, lexer_.Next());
    return ReadDims(dtype);
  }

  absl::StatusOr<TensorType> ReadDims(const Token& dtype) {
    QUOTIENT_RETURN_IF_ERROR(Expect("["));
    QUOTIENT_ASSIGN_OR_RETURN(const absl::string_view dims, lexer_.RestOfBrackets());
    auto type = ParseTensorType(absl::StrCat(dtype.text, "[", dims, "]"));
    if (!type.ok()) return lexer_.Error(dtype.offset, type.status().message());
    return type;
  }

  absl::StatusOr<Tensor> ReadTensor(const TensorType& type) {
    const size_t where = lexer_.offset();
    if (!type.is_static() || !IsComputable(type.dtype)) {
      return lexer_.Error(where, "a constant needs a static type");
    }
    const auto size = Tensor::ByteSize(type.dtype, type.dims());
    if (!size.has_value() || *size > kMostRandomBytes) return lexer_.Error(where, "too large");
    QUOTIENT_ASSIGN_OR_RETURN(const Token token, lexer_.Next());
    if (token.text == "random") return ReadRandom(type);
    if (token.text != "[") return lexer_.Error(token.offset, "expected '[' or random(SEED)");
    QUOTIENT_ASSIGN_OR_RETURN(const absl::string_view inside, lexer_.RestOfBrackets());
    return TensorOf(type, inside, token.offset);
  }

  absl::StatusOr<Tensor> TensorOf(const TensorType& type, absl::string_view list, size_t where) {
    std::vector<double> reals;
    std::vector<int64_t> integers;
    if (!absl::StripAsciiWhitespace(list).empty()) {
      for (absl::string_view piece : absl::StrSplit(list, ',')) {
        piece = absl::StripAsciiWhitespace(piece);
        if (IsFloat(type.dtype)) {
          auto real = ParseDouble(piece);
          if (!real.ok()) return lexer_.Error(where, real.status().message());
          reals.push_back(*real);
        } else {
          auto integer = ParseInteger(piece);
          if (!integer.ok()) return lexer_.Error(where, integer.status().message());
          integers.push_back(*integer);
        }
      }
    }
    const size_t count = IsFloat(type.dtype) ? reals.size() : integers.size();
    if (count != static_cast<size_t>(type.elements())) {
      return lexer_.Error(where, absl::StrCat(count, " elements for ", ToString(type)));
    }
    std::span<std::byte> bytes;
    Tensor tensor = Tensor::Allocate(type.dtype, type.dims(), &bytes);
    if (IsFloat(type.dtype)) {
      Store(type.dtype, bytes, 0, reals);
    } else {
      Store(type.dtype, bytes, 0, integers);
    }
    return tensor;
  }

  absl::StatusOr<Tensor> ReadRandom(const TensorType& type) {
    QUOTIENT_RETURN_IF_ERROR(Expect("("));
    QUOTIENT_ASSIGN_OR_RETURN(const Token seed_token, lexer_.Next());
    uint64_t seed;
    if (!absl::SimpleAtoi(seed_token.text, &seed)) {
      return lexer_.Error(seed_token.offset, "expected a seed");
    }
    QUOTIENT_RETURN_IF_ERROR(Expect(")"));
    Rng rng(seed);
    std::span<std::byte> bytes;
    Tensor tensor = Tensor::Allocate(type.dtype, type.dims(), &bytes);
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const double value = rng.Uniform(-1, 1);
      Store(type.dtype, bytes, i, std::span(&value, 1));
    }
    return tensor;
  }

  absl::StatusOr<ValueId> ReadKnownValue() {
    const size_t where = lexer_.offset();
    QUOTIENT_ASSIGN_OR_RETURN(const std::string name, ReadName());
    const auto found = names_.find(name);
    if (found == names_.end()) {
      return lexer_.Error(where, absl::StrCat("no value of the name '", name, "' so far"));
    }
    return found->second;
  }

  absl::Status CheckNew(const std::string& name) {
    if (!names_.contains(name)) return absl::OkStatus();
    return lexer_.Error(lexer_.offset(), absl::StrCat("'", name, "' is defined twice"));
  }

  absl::StatusOr<std::string> ReadName() {
    QUOTIENT_ASSIGN_OR_RETURN(const Token token, lexer_.Next());
    if (token.kind == Token::Kind::kName || token.kind == Token::Kind::kString) return token.text;
    return lexer_.Error(token.offset, absl::StrCat("expected a name, not '", token.text, "'"));
  }

  absl::StatusOr<bool> Accept(absl::string_view text) {
    QUOTIENT_ASSIGN_OR_RETURN(const Token token, lexer_.Peek());
    if (token.text != text || token.kind == Token::Kind::kString) return false;
    QUOTIENT_RETURN_IF_ERROR(lexer_.Next().status());
    return true;
  }

  absl::Status Expect(absl::string_view text) {
    QUOTIENT_ASSIGN_OR_RETURN(const Token token, lexer_.Next());
    if (token.text == text && token.kind != Token::Kind::kString) return absl::OkStatus();
    return lexer_.Error(token.offset,
                        absl::StrCat("expected '", text, "', not '", token.text, "'"));
  }

  absl::Status ExpectEndOf(absl::string_view what) {
    QUOTIENT_ASSIGN_OR_RETURN(const Token end, lexer_.Next());
    if (end.kind == Token::Kind::kEnd) return absl::OkStatus();
    return lexer_.Error(end.offset, absl::StrCat("text after the ", what));
  }

  Lexer lexer_;
  Graph graph_;
  absl::flat_hash_map<std::string, ValueId> names_;
};

}  // namespace

absl::StatusOr<Graph> ParseGraph(absl::string_view text) { return Parser(text).Parse(); }

absl::StatusOr<AttributeMap> ParseAttributes(absl::string_view text) {
  return Parser(text).ParseOnlyAttributes();
}

}  // namespace quotient::model
