//===- workers.cpp - the threads that run programs of several devices -----===//
#include "workers.h"
#include "module.h"
#include "threads.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <new>
#include <pthread.h>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nb = nanobind;

namespace lingon {
namespace {

/// How long a thread looks for work, or for the end of it, before it sleeps.
constexpr int spinCount = 400;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// What takes less is not worth waking up a thread for.
constexpr std::chrono::microseconds cheapTime(10);

int coreCount() {
  static const int cores = availableCores();
  return std::min(cores, numThreads());
}

/// Threads that each of `count` devices gets for its parallel loops.
int threadShareOf(size_t count) {
  return std::max<int>(1, coreCount() / int(count));
}

/// One call of runOnDevices; lives on its caller's stack.
struct Launch {
  DeviceFunction fn;
  void *context;
  int share;
  std::atomic<size_t> remaining;
  std::mutex mutex;
  std::condition_variable done;

  void runOne(size_t index) const {
    setThreadShare(share);
    fn(context, index);
    setThreadShare(0);
  }

  void finishOne() {
    if (remaining.fetch_sub(1, std::memory_order_acq_rel) != 1)
      return;
    // Under the mutex, so that the launch outlives the notification.
    std::lock_guard<std::mutex> guard(mutex);
    finished = true;
    done.notify_all();
  }

  void wait(int spins) {
    for (int i = 0; i < spins; ++i) {
      if (remaining.load(std::memory_order_acquire) == 0)
        break;
      relax();
    }
    std::unique_lock<std::mutex> lock(mutex);
    done.wait(lock, [&] { return finished; });
  }

  bool finished = false;
};

struct Task {
  Launch *launch;
  size_t index;
  Task *next;
};

/// All fields but `signal` change under the mutex of the workers.
struct Worker {
  std::condition_variable wake;
  Task *first = nullptr, *last = nullptr;
  bool busy = false; ///< a task of the device is running
  bool sleeping = false;
  bool started = false;
  std::atomic<uint64_t> signal{0};
};

/// Whether this thread runs a device's part of a launch.
thread_local bool insideLaunch = false;

class Workers {
public:
  bool run(const int32_t *devices, size_t count, DeviceFunction fn,
           void *context) {
    int cores = coreCount();
    Launch launch;
    launch.fn = fn;
    launch.context = context;
    launch.share = threadShareOf(count);
    std::unique_ptr<Task[]> tasks(new (std::nothrow) Task[count]);
    if (!tasks)
      return false;
    // A launch from inside of another must not wait for the devices that are
    // in the middle of it: it gets threads of its own.
    if (insideLaunch)
      return runOnFreshThreads(launch, tasks.get(), count);
    int spins = int(count) <= cores ? spinCount : 0;
    size_t claimed = count;
    std::vector<std::condition_variable *> sleepers;
    {
      std::lock_guard<std::mutex> guard(mutex);
      spinLimit.store(spins, std::memory_order_relaxed);
      for (size_t i = 0; i < count; ++i)
        if (!ensureWorker(devices[i]))
          return false;
      for (size_t i = 0; i < count; ++i) {
        Worker &worker = *workers[size_t(devices[i])];
        // The caller stands in for one idle worker: one thread less to wake.
        if (claimed == count && !worker.busy && !worker.first) {
          worker.busy = true;
          claimed = i;
        }
      }
      launch.remaining.store(count, std::memory_order_relaxed);
      for (size_t i = 0; i < count; ++i) {
        if (i == claimed)
          continue;
        Worker &worker = *workers[size_t(devices[i])];
        tasks[i] = {&launch, i, nullptr};
        (worker.last ? worker.last->next : worker.first) = &tasks[i];
        worker.last = &tasks[i];
        worker.signal.fetch_add(1, std::memory_order_release);
        if (worker.sleeping)
          sleepers.push_back(&worker.wake);
      }
    }
    for (std::condition_variable *sleeper : sleepers)
      sleeper->notify_one();
    if (claimed < count) {
      insideLaunch = true;
      launch.runOne(claimed);
      insideLaunch = false;
      {
        std::lock_guard<std::mutex> guard(mutex);
        Worker &worker = *workers[size_t(devices[claimed])];
        worker.busy = false;
        if (worker.first) {
          worker.signal.fetch_add(1, std::memory_order_release);
          worker.wake.notify_one();
        }
      }
      launch.finishOne();
    }
    launch.wait(spins);
    return true;
  }

  std::mutex mutex;

private:
  /// Under the mutex.
  bool ensureWorker(int32_t device) {
    while (workers.size() <= size_t(device))
      workers.push_back(std::make_unique<Worker>());
    Worker &worker = *workers[size_t(device)];
    if (!worker.started)
      worker.started = startThread(
          [](void *argument) -> void * {
            static_cast<Start *>(argument)->pool->loop(
                *static_cast<Start *>(argument)->worker);
            return nullptr;
          },
          new (std::nothrow) Start{this, &worker});
    return worker.started;
  }

