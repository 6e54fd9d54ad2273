//===- run_context.h - what happens inside of one run of a program --------===//
//
// Compiled code cannot handle a failed allocation, nor an exception of a Python
// function that it calls. While it runs, its allocations are recorded here;
// when something fails, control leaves compiled code by longjmp to the nearest
// runGuarded, the recorded blocks are freed, and the caller of the program
// raises.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_RUN_CONTEXT_H
#define LINGON_RUNTIME_RUN_CONTEXT_H

#include <cstddef>
#include <cstdint>
#include <vector>

struct _object;

namespace lingon {

class RunContext;

enum class RunError : int {
  None = 0,
  OutOfMemory = 1,
  /// Reported by a kernel through lingon_rt_set_error.
  Kernel = 2,
  /// A Python function that the program called has raised.
  Callback = 3,
  /// Other devices that the program waited for have failed.
  Abandoned = 4,
  /// The devices of a program wait in different collectives.
  Mismatch = 5,
};

/// What the code of a program may ask for while it runs.
struct RunEnvironment {
  /// The program's Python functions, by the numbers that its code has for them.
  const std::vector<_object *> *callbacks = nullptr;
  int32_t deviceId = 0;
};

/// The outcome of a run, filled by runProgram.
struct RunResult {
  RunError error;
  char message[256];
  /// With RunError::Callback: the exception, an owned reference.
  _object *exception;
};

/// Calls fn(argument), compiled code, in a new run. Needs no GIL; any number of
/// threads may be in runs at once.
void runProgram(void (*fn)(void *), void *argument, RunResult &result,
                const RunEnvironment &environment = {});

/// The run that this thread is in, or null.
RunContext *currentRun();
/// Calls fn(argument) as a part of `run` on this thread. A failed allocation
/// inside returns from here, with the failure noted in the run.
void runGuarded(RunContext *run, void (*fn)(void *), void *argument);
/// Leaves to the next runGuarded outwards if the run has to end early.
void rethrowFailure(RunContext *run);
const RunEnvironment &environmentOf(RunContext *run);
/// Ends the run that this thread is in with a Python exception, of which it
/// takes over the reference; one of a later failure is returned to the caller
/// through `unused`, who gives it up before leaveRun. Needs the GIL.
void failWithException(RunContext *run, _object *exception, _object *&unused);
/// Notes a failure of the run, which is left soon, but for a kernel's.
void failRun(RunContext *run, RunError kind, const char *message);
/// Leaves compiled code after a failure. Must be called without the GIL.
[[noreturn]] void leaveRun();

} // namespace lingon

#endif // LINGON_RUNTIME_RUN_CONTEXT_H
