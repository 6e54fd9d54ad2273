//===- plan.h - a program that is a list of calls of C functions ----------===//
//
// Small programs are not worth the time that compiling them takes. A plan runs
// one as a list of steps over strided pieces of memory: inner loops of ufuncs,
// which NumPy and SciPy have for every elementwise function, loops of our own
// (plan_loops.cpp), functions that move elements (plan_moves.cpp), library
// kernels, and Python functions for what is left. Shapes, strides and the
// places of all temporaries are known when the plan is made.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_PLAN_H
#define LINGON_RUNTIME_PLAN_H

#include "executable.h"
#include "kernels/abi.h"

namespace lingon {

/// What NumPy calls a generic ufunc loop: `dims[0]` elements, operand i
/// advances by `steps[i]` bytes.
using LoopFunction = void (*)(char **args, const intptr_t *dims,
                              const intptr_t *steps, void *data);
/// A function that gets the addresses of its operands and integers of its own.
using MoveFunction = void (*)(char **operands, const int64_t *config);
using KernelFunction = void (*)(const LingonBuffer *, int64_t, const int64_t *,
                                int64_t);

/// Makes a loop or a function of C known to plans under a name.
struct PlanLoop {
  PlanLoop(const char *name, LoopFunction function);
};
struct PlanMove {
  PlanMove(const char *name, MoveFunction function);
};

/// One piece of a numbered buffer.
struct PlanOperand {
  uint32_t buffer;
  int64_t offset; ///< bytes
};

struct PlanStep {
  enum class Kind : uint8_t { Loop, Move, Kernel, Program, Python };
  Kind kind;
  std::vector<PlanOperand> operands; ///< inputs, then outputs
  LoopFunction loop = nullptr;
  void *data = nullptr;
  /// Loops: extents from the outermost to the innermost, and the strides of all
  /// operands in each of them, in bytes. Several loops write the same place
  /// where an output's strides are 0: a reduction.
  std::vector<intptr_t> extents, strides;
  MoveFunction move = nullptr;
  KernelFunction kernel = nullptr;
  std::vector<int64_t> config;
  std::vector<LingonBuffer> buffers; ///< kernels: all but the addresses
  std::vector<int64_t> shapes;       ///< what they point to
  PyObject *function = nullptr;      ///< Python, Program: what is called; owned
  const Executable *program = nullptr;
  std::vector<Aval *> avals;                ///< Python: owned, of all operands
  std::vector<std::vector<intptr_t>> views; ///< Python: strides of operands
  size_t numInputs = 0;
};

/// Where a result comes from.
struct PlanResult {
  enum class Kind : uint8_t {
    Made,   ///< a buffer of its own, that steps fill
    Shared, ///< all of an input's or constant's memory, with another aval
    Same,   ///< an input itself
  };
  Kind kind;
  uint32_t buffer; ///< Shared: of a constant or input; Same: of an input
};

/// Buffers are numbered: constants, inputs, results that are made, and then one
/// block of scratch memory.
class Plan : public Executable {
public:
  ~Plan() override;
  bool run(PyObject *const *args, size_t numArgs, PyObject **outs,
           int32_t deviceId) override;
  /// The same without checks: `inputs` are the addresses of the inputs'
  /// elements, `objects` the arrays that they are of, or null.
  bool runOn(void *const *inputs, ArrayObject *const *objects, PyObject **outs,
             int32_t deviceId);

  std::vector<PlanStep> steps;
  std::vector<PlanResult> results;
  size_t numMade = 0;
  bool hasPython = false; ///< steps that may let other threads run

private:
  bool runSteps(char **buffers);
};

} // namespace lingon

#endif // LINGON_RUNTIME_PLAN_H
