// Mutations by field for onnx_reader_fuzz.cc. They are apart from it because the namespace of
// ONNX's messages has the name of one of ours.

#include <onnx/onnx_pb.h>

#include "tests/fuzz/message_mutator.h"

QUOTIENT_MUTATES_MESSAGES(onnx::ModelProto)
