// RUN: mlir-dump %s --passes lingon-allow-contraction | FileCheck %s
// CHECK-LABEL: func.func @f
func.func @f(%a: f32, %b: f32, %i: i32) -> f32 {
  // CHECK-NEXT: arith.mulf {{.*}} fastmath<contract> : f32
  %0 = arith.mulf %a, %b : f32
  // CHECK-NEXT: arith.addf {{.*}} fastmath<reassoc,contract> : f32
  %1 = arith.addf %0, %b fastmath<reassoc> : f32
  // CHECK-NEXT: arith.subf {{.*}} fastmath<contract> : f32
  %2 = arith.subf %1, %a : f32
  // CHECK-NEXT: arith.negf {{.*}} fastmath<contract> : f32
  %3 = arith.negf %2 : f32
  // CHECK-NEXT: arith.divf {{.*}} fastmath<contract> : f32
  %4 = arith.divf %3, %a : f32
  // Comparisons, minima and integers stay as they are.
  // CHECK-NEXT: arith.maximumf %{{[0-9]+}}, %arg0 : f32
  %5 = arith.maximumf %4, %a : f32
  return %5 : f32
}
