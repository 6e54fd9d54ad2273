//===- emitter.cpp - code generation, set up once -------------------------===//
//
// LLVM's C interface makes the hundred passes of its code generation anew for
// each module, which takes a millisecond. An emitter keeps them, and leaves out
// those that serve what programs never contain: garbage collection, exceptions,
// tile registers, x87 code, hardening against attacks, instrumentation. A pass
// that does nothing still costs some microseconds for each function.
//
// Functions that run once and do little more than passing addresses on, such as
// main of a program of many loops, get code generated the quick way. That takes
// a quarter of the time and gives as much code.
//
//===----------------------------------------------------------------------===//

#include "functions.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Pass.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace {

/// Names of passes that leave our programs as they are.
const StringSet<> &leftOut() {
  static const StringSet<> names = {
      "Analyze Machine Code For Garbage Collection",
      "Argument Stack Rebase",
      "Check CFA info and insert CFI instructions if needed",
      "Contiguously Lay Out Funclets",
      "Exception handling preparation",
      "Expand indirectbr instructions",
      "Expand memcmp() to load/stores",
      "Fixup Statepoint Caller Saved",
      "Implement the 'patchable-function' attribute",
      "Insert KCFI indirect call checks",
      "Insert XRay ops",
      "Insert fentry calls",
      "Instrument function entry/exit with calls to e.g. mcount() (post "
      "inlining)",
      "Live DEBUG_VALUE analysis",
      "Local Dynamic TLS Access Clean-up",
      "Lower AMX intrinsics",
      "Lower AMX type for load/store",
      "Lower Garbage Collection Instructions",
      "Machine Sanitizer Binary Metadata",
      "Merge contiguous icmps into a memcmp",
      "ObjC ARC contraction",
      "Partially inline calls to library functions",
      "Prepare callbr",
      "Pseudo Probe Inserter",
      "Register Allocation Pass Scoring",
      "Remove Loads Into Fake Uses",
      "Remove Redundant DEBUG_VALUE analysis",
      "Replace intrinsics with calls to vector library",
      "Safe Stack instrumentation pass",
      "Shadow Stack GC Lowering",
      "Stack Frame Layout Analysis",
      "StackMap Liveness Analysis",
      "Tile Register Configure",
      "Tile Register Pre-configure",
      "X86 Atom pad short functions",
      "X86 Indirect Branch Tracking",
      "X86 Indirect Thunks",
      "X86 Load Value Injection (LVI) Load Hardening",
      "X86 Load Value Injection (LVI) Ret-Hardening",
      "X86 Lower Tile Copy",
      "X86 PIC Global Base Reg Initialization",
      "X86 Return Thunks",
      "X86 Speculative Execution Side Effect Suppression",
      "X86 Suppress APX features for relocation",
      "X86 insert wait instruction",
      "X86 speculative load hardening",
  };
  return names;
}

class Passes : public legacy::PassManagerBase {
public:
  void add(Pass *pass) override {
    if (leftOut().contains(pass->getPassName()))
      delete pass;
    else
      manager.add(pass);
  }
  void run(Module &module) { manager.run(module); }

private:
  legacy::PassManager manager;
};

struct Emitter {
  TargetMachine *machine;
  CodeGenFileType kind;
  SmallString<0> code;
  raw_svector_ostream stream{code};
  std::unique_ptr<Passes> passes;

  /// Makes the passes; false if the target has no such output.
  bool setUp() {
    passes = std::make_unique<Passes>();
    return !machine->addPassesToEmitFile(*passes, stream, nullptr, kind,
                                         /*DisableVerify=*/true);
  }
};

} // namespace

extern "C" {

/// An emitter of assembly or object code (an LLVMCodeGenFileType) for a target
/// machine, which must outlive it; null if the target has no such output.
void *lingon_emitter_create(TargetMachine *machine, int kind) {
  auto emitter = std::make_unique<Emitter>();
  emitter->machine = machine;
  emitter->kind = static_cast<CodeGenFileType>(kind);
  return emitter->setUp() ? emitter.release() : nullptr;
}

/// Code of a module, which is changed; it stays until the next call. An emitter
/// is used by one thread at a time.
size_t lingon_emitter_run(void *pointer, Module *module, const char **code) {
  auto *emitter = static_cast<Emitter *>(pointer);
  emitter->code.clear();
  module->setDataLayout(emitter->machine->createDataLayout());
  if (emitter->machine->getOptLevel() != CodeGenOptLevel::None)
    for (Function &function : *module)
      if (!function.isDeclaration() && lingon::onlyPassesOn(function)) {
        function.removeFnAttr(Attribute::AlwaysInline);
        function.addFnAttr(Attribute::NoInline);
        function.addFnAttr(Attribute::OptimizeNone);
      }
  if (!emitter->passes)
    emitter->setUp();
  emitter->passes->run(*module);
  // A printer that was used before does not name its first section again.
  if (emitter->kind == CodeGenFileType::AssemblyFile)
    emitter->passes.reset();
  *code = emitter->code.data();
  return emitter->code.size();
}
}
