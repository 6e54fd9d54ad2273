//===- merge_functions.cpp - equal loops are compiled once
//-----------------===//
//
// The layers of a network and the steps of an unrolled loop become functions
// that differ in nothing but their names. One of each kind stays, and all calls
// go to it. Functions that call functions that were merged may be equal only
// then, so it is done until nothing changes.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/Hashing.h"

using namespace mlir;

namespace {

/// The attributes of a function but for its name.
DictionaryAttr attributesOf(func::FuncOp function) {
  NamedAttrList attributes(function->getAttrDictionary());
  attributes.erase(function.getSymNameAttrName());
  return attributes.getDictionary(function.getContext());
}

llvm::hash_code hashOf(func::FuncOp function, DictionaryAttr attributes) {
  llvm::hash_code hash = llvm::hash_combine(attributes);
  function.getBody().walk([&](Operation *op) {
    hash = llvm::hash_combine(hash, op->getName(), op->getNumOperands(),
                              op->getDiscardableAttrDictionary(),
                              op->hashProperties());
    for (Type type : op->getResultTypes())
      hash = llvm::hash_combine(hash, type);
  });
  return hash;
}

struct MergeFunctionsPass
    : public PassWrapper<MergeFunctionsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MergeFunctionsPass)
  StringRef getArgument() const final { return "lingon-merge-functions"; }
  StringRef getDescription() const final {
    return "keep one of several equal private functions";
  }

  void runOnOperation() override {
    while (mergeOnce())
      ;
  }

  /// Merges what is equal now; returns whether there was anything.
  bool mergeOnce() {
    struct Candidate {
      func::FuncOp function;
      DictionaryAttr attributes;
    };
    llvm::DenseMap<size_t, SmallVector<Candidate, 1>> kept;
    llvm::DenseMap<StringAttr, FlatSymbolRefAttr> replacements;
    SmallVector<func::FuncOp> redundant;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || !function.isPrivate())
        continue;
      DictionaryAttr attributes = attributesOf(function);
      auto &bucket = kept[size_t(hashOf(function, attributes))];
      auto *equal = llvm::find_if(bucket, [&](Candidate &other) {
        return other.attributes == attributes &&
               OperationEquivalence::isRegionEquivalentTo(
                   &other.function.getBody(), &function.getBody(),
                   OperationEquivalence::IgnoreLocations);
      });
      if (equal == bucket.end()) {
        bucket.push_back({function, attributes});
        continue;
      }
      replacements[function.getSymNameAttr()] =
          FlatSymbolRefAttr::get(equal->function.getSymNameAttr());
      redundant.push_back(function);
    }
    if (redundant.empty())
      return false;
    for (func::FuncOp function : redundant)
      function.erase();
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](FlatSymbolRefAttr name) -> Attribute {
      auto found = replacements.find(name.getAttr());
      return found == replacements.end() ? name : found->second;
    });
    replacer.recursivelyReplaceElementsIn(getOperation());
    return true;
  }
};

} // namespace

LINGON_REGISTER_PASS(MergeFunctionsPass)
