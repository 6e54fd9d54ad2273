//===- Registration.h - passes that register themselves ---------*- C++ -*-===//

#ifndef LINGON_REGISTRATION_H
#define LINGON_REGISTRATION_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace lingon {

using RegisterFunction = void (*)();

/// Adds a function to those that lingon_register runs once per process.
void addRegistration(RegisterFunction function);

struct Registration {
  explicit Registration(RegisterFunction function) {
    addRegistration(function);
  }
};

} // namespace lingon

/// Makes the pass class known under its argument. One line per pass, in the
/// file of the pass.
#define LINGON_REGISTER_PASS(PassClass)                                        \
  static ::lingon::Registration lingonRegistration##PassClass(                 \
      [] { ::mlir::PassRegistration<PassClass>(); });

#endif // LINGON_REGISTRATION_H
