// RUN: not mlir-dump %s --passes lingon-expand-math 2>&1 | FileCheck %s

func.func @f(%x: f16) -> f16 {
  // CHECK: 'math.exp' op on 'f16' has no vectorisable form
  %0 = math.exp %x : f16
  return %0 : f16
}
