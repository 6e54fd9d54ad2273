// RUN: mlir-dump %s --passes lingon-expand-math | FileCheck %s
// RUN: mlir-dump %s --passes lingon-expand-math | FileCheck %s --check-prefix=ONCE

// CHECK-LABEL: func.func @operations
// CHECK-SAME: %[[X:.*]]: f32, %[[Y:.*]]: f64
func.func @operations(%x: f32, %y: f64) -> (f32, f32, f64, f32) {
  // CHECK-NEXT: call @lingon_exp_f32(%[[X]]) : (f32) -> f32
  %0 = math.exp %x : f32
  // CHECK-NEXT: call @lingon_powf_f32(%{{.*}}, %[[X]]) : (f32, f32) -> f32
  %1 = math.powf %0, %x : f32
  // CHECK-NEXT: call @lingon_sin_f64(%[[Y]]) : (f64) -> f64
  %2 = math.sin %y : f64
  // What the machine has an instruction for stays.
  // CHECK-NEXT: math.sqrt %[[X]] : f32
  %3 = math.sqrt %x : f32
  return %0, %1, %2, %3 : f32, f32, f64, f32
}

// A declared function of the library gets its body; others stay declarations.
func.func private @lingon_lgamma_f32(f32) -> f32
// CHECK: func.func private @elsewhere(f32) -> f32
func.func private @elsewhere(f32) -> f32
// CHECK-LABEL: func.func @calls
func.func @calls(%x: f32) -> f32 {
  // CHECK: call @lingon_lgamma_f32
  %0 = func.call @lingon_lgamma_f32(%x) : (f32) -> f32
  %1 = func.call @elsewhere(%0) : (f32) -> f32
  // Two uses share one definition.
  %2 = math.exp %1 : f32
  return %2 : f32
}

// ONCE-DAG: func.func private @lingon_exp_f32(%{{.*}}: f32) -> f32 attributes {{.*}}passthrough = ["alwaysinline"]
// ONCE-DAG: func.func private @lingon_powf_f32(%{{.*}}: f32, %{{.*}}: f32) -> f32
// ONCE-DAG: func.func private @lingon_sin_f64(%{{.*}}: f64) -> f64
// ONCE-DAG: func.func private @lingon_lgamma_f32(%{{.*}}: f32) -> f32
// ONCE-DAG: llvm.mlir.global private constant @lingon_two_over_pi
// ONCE-NOT: @lingon_exp_f32(%{{.*}}: f32)
// ONCE-NOT: math.exp
