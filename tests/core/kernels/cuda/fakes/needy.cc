int QuotientAbsent();

extern "C" int quotient_needs_it() { return QuotientAbsent(); }
