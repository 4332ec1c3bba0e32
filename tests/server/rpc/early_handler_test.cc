#include "server/rpc/early_handler.h"

#include <google/protobuf/descriptor.h>

#include <set>

#include "gtest/gtest.h"
#include "server/rpc/blob_service.h"
#include "server/rpc/capabilities_service.h"
#include "server/rpc/model_service.h"
#include "server/rpc/optimizer_service.h"

namespace quotient::rpc {
namespace {

const google::protobuf::ServiceDescriptor& DescriptorOf(const char* service) {
  return *google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service);
}

TEST(EarlyHandlerTest, NumbersAreThoseOfTheDescriptors) {
  const auto& blobs = DescriptorOf("quotient.v1.BlobService");
  EXPECT_EQ(NumberOf<v1::BlobService>(&BlobService::FindMissing),
            blobs.FindMethodByName("FindMissing")->index());
  EXPECT_EQ(NumberOf<v1::BlobService>(&BlobService::Download),
            blobs.FindMethodByName("Download")->index());
  const auto& jobs = DescriptorOf("quotient.v1.OptimizerService");
  EXPECT_EQ(NumberOf<v1::OptimizerService>(&OptimizerService::DeleteJob),
            jobs.FindMethodByName("DeleteJob")->index());
  EXPECT_EQ((NumberOf<v1::OptimizerService, v1::WatchJobRequest>()),
            jobs.FindMethodByName("WatchJob")->index());
}

// Else a number would be that of another method.
TEST(EarlyHandlerTest, EachMethodHasARequestOfItsOwn) {
  for (const char* const name :
       {v1::BlobService::service_full_name(), v1::CapabilitiesService::service_full_name(),
        v1::ModelService::service_full_name(), v1::OptimizerService::service_full_name()}) {
    const google::protobuf::ServiceDescriptor& service = DescriptorOf(name);
    std::set<const google::protobuf::Descriptor*> requests;
    for (int i = 0; i < service.method_count(); ++i) {
      EXPECT_TRUE(requests.insert(service.method(i)->input_type()).second)
          << service.method(i)->full_name();
    }
  }
}

}  // namespace
}  // namespace quotient::rpc
