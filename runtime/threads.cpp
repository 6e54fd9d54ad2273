//===- threads.cpp - the pool of worker threads ---------------------------===//
#include "threads.h"
#include "module.h"
#include "pool.h"
#include "run_context.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>

#include <csignal>
#include <pthread.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nb = nanobind;

namespace lingon {
namespace {

/// How long a thread looks for work, or for the end of it, before it sleeps.
constexpr int spinCount = 2000;
/// The least of it. A worker that was interrupted while it looked, so that the
/// work was gone, looks for a shorter time: on a busy machine threads that
/// sleep get a core sooner than those that spin.
constexpr int leastSpin = 20;
/// A sleep that was as short as this had better been a longer look.
constexpr auto shortSleep = std::chrono::microseconds(60);
/// More chunks than threads, so that a thread that was held up delays little.
constexpr int64_t chunksPerThread = 4;
constexpr int maxThreads = 1024;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// One parallelFor; lives on the stack of its caller.
struct Job {
  RangeFunction fn;
  void *context;
  int64_t n, chunk;
  RunContext *run;
  /// How many workers may be inside.
  int limit;
  std::atomic<int64_t> next{0};
  /// Workers inside of the job; changed under the pool's mutex.
  std::atomic<int> attached{0};
  Job *nextJob = nullptr;

  bool hasWork() const {
    return next.load(std::memory_order_relaxed) < n &&
           attached.load(std::memory_order_relaxed) < limit;
  }

  void work() {
    for (;;) {
      int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= n)
        return;
      fn(context, begin, std::min(n, begin + chunk));
    }
  }
};

/// Set while this thread runs a part of a job: nested loops stay on it.
thread_local bool insideJob = false;
/// See setThreadShare.
thread_local int threadShare = 0;

class ThreadPool {
public:
  explicit ThreadPool(int count) : target(count) {}

  void run(RangeFunction fn, void *context, int64_t n, int64_t grain) {
    int threads = target.load(std::memory_order_relaxed);
    if (threadShare && threadShare < threads)
      threads = threadShare;
    grain = std::max<int64_t>(grain, 1);
    if (n <= grain || threads == 1 || insideJob) {
      if (n > 0)
        fn(context, 0, n);
      return;
    }
    int64_t parts = int64_t(threads) * chunksPerThread;
    Job job;
    job.fn = fn;
    job.context = context;
    job.n = n;
    job.chunk = std::max(grain, (n + parts - 1) / parts);
    job.run = currentRun();
    job.limit = threads - 1;
    publish(job, target.load(std::memory_order_relaxed));
    insideJob = true;
    runTracked(job);
    insideJob = false;
    withdraw(job);
    if (job.run)
      rethrowFailure(job.run);
  }

  void setCount(int count) {
    std::lock_guard<std::mutex> guard(mutex);
    target.store(count, std::memory_order_relaxed);
    epoch.fetch_add(1, std::memory_order_relaxed);
    wake.notify_all(); // those above the count end
  }

  int count() const { return target.load(std::memory_order_relaxed); }

  std::mutex mutex;

private:
  /// Runs a share of the job such that running out of memory in compiled code
  /// leaves only this share.
  static void runTracked(Job &job) {
    if (job.run)
      runGuarded(
          job.run, [](void *job) { static_cast<Job *>(job)->work(); }, &job);
    else
      job.work();
  }

  void publish(Job &job, int threads) {
    std::lock_guard<std::mutex> guard(mutex);
    while (started < threads - 1 && startWorker(started))
      ++started;
    job.nextJob = jobs;
    jobs = &job;
    epoch.fetch_add(1, std::memory_order_release);
    if (sleeping > 0)
      wake.notify_all();
  }

  void withdraw(Job &job) {
    std::unique_lock<std::mutex> lock(mutex);
    Job **link = &jobs;
    while (*link != &job)
      link = &(*link)->nextJob;
    *link = job.nextJob;
    if (job.attached.load(std::memory_order_relaxed) == 0)
      return;
    lock.unlock();
    for (int i = 0; i < spinCount; ++i) {
      if (job.attached.load(std::memory_order_acquire) == 0)
        break;
      relax();
    }
    // Also when the spin saw zero: the worker that wrote it may still be about
    // to notify, and `job` must outlive that.
    lock.lock();
    done.wait(lock, [&] {
      return job.attached.load(std::memory_order_relaxed) == 0;
    });
  }

  bool startWorker(int index) {
    struct Start {
      ThreadPool *pool;
      int index;
    };
    auto *start = new (std::nothrow) Start{this, index};
    if (!start)
      return false;
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, size_t(8) << 20);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    // Signals are for the interpreter's threads.
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(
        &thread, &attributes,
        [](void *argument) -> void * {
          Start start = *static_cast<Start *>(argument);
          delete static_cast<Start *>(argument);
          start.pool->workerLoop(start.index);
          return nullptr;
        },
        start);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    pthread_attr_destroy(&attributes);
    if (failed)
      delete start; // the loop runs with the threads there are
    return !failed;
  }

