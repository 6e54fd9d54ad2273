; RUN: mlir-dump %s --passes 'function(instcombine)' | FileCheck %s
; CHECK-LABEL: define i32 @same
; CHECK-NEXT:    ret i32 %x
define i32 @same(i32 %x) {
  %a = add i32 %x, 1
  %b = sub i32 %a, 1
  ret i32 %b
}
; RUN: not mlir-dump %s --passes 'instcombin' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
; UNKNOWN: error: {{.*}}unknown pass name 'instcombin'
