#pragma once

// Addresses to listen on, as text and as the system wants them.

#include <netdb.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace quotient::rpc {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// All addresses of this machine that "HOST:PORT" stands for, IPv6 in brackets. Null if there are
// none, or if that is not its form.
Addresses Resolve(const std::string& listen);

// Whether only this machine can reach the address: true for "127.0.0.1:7070", "[::1]:0",
// "localhost:0" and "unix:PATH", false for "0.0.0.0:7070".
bool IsLoopback(const std::string& listen);

}  // namespace quotient::rpc
