//===- Register.cpp - the entry points that Python calls ------------------===//

#include "LingonDialect.h"
#include "Registration.h"

#include "mlir/CAPI/IR.h"

#include <mutex>
#include <vector>

static std::vector<lingon::RegisterFunction> &registrations() {
  static std::vector<lingon::RegisterFunction> functions;
  return functions;
}

void lingon::addRegistration(RegisterFunction function) {
  registrations().push_back(function);
}

/// Loads the dialect into `context` and registers the passes, the latter once
/// per process.
extern "C" __attribute__((visibility("default"))) void
lingon_register(void *context) {
  static std::once_flag once;
  std::call_once(once, [] {
    for (lingon::RegisterFunction function : registrations())
      function();
  });
  unwrap(MlirContext{context})->getOrLoadDialect<lingon::LingonDialect>();
  lingon::attachLoopAliases(*unwrap(MlirContext{context}));
}
