// A plug-in that calls what no library here has.

extern "C" int quotient_newer();
extern "C" int quotient_dated() { return quotient_newer(); }
