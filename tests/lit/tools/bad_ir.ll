; RUN: not mlir-dump %s 2>&1 | FileCheck %s
; CHECK: error: compilation failed (stage llvm, step parse)
; CHECK: use of undefined value '%b'
define i32 @f(i32 %a) {
  ret i32 %b
}
