# Random bits are elementwise: the block function is called on a counter, and what follows fuses.
# RUN: mlir-dump %s::uniform --args 'u32[2]' --to linalg | FileCheck %s

from lingon import random


# CHECK: func.func private @lingon_threefry2x32
# CHECK: alwaysinline
# CHECK: func.func @main
# CHECK: linalg.generic
# CHECK: linalg.index 0
# CHECK: call @lingon_threefry2x32
# CHECK: arith.subf
# CHECK-NOT: linalg.generic
# CHECK: materialize_in_destination
def uniform(key):
    return random.uniform(key, (100,), "float32")
