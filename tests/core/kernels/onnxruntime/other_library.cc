// A library that is not ONNX Runtime's.

extern "C" int SomethingElse() { return 1; }
