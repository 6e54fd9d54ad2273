//===- borrowed.h - working memory that calls take and give back ----------===//
#ifndef LINGON_RUNTIME_BORROWED_H
#define LINGON_RUNTIME_BORROWED_H

#include <Python.h>

#include <memory>
#include <vector>

namespace lingon {

/// A `T` for the time of a call, kept for its capacity: each thread has up to
/// `Most` that nobody uses. Calls nest, so each takes its own. It is cleared
/// when it is given back, with a pending Python error left as it is.
template <typename T, size_t Most> class Borrowed {
public:
  Borrowed() {
    if (idle.empty()) {
      object = std::make_unique<T>();
    } else {
      object = std::move(idle.back());
      idle.pop_back();
    }
  }
  ~Borrowed() {
    if (PyErr_Occurred()) {
      PyObject *type, *value, *trace;
      PyErr_Fetch(&type, &value, &trace);
      object->clear();
      PyErr_Restore(type, value, trace);
    } else {
      object->clear();
    }
    if (idle.size() < Most)
      idle.push_back(std::move(object));
  }
  Borrowed(const Borrowed &) = delete;
  Borrowed &operator=(const Borrowed &) = delete;
  T &operator*() { return *object; }

private:
  static thread_local std::vector<std::unique_ptr<T>> idle;
  std::unique_ptr<T> object;
};

template <typename T, size_t Most>
thread_local std::vector<std::unique_ptr<T>> Borrowed<T, Most>::idle;

} // namespace lingon

#endif // LINGON_RUNTIME_BORROWED_H
