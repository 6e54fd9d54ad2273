//===- executable.h - a compiled program and how it is called -------------===//
//
// Entry ABI of compiled programs: void entry(void **pointers), where the
// pointers are those of the constants, the inputs and the outputs, in order,
// and last, if the program asked for any, of its scratch memory. Inputs are
// aligned to their element (constants and inputs may be borrowed), outputs and
// scratch memory to 64 bytes.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_EXECUTABLE_H
#define LINGON_RUNTIME_EXECUTABLE_H

#include "array.h"

#include <utility>
#include <vector>

namespace nanobind {
class handle;
} // namespace nanobind

namespace lingon {

using EntryFunction = void (*)(void **pointers);

/// Everything but `run` while the GIL is released happens with the GIL. Any
/// number of threads may run one executable at once.
class Executable {
public:
  Executable() = default;
  Executable(const Executable &) = delete;
  Executable &operator=(const Executable &) = delete;
  virtual ~Executable();

  /// Runs the program. `args` are `numInputs()` objects, borrowed; on success
  /// fills `outs` with `numOutputs()` new references. On failure returns false
  /// with a Python error set and `outs` untouched. Outputs are placed on
  /// `deviceId`, or on the device of the first input if it is negative.
  virtual bool run(PyObject *const *args, size_t numArgs, PyObject **outs,
                   int32_t deviceId = -1);

  /// Whether it runs on several devices, which its arguments are brought to.
  virtual bool onDevices() const { return false; }

  size_t numInputs() const { return inAvals.size(); }
  size_t numOutputs() const { return outAvals.size(); }

  EntryFunction entry = nullptr;
  std::vector<Aval *> inAvals, outAvals; ///< owned references
  std::vector<PyObject *> consts;        ///< owned references to arrays
  std::vector<Buffer *> constBuffers;    ///< owned references
  std::vector<void *> constPointers;
  size_t scratchBytes = 0;
  /// Inputs that are deleted by the call.
  std::vector<uint32_t> donated;
  /// (input, output): the code finds the input's contents in the output's
  /// buffer and never looks at the input's. Where nobody else can see it that
  /// is the donated input's buffer itself, else a copy of it.
  std::vector<std::pair<uint32_t, uint32_t>> aliases;
  /// Donated inputs without such an output that the code writes to. It gets
  /// the buffer itself where nobody else can see it, else a copy.
  std::vector<uint32_t> overwritten;
  /// Python functions that the code calls by their position here: owned
  /// references. The code itself knows no addresses of Python objects.
  std::vector<PyObject *> callbacks;
  PyObject *keepalive = nullptr; ///< what owns the code
};

/// Appends the avals of Python objects, owned; throws nanobind's python_error.
void appendAvals(nanobind::handle sequence, std::vector<Aval *> &avals);

} // namespace lingon

#endif // LINGON_RUNTIME_EXECUTABLE_H
