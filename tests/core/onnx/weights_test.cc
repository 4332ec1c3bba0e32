// TensorProto -> Tensor: every element type, from typed fields and from raw bytes.

#include "core/onnx/weights.h"

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using model::DType;
using model::Tensor;
using ::quotient::testing::HasReason;
using ::quotient::testing::IsOk;

const ExternalFiles kNoFiles;
const Limits kLimits;

WeightSource Source() { return {kNoFiles, kLimits, nullptr}; }

TensorProto Proto(int32_t type, std::initializer_list<int64_t> dims) {
  TensorProto proto;
  proto.set_name("t");
  proto.set_data_type(type);
  for (int64_t dim : dims) proto.add_dims(dim);
  return proto;
}

std::string Hex(const Tensor& tensor) {
  std::string hex;
  for (std::byte byte : tensor.bytes()) {
    absl::StrAppend(&hex, absl::Hex(std::to_integer<int>(byte), absl::kZeroPad2));
  }
  return hex;
}

// The typed field's entries as raw bytes.
std::string TypedBytes(const TensorProto& proto) {
  EXPECT_THAT(CheckTensor(proto, "", "t", Source()), IsOk());
  return Hex(ToTensor(proto, "", Source()));
}

TEST(WeightsTest, TypedFieldsOfEveryWidth) {
  TensorProto proto = Proto(TensorProto::FLOAT, {2});
  proto.add_float_data(1.0f);
  proto.add_float_data(-2.0f);
  EXPECT_EQ(TypedBytes(proto), "0000803f000000c0");

  proto = Proto(TensorProto::DOUBLE, {1});
  proto.add_double_data(1.0);
  EXPECT_EQ(TypedBytes(proto), "000000000000f03f");

  proto = Proto(TensorProto::INT64, {1});
  proto.add_int64_data(-2);
  EXPECT_EQ(TypedBytes(proto), "feffffffffffffff");

  proto = Proto(TensorProto::UINT64, {1});
  proto.add_uint64_data(0xfedcba9876543210u);
  EXPECT_EQ(TypedBytes(proto), "1032547698badcfe");

  proto = Proto(TensorProto::UINT32, {1});
  proto.add_uint64_data(0x89abcdefu);
  EXPECT_EQ(TypedBytes(proto), "efcdab89");

  for (int32_t type : {TensorProto::INT8, TensorProto::UINT8, TensorProto::BOOL,
                       TensorProto::FLOAT8E4M3FN, TensorProto::FLOAT8E5M2}) {
    proto = Proto(type, {2});
    proto.add_int32_data(1);
    proto.add_int32_data(0x7f);
    EXPECT_EQ(TypedBytes(proto), "017f") << type;
  }
  for (int32_t type :
       {TensorProto::INT16, TensorProto::UINT16, TensorProto::FLOAT16, TensorProto::BFLOAT16}) {
    proto = Proto(type, {2});
    proto.add_int32_data(0x3c00);
    proto.add_int32_data(-1);
    EXPECT_EQ(TypedBytes(proto), "003cffff") << type;
  }
  proto = Proto(TensorProto::INT32, {1});
  proto.add_int32_data(-3);
  EXPECT_EQ(TypedBytes(proto), "fdffffff");

  proto = Proto(TensorProto::COMPLEX64, {1});
  proto.add_float_data(1.0f);
  proto.add_float_data(0.0f);
  EXPECT_EQ(TypedBytes(proto), "0000803f00000000");
}

// Elements of 2 and 4 bits share entries as they share bytes; the last one is padded.
TEST(WeightsTest, PackedElements) {
  for (int32_t type : {TensorProto::INT4, TensorProto::UINT4, TensorProto::FLOAT4E2M1}) {
    TensorProto proto = Proto(type, {3});
    proto.add_int32_data(0x21);
    EXPECT_THAT(CheckTensor(proto, "", "t", Source()), HasReason(Reason::kModelMalformed));
    proto.add_int32_data(0x03);
    EXPECT_EQ(TypedBytes(proto), "2103") << type;
  }
  TensorProto proto = Proto(TensorProto::UINT2, {5});
  proto.set_raw_data("\x1b\x02");
  EXPECT_THAT(CheckTensor(proto, "", "t", Source()), IsOk());
  proto.set_raw_data("\x1b");
  EXPECT_THAT(CheckTensor(proto, "", "t", Source()), HasReason(Reason::kModelMalformed));
  // Four elements of 6 bits in three bytes.
  proto = Proto(TensorProto::FLOAT6E2M3, {5});
  proto.set_raw_data("1234");
  EXPECT_THAT(CheckTensor(proto, "", "t", Source()), IsOk());
  EXPECT_FALSE(IsRepresentable(proto));
}

TEST(WeightsTest, NoElementsNeedNoData) {
  EXPECT_THAT(CheckTensor(Proto(TensorProto::FLOAT, {0, 5}), "", "t", Source()), IsOk());
  EXPECT_THAT(CheckTensor(Proto(TensorProto::FLOAT, {}), "", "t", Source()),
              HasReason(Reason::kModelMalformed));
}

TEST(WeightsTest, BytesThatAreSetAsideAreReferencedWhateverTheirAlignment) {
  TensorProto proto = Proto(TensorProto::FLOAT, {2});
  alignas(8) char buffer[16] = {};
  const float values[] = {3.0f, 4.0f};
  const auto owner = std::make_shared<int>(7);
  const WeightSource source{kNoFiles, kLimits, owner};

  for (const size_t offset : {0, 1, 2}) {
    std::memcpy(buffer + offset, values, 8);
    const Tensor tensor = ToTensor(proto, absl::string_view(buffer + offset, 8), source);
    EXPECT_EQ(static_cast<const void*>(tensor.bytes().data()), buffer + offset);
    EXPECT_GT(owner.use_count(), 2);
    EXPECT_EQ(tensor.AsDoubles(), (std::vector<double>{3, 4}));
  }
}

}  // namespace
}  // namespace quotient::onnx
