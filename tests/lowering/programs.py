"""MLIR programs for the tests of the driver."""

from __future__ import annotations

import ctypes

import numpy as np

from lingon.lowering.loader import LoadedObject


def elementwise(shape: tuple[int, ...], constant: float = 2.0) -> str:
    """x * constant + exp(x) over `shape`, as emitted."""
    tensor = "x".join(map(str, (*shape, "f32")))
    dims = ", ".join(f"d{i}" for i in range(len(shape)))
    identity = f"affine_map<({dims}) -> ({dims})>"
    iterators = ", ".join(['"parallel"'] * len(shape))
    return f"""
func.func @main(%arg0: memref<{tensor}>, %out0: memref<{tensor}>) {{
  %x = bufferization.to_tensor %arg0 restrict : memref<{tensor}> to tensor<{tensor}>
  %e = tensor.empty() : tensor<{tensor}>
  %c = arith.constant {constant:e} : f32
  %r = linalg.generic {{indexing_maps = [{identity}, {identity}], iterator_types = [{iterators}]}}
      ins(%x : tensor<{tensor}>) outs(%e : tensor<{tensor}>) {{
  ^bb0(%a: f32, %o: f32):
    %s = math.exp %a : f32
    %t = arith.mulf %a, %c : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %u : f32
  }} -> tensor<{tensor}>
  bufferization.materialize_in_destination %r in restrict writable %out0
    : (tensor<{tensor}>, memref<{tensor}>) -> ()
  return
}}
"""


def call(loaded: LoadedObject, *arrays: np.ndarray) -> None:
    """Call a loaded program on arrays, inputs then outputs, in place."""
    pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(loaded.entry)(ctypes.addressof(pointers))
