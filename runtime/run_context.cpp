//===- run_context.cpp - what happens inside of one run of a program ------===//
#include "run_context.h"
#include "pool.h"
#include "threads.h"

#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace lingon {
namespace {

/// Precedes the memory that compiled code gets: a node of its run's list. The
/// list is circular, with the run's own node as head.
struct alignas(64) Tracked {
  Tracked *prev, *next;
  RunContext *run;
};

thread_local RunContext *threadRun = nullptr;
/// Where this thread continues after a failure.
thread_local jmp_buf *threadEscape = nullptr;

} // namespace

class RunContext {
public:
  explicit RunContext(const RunEnvironment &environment)
      : environment(environment) {
    blocks.prev = blocks.next = &blocks;
  }

  void add(Tracked *block) {
    std::lock_guard<std::mutex> guard(mutex);
    block->run = this;
    block->prev = &blocks;
    block->next = blocks.next;
    blocks.next->prev = block;
    blocks.next = block;
  }

  void remove(Tracked *block) {
    std::lock_guard<std::mutex> guard(mutex);
    block->prev->next = block->next;
    block->next->prev = block->prev;
  }

  /// Frees what compiled code left behind.
  void freeAll() {
    while (blocks.next != &blocks) {
      Tracked *block = blocks.next;
      remove(block);
      poolFree(block);
    }
  }

  void fail(RunError kind, const char *text) {
    std::lock_guard<std::mutex> guard(mutex);
    if (kind != RunError::Kernel)
      ended.store(true, std::memory_order_release);
    if (result.error != RunError::None)
      return; // the first failure is the one to report
    result.error = kind;
    snprintf(result.message, sizeof(result.message), "%s", text);
  }

  /// False if the run has failed before.
  bool fail(_object *exception) {
    std::lock_guard<std::mutex> guard(mutex);
    ended.store(true, std::memory_order_release);
    if (result.error != RunError::None)
      return false;
    result.error = RunError::Callback;
    result.exception = exception;
    return true;
  }

  const RunEnvironment environment;
  RunResult result = {};
  /// Whether to leave compiled code as soon as possible.
  std::atomic<bool> ended{false};

private:
  std::mutex mutex;
  Tracked blocks = {};
};

RunContext *currentRun() { return threadRun; }

void runGuarded(RunContext *run, void (*fn)(void *), void *argument) {
  RunContext *outerRun = threadRun;
  jmp_buf *outerEscape = threadEscape;
  jmp_buf escape;
  threadRun = run;
  threadEscape = &escape;
  if (_setjmp(escape) == 0)
    fn(argument);
  threadRun = outerRun;
  threadEscape = outerEscape;
}

void rethrowFailure(RunContext *run) {
  if (run->ended.load(std::memory_order_acquire) && threadEscape)
    _longjmp(*threadEscape, 1);
}

const RunEnvironment &environmentOf(RunContext *run) {
  return run->environment;
}

void failWithException(RunContext *run, _object *exception, _object *&unused) {
  unused = run->fail(exception) ? nullptr : exception;
}

void failRun(RunContext *run, RunError kind, const char *message) {
  if (run)
    run->fail(kind, message);
  else
    fprintf(stderr, "lingon: %s\n", message);
}

void leaveRun() {
  if (!threadEscape) {
    fprintf(stderr, "lingon: a failure outside of a program\n");
    abort();
  }
  _longjmp(*threadEscape, 1);
}

void runProgram(void (*fn)(void *), void *argument, RunResult &result,
                const RunEnvironment &environment) {
  RunContext run(environment);
  runGuarded(&run, fn, argument);
  if (run.ended.load(std::memory_order_acquire))
    run.freeAll();
  result = run.result;
}

} // namespace lingon

//===----------------------------------------------------------------------===//
// The C ABI for compiled code and kernels
//===----------------------------------------------------------------------===//

using namespace lingon;

extern "C" {

void *lingon_rt_alloc(size_t size);
void lingon_rt_free(void *ptr);
void lingon_rt_parallel_for(RangeFunction fn, void *context, int64_t n,
                            int64_t grain);
int64_t lingon_rt_num_threads();
void lingon_rt_set_error(const char *message);

/// Never returns null: inside of a program it leaves the program; elsewhere
/// there is nobody to tell.
void *lingon_rt_alloc(size_t size) {
  auto *block = size > SIZE_MAX - sizeof(Tracked)
                    ? nullptr
                    : static_cast<Tracked *>(poolAlloc(size + sizeof(Tracked)));
  if (!block) {
    char text[96];
    snprintf(text, sizeof(text),
             "out of memory allocating %zu bytes for a temporary", size);
    if (!threadRun || !threadEscape) {
      fprintf(stderr, "lingon: %s outside of a program\n", text);
      abort();
    }
    threadRun->fail(RunError::OutOfMemory, text);
    _longjmp(*threadEscape, 1);
  }
  if (threadRun)
    threadRun->add(block);
  else
    block->run = nullptr;
  return block + 1;
}

void lingon_rt_free(void *ptr) {
  if (!ptr)
    return;
  auto *block = static_cast<Tracked *>(ptr) - 1;
  if (block->run)
    block->run->remove(block);
  poolFree(block);
}

void lingon_rt_parallel_for(RangeFunction fn, void *context, int64_t n,
                            int64_t grain) {
  parallelFor(fn, context, n, grain);
}

int64_t lingon_rt_num_threads() { return numThreads(); }

/// For kernels: makes the run of the program raise when it has ended.
void lingon_rt_set_error(const char *message) {
  if (threadRun)
    threadRun->fail(RunError::Kernel, message);
  else
    fprintf(stderr, "lingon: %s\n", message);
}

} // extern "C"
