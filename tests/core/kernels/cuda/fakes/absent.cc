int QuotientAbsent() { return 1; }
