//===- Remarks.cpp - what passes say about a program, handed to Python ----===//
//
// MLIR's remarks and those of LLVM's loop vectorizer go to one function:
// kind, pass, text, the places in the user's program (`file:line:column`, one a
// line), and whether it says that something was done after all. LLVM knows a
// place as one number only; `lingon_number_locations` gives them out.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "mlir/CAPI/IR.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;

using Listener = void (*)(const char *kind, const char *pass, const char *text,
                          const char *places, bool done);
using PlaceListener = void (*)(unsigned number, const char *places);

#define LINGON_EXPORT extern "C" __attribute__((visibility("default")))

static void addPlaces(Location loc, std::string &places) {
  if (auto file = dyn_cast<FileLineColLoc>(loc)) {
    places += (file.getFilename().getValue() + ":" + Twine(file.getLine()) +
               ":" + Twine(file.getColumn()) + "\n")
                  .str();
  } else if (auto named = dyn_cast<NameLoc>(loc)) {
    addPlaces(named.getChildLoc(), places);
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    addPlaces(call.getCallee(), places);
    addPlaces(call.getCaller(), places);
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location inner : fused.getLocations())
      addPlaces(inner, places);
  }
}

static std::string placesOf(Location loc) {
  std::string places;
  addPlaces(loc, places);
  return places;
}

namespace {

struct Streamer : public remark::detail::MLIRRemarkStreamerBase {
  explicit Streamer(Listener listener) : listener(listener) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    std::string text;
    for (const auto &arg : remark.getArgs())
      text += arg.val;
    listener(remark.getRemarkName().str().c_str(),
             remark.getCategoryName().str().c_str(), text.c_str(),
             placesOf(remark.getLocation()).c_str(),
             remark.getRemarkType() == llvm::remarks::Type::Passed);
  }

  Listener listener;
};

struct LlvmHandler : public llvm::DiagnosticHandler {
  explicit LlvmHandler(Listener listener) : listener(listener) {}

  static bool isWanted(StringRef pass) { return pass == "loop-vectorize"; }
  bool isAnalysisRemarkEnabled(StringRef pass) const override {
    return isWanted(pass);
  }
  bool isMissedOptRemarkEnabled(StringRef pass) const override {
    return isWanted(pass);
  }
  bool isPassedOptRemarkEnabled(StringRef) const override { return false; }
  bool isAnyRemarkEnabled() const override { return true; }

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    auto *remark = llvm::dyn_cast<llvm::DiagnosticInfoIROptimization>(&info);
    if (!remark || !isWanted(remark->getPassName()))
      return false;
    unsigned number =
        remark->isLocationAvailable() ? remark->getLocation().getLine() : 0;
    listener(remark->getRemarkName().str().c_str(),
             remark->getPassName().str().c_str(), remark->getMsg().c_str(),
             std::to_string(number).c_str(),
             llvm::isa<llvm::OptimizationRemark>(info));
    return true;
  }

  Listener listener;
};

} // namespace

/// The passes' remarks in `context` go to `listener`, or to nobody if null.
LINGON_EXPORT bool lingon_hear_remarks(void *context, Listener listener) {
  MLIRContext *mlirContext = unwrap(MlirContext{context});
  if (!listener) {
    mlirContext->setRemarkEngine(nullptr);
    return true;
  }
  remark::RemarkCategories categories;
  categories.passed = categories.missed = ".*";
  return succeeded(remark::enableOptimizationRemarks(
      *mlirContext, std::make_unique<Streamer>(listener),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories));
}

/// What LLVM says about the loops of `module` (an LLVMModuleRef) goes to
/// `listener`; the places are the number of one.
LINGON_EXPORT void lingon_hear_llvm_remarks(void *module, Listener listener) {
  reinterpret_cast<llvm::Module *>(module)->getContext().setDiagnosticHandler(
      std::make_unique<LlvmHandler>(listener));
}

/// Replaces the locations in an MLIR module by numbers, as LLVM knows them
/// after `ensure-debug-info-scope-on-llvm-func`, and says what each stands for.
LINGON_EXPORT void lingon_number_locations(void *module,
                                           PlaceListener listener) {
  Operation *root = unwrap(MlirOperation{module});
  MLIRContext *context = root->getContext();
  llvm::DenseMap<Location, unsigned> numbers;
  root->walk([&](Operation *op) {
    if (op == root)
      return;
    auto [entry, isNew] = numbers.try_emplace(op->getLoc(), numbers.size() + 1);
    if (isNew)
      listener(entry->second, placesOf(op->getLoc()).c_str());
    op->setLoc(FileLineColLoc::get(context, "numbers", entry->second, 0));
  });
}
