// RUN: mlir-dump %s --passes 'func.func(lingon-transpose-tiles{bits=512})' | FileCheck %s
// RUN: mlir-dump %s --passes 'func.func(lingon-transpose-tiles)' | FileCheck %s --check-prefix=NONE

// NONE-NOT: vector

// Blocks of eight rows and columns, what is left of the columns and of the rows,
// then the loops over the tile.
// CHECK-LABEL: func.func @transposed
// CHECK:         %[[TILE:.*]] = memref.alloca() {alignment = 64 : i64} : memref<32x32xf16>
// CHECK:         scf.for %[[I:.*]] = %arg2 to %{{.*}} step %c8
// CHECK:           scf.for %[[J:.*]] = %arg3 to %{{.*}} step %c8
// CHECK:             vector.load %arg0[%{{.*}}, %[[I]]] : memref<300x200xf16>, vector<8xf16>
// CHECK-COUNT-24:    vector.shuffle
// CHECK-COUNT-8:     vector.store %{{.*}}, %[[TILE]]
// CHECK:         memref.load %arg0
// CHECK:         memref.store %{{.*}}, %[[TILE]]
// CHECK:         memref.load %arg0
// CHECK:         memref.store %{{.*}}, %[[TILE]]
// CHECK:         scf.for %[[I:.*]] = %arg2
// CHECK:           scf.for %[[J:.*]] = %arg3
// CHECK:             %[[R:.*]] = arith.subi %[[I]], %arg2
// CHECK:             %[[C:.*]] = arith.subi %[[J]], %arg3
// CHECK:             %[[X:.*]] = memref.load %[[TILE]][%[[R]], %[[C]]]
// CHECK:             memref.store %[[X]], %arg1[%[[I]], %[[J]]]
func.func @transposed(%x: memref<300x200xf16>, %y: memref<200x300xf16>, %i0: index, %j0: index) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %n = arith.constant 200 : index
  %m = arith.constant 300 : index
  %i1 = arith.addi %i0, %c32 : index
  %i2 = arith.minsi %i1, %n : index
  scf.for %i = %i0 to %i2 step %c1 {
    %j1 = arith.addi %j0, %c32 : index
    %j2 = arith.minsi %j1, %m : index
    scf.for %j = %j0 to %j2 step %c1 {
      %e = memref.load %x[%j, %i] : memref<300x200xf16>
      memref.store %e, %y[%i, %j] : memref<200x300xf16>
    }
  }
  return
}

// In its own buffer: what is read may have been written.
// CHECK-LABEL: func.func @in_place
// CHECK-NOT:     vector
// LLVM has gathers for larger elements.
// CHECK-LABEL: func.func @wide
// CHECK-NOT:     vector
func.func @in_place(%x: memref<200x200xi8>, %i0: index, %j0: index) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %i1 = arith.addi %i0, %c32 : index
  %j1 = arith.addi %j0, %c32 : index
  scf.for %i = %i0 to %i1 step %c1 {
    scf.for %j = %j0 to %j1 step %c1 {
      %e = memref.load %x[%j, %i] : memref<200x200xi8>
      memref.store %e, %x[%i, %j] : memref<200x200xi8>
    }
  }
  return
}

func.func @wide(%x: memref<300x200xf32>, %y: memref<200x300xf32>, %i0: index, %j0: index) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %i1 = arith.addi %i0, %c32 : index
  %j1 = arith.addi %j0, %c32 : index
  scf.for %i = %i0 to %i1 step %c1 {
    scf.for %j = %j0 to %j1 step %c1 {
      %e = memref.load %x[%j, %i] : memref<300x200xf32>
      memref.store %e, %y[%i, %j] : memref<200x300xf32>
    }
  }
  return
}
