// A program that reaches translation with operations LLVM does not know gives an error, not an abort.
// RUN: not mlir-dump %s --from llvm-dialect 2>&1 | FileCheck %s
// CHECK: error: compilation failed (stage llvm, step translate)
// CHECK: 1 operations are left that have no LLVM form
// CHECK: builtin.unrealized_conversion_cast
llvm.func @main(%a: !llvm.ptr) {
  %0 = builtin.unrealized_conversion_cast %a : !llvm.ptr to memref<4xf32>
  llvm.return
}
