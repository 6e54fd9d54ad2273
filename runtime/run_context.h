//===- run_context.h - what happens inside of one run of a program --------===//
//
// Compiled code cannot handle a failed allocation. While it runs, its
// allocations are recorded here; when one fails, control leaves compiled code
// by longjmp to the nearest runGuarded, the recorded blocks are freed, and the
// caller of the program raises.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_RUN_CONTEXT_H
#define LINGON_RUNTIME_RUN_CONTEXT_H

#include <cstddef>

namespace lingon {

class RunContext;

enum class RunError : int {
  None = 0,
  OutOfMemory = 1,
  /// Reported by a kernel through lingon_rt_set_error.
  Kernel = 2,
};

/// The outcome of a run, filled by runProgram.
struct RunResult {
  RunError error;
  char message[256];
};

/// Calls fn(argument), compiled code, in a new run. Needs no GIL; any number of
/// threads may be in runs at once.
void runProgram(void (*fn)(void *), void *argument, RunResult &result);

/// The run that this thread is in, or null.
RunContext *currentRun();
/// Calls fn(argument) as a part of `run` on this thread. A failed allocation
/// inside returns from here, with the failure noted in the run.
void runGuarded(RunContext *run, void (*fn)(void *), void *argument);
/// Leaves to the next runGuarded outwards if the run has run out of memory.
void rethrowFailure(RunContext *run);

} // namespace lingon

#endif // LINGON_RUNTIME_RUN_CONTEXT_H
