//===- Lingon.td - the lingon dialect --------------------------------------===//
//
// What the upstream dialects lack: calls of the runtime's library kernels.
//
//===----------------------------------------------------------------------===//

#ifndef LINGON_TD
#define LINGON_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Lingon_Dialect : Dialect {
  let name = "lingon";
  let summary = "Operations that the upstream dialects lack";
  let cppNamespace = "::lingon";
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect"];
}

def Lingon_KernelCallOp
    : Op<Lingon_Dialect, "kernel_call",
         [AttrSizedOperandSegments, DestinationStyleOpInterface,
          DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "call a library kernel of the runtime, destination-passing";
  let description = [{
    Calls the C function `lingon_kernel_<callee>`. `ins` are read, `outs` are
    overwritten; their initial contents are read only where the unit attribute
    `reads_outputs` is present. On tensors every `outs` operand is tied to one
    result of its type; on memrefs there are no results.

    `dtypes` holds one code of the runtime's dtype table per operand, inputs
    then outputs: the stored element type alone does not tell a boolean or an
    unsigned integer. `config` holds the kernel's static parameters.

    With the unit attribute `side_effects` the call is never removed, repeated
    or moved across another such call, and `outs` may be empty.

    ```mlir
    %r = lingon.kernel_call "sort" ins(%x : tensor<8xf32>)
           outs(%e : tensor<8xf32>)
           {config = array<i64: 0>, dtypes = array<i32: 13, 13>} -> tensor<8xf32>
    ```
  }];

  let arguments = (ins
    StrAttr:$callee,
    Variadic<AnyTypeOf<[AnyRankedTensor, AnyMemRef]>>:$inputs,
    Variadic<AnyTypeOf<[AnyRankedTensor, AnyMemRef]>>:$outputs,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$config,
    DenseI32ArrayAttr:$dtypes,
    UnitAttr:$reads_outputs,
    UnitAttr:$side_effects);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $callee (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    (`outs` `(` $outputs^ `:` type($outputs) `)`)? attr-dict
    (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputsMutable();
    }
    /// Whether the operands are tensors; false where there are none.
    bool onTensors() {
      return (*this)->getNumOperands() != 0 &&
             ::mlir::isa<::mlir::TensorType>((*this)->getOperand(0).getType());
    }
    /// The C symbol that the op calls.
    std::string getSymbol() { return ("lingon_kernel_" + getCallee()).str(); }
  }];
}

def Lingon_CallOp
    : Op<Lingon_Dialect, "call",
         [AttrSizedOperandSegments, DestinationStyleOpInterface,
          DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "call a function of the program, destination-passing";
  let description = [{
    Calls a function whose arguments are the buffers of `ins`, then those of
    `outs`. It reads the former and overwrites the latter, without having read
    them. Numbers may be among `ins`. On tensors every `outs` operand is tied to
    one result of its type; on memrefs there are no results.

    With the unit attribute `side_effects` the call is never removed, repeated
    or moved across another such call or kernel.

    ```mlir
    %r = lingon.call @layer ins(%x, %s : tensor<8xf32>, f32)
           outs(%e : tensor<8xf32>) -> tensor<8xf32>
    ```
  }];

  let arguments = (ins
    FlatSymbolRefAttr:$callee,
    Variadic<AnyType>:$inputs,
    Variadic<AnyTypeOf<[AnyRankedTensor, AnyMemRef]>>:$outputs,
    UnitAttr:$side_effects);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $callee (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    (`outs` `(` $outputs^ `:` type($outputs) `)`)? attr-dict
    (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputsMutable();
    }
  }];
}

def Lingon_BarrierOp : Op<Lingon_Dialect, "barrier"> {
  let summary = "tensors as they are, which no optimization looks through";
  let description = [{
    Returns its operands. What is computed from the results is not recognised as
    equal to what is computed from the operands, so that a computation can be
    repeated on purpose. It costs nothing: the results are the same buffers.

    ```mlir
    %r = lingon.barrier %x : tensor<8xf32> -> tensor<8xf32>
    ```
  }];

  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  // An effect that keeps equal barriers apart and lets unused ones be removed.
  let results = (outs Res<Variadic<AnyRankedTensor>, "", [MemAlloc]>:$results);
  let assemblyFormat = [{
    $operands attr-dict `:` type($operands) `->` type($results)
  }];
  let hasVerifier = 1;
}

#endif // LINGON_TD
