// RUN: mlir-dump %s --passes 'lingon-expand-math{library=%S/Inputs/math_library.txt}' | FileCheck %s
// RUN: not mlir-dump %S/Inputs/math_unknown.mlir --passes 'lingon-expand-math{library=%S/Inputs/math_library.txt}' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not mlir-dump %S/Inputs/math_vector.mlir --passes 'lingon-expand-math{library=%S/Inputs/math_library.txt}' 2>&1 | FileCheck %s --check-prefix=VECTOR
// RUN: not mlir-dump %s --passes 'lingon-expand-math{library=%S/Inputs/missing.txt}' 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: mlir-dump %s --passes 'lingon-expand-math{library=%S/Inputs/math_library.txt},convert-math-to-llvm,convert-arith-to-llvm,convert-func-to-llvm' | FileCheck %s --check-prefix=LLVM

// Only what is used is copied, with what it calls.
// CHECK-LABEL: func.func @f
// CHECK:         %[[A:.*]] = call @lingon_sin_f32(%arg0) : (f32) -> f32
// CHECK:         %[[B:.*]] = call @lingon_sin_f32(%[[A]]) : (f32) -> f32
// CHECK:         math.sqrt %[[B]] : f32
// CHECK:       func.func private @lingon_sin_f32(%{{.*}}: f32) -> f32 attributes {passthrough = ["alwaysinline"]}
// CHECK:         call @lingon_reduce_f32
// CHECK:       func.func private @lingon_reduce_f32
// CHECK-NOT:   @lingon_cos_f32
// LLVM: llvm.func @lingon_sin_f32({{.*}}) -> f32 attributes {{.*}}always{{_?}}inline
func.func @f(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  %1 = math.sin %0 : f32
  %2 = math.sqrt %1 : f32
  return %2 : f32
}

// UNKNOWN: 'math.tan' op on 'f32' has no vectorisable form: the elementary function library defines no @lingon_tan_f32
// VECTOR: 'math.sin' op on 'vector<4xf32>' has no vectorisable form
// MISSING: lingon-expand-math: cannot read the library
