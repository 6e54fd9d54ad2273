// --passes runs just the named passes, on MLIR and (below) on LLVM IR.
// RUN: mlir-dump %s --passes 'canonicalize,cse' | FileCheck %s
// CHECK-LABEL: func.func @twice
// CHECK-NEXT:    %[[S:.*]] = arith.addf %arg0, %arg0
// CHECK-NEXT:    return %[[S]], %[[S]]
func.func @twice(%a: f32) -> (f32, f32) {
  %0 = arith.addf %a, %a : f32
  %1 = arith.addf %a, %a : f32
  return %0, %1 : f32, f32
}

// RUN: not mlir-dump %s --passes 'canonicalise' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: bad pass list 'canonicalise'
// UNKNOWN: does not refer to a registered pass
