// RUN: mlir-dump %s --passes 'lingon-if-any{dialect=complex pass=canonicalize}' | FileCheck %s --check-prefix=RUNS
// RUN: mlir-dump %s --passes 'lingon-if-any{dialect=tensor pass=canonicalize}' | FileCheck %s --check-prefix=NONE
// RUN: not mlir-dump %s --passes 'lingon-if-any{dialect=complex pass=nonsense}' 2>&1 | FileCheck %s --check-prefix=BAD

// The pass runs where there is an operation of the dialect, at any depth.
// RUNS-LABEL: func.func @f
// RUNS-NOT: arith.addi
// NONE-LABEL: func.func @f
// NONE: arith.addi
// BAD: nonsense
func.func @f(%a: complex<f32>, %c: i1) -> (f32, index) {
  %c1 = arith.constant 1 : index
  %x = arith.addi %c1, %c1 : index
  %r = scf.if %c -> f32 {
    %re = complex.re %a : complex<f32>
    scf.yield %re : f32
  } else {
    %im = complex.im %a : complex<f32>
    scf.yield %im : f32
  }
  return %r, %x : f32, index
}