  struct Start {
    Workers *pool;
    Worker *worker;
  };

  /// Starts a detached thread that gets no signals; false for a null argument.
  static bool startThread(void *(*fn)(void *), Start *argument) {
    if (!argument)
      return false;
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, size_t(8) << 20);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(&thread, &attributes, fn, argument);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    pthread_attr_destroy(&attributes);
    if (failed)
      delete argument;
    return !failed;
  }

  static bool runOnFreshThreads(Launch &launch, Task *tasks, size_t count) {
    std::vector<pthread_t> threads(count);
    launch.remaining.store(count);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, size_t(8) << 20);
    // Those that exist wait here until it is known that all do.
    struct Gate {
      std::mutex mutex;
      std::condition_variable open;
      int state = 0; ///< 1: go, -1: give up
    } gate;
    struct Argument {
      Task task;
      Gate *gate;
    };
    std::vector<Argument> arguments(count);
    size_t started = 0;
    for (; started < count; ++started) {
      tasks[started] = {&launch, started, nullptr};
      arguments[started] = {tasks[started], &gate};
      if (pthread_create(
              &threads[started], &attributes,
              [](void *raw) -> void * {
                auto *argument = static_cast<Argument *>(raw);
                {
                  std::unique_lock<std::mutex> lock(argument->gate->mutex);
                  argument->gate->open.wait(
                      lock, [&] { return argument->gate->state != 0; });
                  if (argument->gate->state < 0)
                    return nullptr;
                }
                insideLaunch = true;
                argument->task.launch->runOne(argument->task.index);
                return nullptr;
              },
              &arguments[started]))
        break;
    }
    pthread_attr_destroy(&attributes);
    {
      std::lock_guard<std::mutex> guard(gate.mutex);
      gate.state = started == count ? 1 : -1;
      gate.open.notify_all();
    }
    for (size_t i = 0; i < started; ++i)
      pthread_join(threads[i], nullptr);
    return started == count;
  }

  void loop(Worker &worker) {
    insideLaunch = true;
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      if (worker.first && !worker.busy) {
        Task task = *worker.first;
        worker.first = task.next;
        if (!worker.first)
          worker.last = nullptr;
        worker.busy = true;
        lock.unlock();
        task.launch->runOne(task.index);
        // The device is free before the caller of the launch can go on.
        lock.lock();
        worker.busy = false;
        lock.unlock();
        task.launch->finishOne();
        lock.lock();
        continue;
      }
      uint64_t seen = worker.signal.load(std::memory_order_relaxed);
      int spins = spinLimit.load(std::memory_order_relaxed);
      lock.unlock();
      for (int i = 0; i < spins; ++i) {
        if (worker.signal.load(std::memory_order_acquire) != seen)
          break;
        relax();
      }
      lock.lock();
      if (worker.signal.load(std::memory_order_relaxed) == seen) {
        worker.sleeping = true;
        worker.wake.wait(lock);
        worker.sleeping = false;
      }
    }
  }

  std::vector<std::unique_ptr<Worker>> workers; ///< by the device's number
  std::atomic<int> spinLimit{0};
};

alignas(Workers) char storage[sizeof(Workers)];

/// Never destroyed: workers run until the process ends.
Workers &allWorkers() {
  static Workers *instance = [] {
    auto *made = new (storage) Workers();
    // Threads do not exist in a forked child: begin anew there.
    pthread_atfork([] { reinterpret_cast<Workers *>(storage)->mutex.lock(); },
                   [] { reinterpret_cast<Workers *>(storage)->mutex.unlock(); },
                   [] {
                     new (storage) Workers();
                     insideLaunch = false;
                   });
    return made;
  }();
  return *instance;
}

ModuleInit registerWorkers([](nb::module_ &) {
  allWorkers(); // installs the fork handlers
});

} // namespace

bool runOnDevices(const int32_t *devices, size_t count, DeviceFunction fn,
                  void *context, bool independent) {
  struct Rest {
    DeviceFunction fn;
    void *context;
    size_t begin;
  } rest{fn, context, 0};
  if (independent) {
    // With one thread each, whoever else computes at the moment.
    int share = threadShareOf(count);
    bool cheap = true;
    while (rest.begin < count && cheap) {
      auto start = std::chrono::steady_clock::now();
      setThreadShare(share);
      fn(context, rest.begin++);
      setThreadShare(0);
      cheap = std::chrono::steady_clock::now() - start < cheapTime;
    }
    if (rest.begin == count)
      return true;
  }
  return allWorkers().run(
      devices + rest.begin, count - rest.begin,
      [](void *raw, size_t index) {
        auto *rest = static_cast<Rest *>(raw);
        rest->fn(rest->context, rest->begin + index);
      },
      &rest);
}

} // namespace lingon
