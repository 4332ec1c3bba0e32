// A library that says that it is ONNX Runtime of a version, and offers nothing else.

#include <cstdint>

namespace {

struct ApiBase {
  const void* (*get_api)(uint32_t version);
  const char* (*get_version)();
};

const void* GetApi(uint32_t) { return nullptr; }
const char* GetVersion() { return FAKE_VERSION; }

}  // namespace

extern "C" const ApiBase* OrtGetApiBase() {
  static const ApiBase base = {GetApi, GetVersion};
  return &base;
}
