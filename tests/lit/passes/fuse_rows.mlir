// RUN: mlir-dump %S/Inputs/softmax.mlir --passes 'func.func(lingon-fuse-rows),canonicalize' | FileCheck %s
// RUN: mlir-dump %S/Inputs/softmax.mlir --passes 'func.func(lingon-fuse-rows{max-row-bytes=64})' | FileCheck %s --check-prefix=BOUND
// RUN: mlir-dump %S/Inputs/short_rows.mlir --passes 'func.func(lingon-fuse-rows)' | FileCheck %s --check-prefix=SHORT

// One loop over rows; what lies between the steps has the size of a row.
// CHECK-LABEL: func.func @softmax
// CHECK-SAME:    %[[X:.*]]: tensor<64x128xf32>
// CHECK:         %[[R:.*]] = scf.forall (%[[I:.*]]) in (64) shared_outs(%[[O:.*]] = %{{.*}}) -> (tensor<64x128xf32>)
// CHECK-DAG:       tensor.extract_slice %[[X]][%[[I]], 0] [1, 128] [1, 1] : tensor<64x128xf32> to tensor<128xf32>
// CHECK:           linalg.generic {{.*}} iterator_types = ["reduction"]} {{.*}} outs(%{{.*}} : tensor<f32>)
// CHECK:             arith.maximumf
// CHECK:           linalg.generic {{.*}} iterator_types = ["reduction"]} {{.*}} outs(%{{.*}}, %{{.*}} : tensor<128xf32>, tensor<f32>)
// CHECK:             math.exp
// CHECK:           linalg.generic {{.*}} iterator_types = ["parallel"]} {{.*}} outs(%{{.*}} : tensor<128xf32>)
// CHECK:             arith.divf
// CHECK:           tensor.parallel_insert_slice %{{.*}} into %[[O]][%[[I]], 0] [1, 128] [1, 1]
// CHECK:         return %[[R]]

// Rows would cut the contiguous dimension: two loops.
// CHECK-LABEL: func.func @over_columns
// CHECK-NOT:     scf.forall
// CHECK-COUNT-2: linalg.generic
// CHECK:         return

// Rows that are too large for the stack are not formed.
// BOUND-LABEL: func.func @softmax
// BOUND-NOT:     scf.forall
// BOUND-LABEL: func.func @over_columns

// Rows of five elements are no group.
// SHORT-LABEL: func.func @short
// SHORT-NOT:     scf.forall
// SHORT:         return

// A function of what is one number a row, and is not used in the row, is a loop
// of its own.
// SHORT-LABEL: func.func @logarithms
// SHORT:         scf.forall
// SHORT:           math.exp
// SHORT-NOT:       math.log
// SHORT:           scf.forall.in_parallel
// SHORT:         linalg.generic {{.*}} iterator_types = ["parallel"]
// SHORT:           math.log
