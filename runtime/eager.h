//===- eager.h - calls of the library outside of any transformation -------===//
//
// A library function is an EagerFunction object. A call whose arguments are
// arrays, numbers and values that can be compared without running Python code
// has a key. The first calls of a key run the Python function; then Python is
// asked for a program that computes the same from the arrays (a Plan, or a
// compiled program), which serves all further calls. A call without a key, or
// while the thread traces, is a call of the Python function.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_EAGER_H
#define LINGON_RUNTIME_EAGER_H

#include "leaves.h"
#include "plan.h"
#include "pytree.h"

#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace lingon {
namespace eager {

constexpr size_t maxLeaves = 32;
/// A call that names, or has an argument of, more elements than this asks for a
/// program at once: it will be a compiled one.
constexpr int64_t largeSize = 1 << 14;

struct Leaf {
  PyObject
      *object; ///< borrowed from the call; of a typed key: its words, owned
  LeafKind kind;
  Aval *aval; ///< owned unless it is an array's
  bool ownsObject;
};

/// The key of one call. Words that stand for objects are their addresses, which
/// an entry keeps alive.
struct Key {
  std::vector<uint64_t> words;
  std::vector<Leaf> leaves;
  std::vector<PyObject *> objects; ///< borrowed
  std::vector<PyObject *> owned;   ///< some of them
  uint64_t hash = 0;
  int32_t deviceId = 0;
  bool haveDevice = false, committed = false, large = false;

  void clear() {
    words.clear();
    objects.clear();
    for (Leaf &leaf : leaves) {
      if (leaf.kind != LeafKind::Array)
        leaf.aval->release();
      if (leaf.ownsObject)
        Py_DECREF(leaf.object);
    }
    leaves.clear();
    for (PyObject *object : owned)
      Py_DECREF(object);
    owned.clear();
    haveDevice = committed = large = false;
  }
};

enum class Outcome { Known, Unknown, Failed };

struct Entry {
  enum class State { Seen, Plain, Ready };
  State state = State::Seen;
  uint32_t seen = 0;
  std::vector<uint64_t> words;
  std::vector<PyObject *> objects; ///< owned
  std::vector<Aval *> avals;       ///< owned
  PyObject *programObject = nullptr;
  Executable *program = nullptr;
  Plan *plan = nullptr; ///< the program, if it is a plan
  PyObject *outTreeObject = nullptr;
  const pytree::PyTreeDef *outTree = nullptr;
  PyObject *wrappers = nullptr; ///< None, or for each result a function or None
  std::vector<uint32_t> kept;   ///< leaves that are inputs
  int64_t refs = 1;

  void retain() { ++refs; }
  void release() {
    if (--refs)
      return;
    for (PyObject *object : objects)
      Py_DECREF(object);
    for (Aval *aval : avals)
      aval->release();
    Py_XDECREF(programObject);
    Py_XDECREF(outTreeObject);
    Py_XDECREF(wrappers);
    delete this;
  }
};

/// Python numbers that are operands of a function.
enum class Numbers : uint8_t { None, All, Floats };

struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *dict;
  PyObject *weakrefs;
  PyObject *fun;
  PyObject *miss; ///< (args, kwargs, operands, large)
  Numbers numbers;
  bool sizes; ///< integers may be sizes of results
  std::unordered_multimap<uint64_t, Entry *> *entries;
};

inline FunctionObject *asFunction(PyObject *object) {
  return reinterpret_cast<FunctionObject *>(object);
}

/// Finds out the key of a call.
Outcome makeKey(FunctionObject *self, Key &key, PyObject *const *args,
                size_t numArgs, PyObject *kwnames);
/// Forgets all calls of a function.
void clearEntries(FunctionObject *self);
/// The vectorcall function of the type.
PyObject *call(PyObject *object, PyObject *const *args, size_t nargsf,
               PyObject *kwnames);

} // namespace eager
} // namespace lingon

#endif // LINGON_RUNTIME_EAGER_H
