# Installs the client library, what it is built of and their headers: find_package(Quotient COMPONENTS client) then
# has the target Quotient::client (client/builds/cmake/QuotientConfig.cmake). A header keeps the name that it has here.

set(parts quotient_client quotient_wire_base quotient_proto quotient_base)
foreach(part ${parts})
  string(REPLACE "quotient_" "" name ${part})
  set_target_properties(${part} PROPERTIES EXPORT_NAME ${name})
endforeach()
target_compile_features(quotient_client PUBLIC cxx_std_20)
install(TARGETS ${parts} EXPORT QuotientClient ARCHIVE DESTINATION lib COMPONENT client)
install(EXPORT QuotientClient NAMESPACE Quotient:: FILE QuotientClient.cmake DESTINATION lib/cmake/Quotient
        COMPONENT client)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/core/base DESTINATION include/quotient/core COMPONENT client
        FILES_MATCHING PATTERN "*.h")
foreach(header
        client/cpp/blob_client.h client/cpp/connection.h client/cpp/interrupt.h client/cpp/job_client.h
        client/cpp/retry.h client/cpp/status.h proto/wire/digest.h proto/wire/status.h)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${CMAKE_SOURCE_DIR}/${header} DESTINATION include/quotient/${folder} COMPONENT client)
endforeach()
# Messages and stubs, and the definitions that they are generated from.
install(DIRECTORY ${CMAKE_BINARY_DIR}/proto/quotient ${CMAKE_BINARY_DIR}/proto/google DESTINATION include/quotient
        COMPONENT client FILES_MATCHING PATTERN "*.pb.h" PATTERN "*_mock.grpc.pb.h" EXCLUDE)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/proto/quotient ${CMAKE_SOURCE_DIR}/proto/google DESTINATION share/quotient/proto
        COMPONENT client FILES_MATCHING PATTERN "*.proto")