  Job *findJob() {
    for (Job *job = jobs; job; job = job->nextJob)
      if (job->hasWork())
        return job;
    return nullptr;
  }

  void workerLoop(int index) {
    insideJob = true;
    std::unique_lock<std::mutex> lock(mutex);
    int spin = spinCount;
    bool looked = false;
    for (;;) {
      // The last worker ends first, so that those below it keep their indices.
      if (index >= target.load(std::memory_order_relaxed) - 1 &&
          index == started - 1) {
        --started;
        wake.notify_all();
        return;
      }
      if (index < target.load(std::memory_order_relaxed) - 1) {
        Job *job = findJob();
        if (looked)
          spin = job ? std::min(2 * spin, spinCount)
                     : std::max(spin / 4, leastSpin);
        looked = false;
        if (job) {
          job->attached.fetch_add(1, std::memory_order_relaxed);
          lock.unlock();
          runTracked(*job);
          lock.lock();
          if (job->attached.fetch_sub(1, std::memory_order_release) == 1)
            done.notify_all();
          continue;
        }
      }
      uint64_t seen = epoch.load(std::memory_order_relaxed);
      lock.unlock();
      bool changed = false;
      for (int i = 0; i < spin && !changed; ++i) {
        relax();
        changed = epoch.load(std::memory_order_acquire) != seen;
      }
      lock.lock();
      looked = changed;
      if (epoch.load(std::memory_order_relaxed) == seen) {
        auto start = std::chrono::steady_clock::now();
        ++sleeping;
        wake.wait(lock);
        --sleeping;
        if (std::chrono::steady_clock::now() - start < shortSleep)
          spin = std::min(2 * spin, spinCount);
      }
    }
  }

  std::condition_variable wake, done;
  Job *jobs = nullptr;
  std::atomic<uint64_t> epoch{0};
  std::atomic<int> target;
  int started = 0;
  int sleeping = 0;
};

int initialThreads() {
  if (const char *text = getenv("LINGON_NUM_THREADS")) {
    char *end;
    long count = strtol(text, &end, 10);
    if (end != text && *end == '\0' && count >= 1 && count <= maxThreads)
      return int(count);
    fprintf(stderr,
            "lingon: LINGON_NUM_THREADS=%s is not a number from 1 to %d; using "
            "one thread per core\n",
            text, maxThreads);
  }
  return availableCores();
}

alignas(ThreadPool) char poolStorage[sizeof(ThreadPool)];

/// Never destroyed: workers may run until the process ends.
ThreadPool &threadPool() {
  static ThreadPool *instance = [] {
    auto *pool = new (poolStorage) ThreadPool(initialThreads());
    // Workers do not exist in a forked child: begin anew there.
    pthread_atfork(
        [] {
          reinterpret_cast<ThreadPool *>(poolStorage)->mutex.lock();
          poolBeforeFork();
        },
        [] {
          poolAfterFork();
          reinterpret_cast<ThreadPool *>(poolStorage)->mutex.unlock();
        },
        [] {
          poolAfterFork();
          int count = reinterpret_cast<ThreadPool *>(poolStorage)->count();
          new (poolStorage) ThreadPool(count);
          insideJob = false;
        });
    return pool;
  }();
  return *instance;
}

} // namespace

void parallelFor(RangeFunction fn, void *context, int64_t n, int64_t grain) {
  threadPool().run(fn, context, n, grain);
}

void setThreadShare(int count) { threadShare = count; }

int numThreads() {
  int count = threadPool().count();
  return threadShare && threadShare < count ? threadShare : count;
}

void setNumThreads(int count) { threadPool().setCount(count); }

int availableCores() {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    cores = CPU_COUNT(&set);
  if (FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r")) {
    double quota, period;
    if (fscanf(file, "%lf %lf", &quota, &period) == 2 && period > 0)
      cores = std::min(cores, long((quota + period - 1) / period));
    fclose(file);
  }
#endif
  return int(std::min<long>(std::max<long>(cores, 1), maxThreads));
}

static ModuleInit registerThreads([](nb::module_ &m) {
  threadPool(); // installs the fork handlers
  m.def(
      "num_threads", [] { return threadPool().count(); },
      "Number of threads that a parallel loop uses, the caller included.");
  m.def(
      "set_num_threads",
      [](int count) {
        if (count < 1 || count > maxThreads)
          throw nb::value_error(
              "set_num_threads: count must be from 1 to 1024");
        setNumThreads(count);
      },
      nb::arg("count"), "Sets the number of threads of parallel loops.");
  m.def("available_cores", &availableCores, "Cores that this process may use.");
});

} // namespace lingon
