// RUN: mlir-dump %s --from llvm-dialect --passes lingon-add-entry | FileCheck %s
// CHECK:       llvm.func @main(%{{.*}}: !llvm.ptr {llvm.noalias, llvm.nonnull}, %{{.*}}: !llvm.ptr {llvm.nonnull})
// CHECK:       llvm.func @lingon_entry_0000000000000000(%[[P:.*]]: !llvm.ptr)
// CHECK-DAG:     %[[A0:.*]] = llvm.getelementptr %[[P]][0]
// CHECK-DAG:     %[[V0:.*]] = llvm.load %[[A0]]
// CHECK-DAG:     %[[A1:.*]] = llvm.getelementptr %[[P]][1]
// CHECK-DAG:     %[[V1:.*]] = llvm.load %[[A1]]
// CHECK:         llvm.call @main(%[[V0]], %[[V1]])
// CHECK-NEXT:    llvm.return
llvm.func @main(%a: !llvm.ptr, %b: !llvm.ptr {lingon.may_alias}) {
  llvm.return
}
