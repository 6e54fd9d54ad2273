//===- arguments.cpp - functions of very many arguments -------------------===//
//
// To inline a function whose arguments do not alias makes sets of scopes that
// grow with the square of their number. Where nothing is computed, nobody asks.
//
//===----------------------------------------------------------------------===//

#include "functions.h"

using namespace llvm;

/// If `function` only passes its arguments on, forgets that they do not alias;
/// returns whether it does.
extern "C" bool lingon_forget_aliasing(Function *function) {
  if (!lingon::onlyPassesOn(*function))
    return false;
  for (unsigned i = 0; i < function->arg_size(); ++i)
    function->removeParamAttr(i, Attribute::NoAlias);
  return true;
}
