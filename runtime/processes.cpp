//===- processes.cpp - collectives between processes ----------------------===//
#include "processes.h"
#include "array.h"
#include "module.h"
#include "run_context.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstring>

namespace nb = nanobind;

namespace lingon {
namespace {

PyObject *transport = nullptr; ///< owned, or null

/// Results of up to this size are computed by every process from all partial
/// ones; of larger ones each process computes a piece for all.
constexpr int64_t smallResult = 1 << 15;

/// What goes to and comes from one process.
struct Peer {
  int32_t process;
  PyObject *send; ///< owned, or null
  char *receive;
  int64_t receiveBytes;
};

/// Messages of one step. Needs the GIL.
class Messages {
public:
  ~Messages() {
    for (Peer &peer : peers)
      Py_XDECREF(peer.send);
  }

  /// Memory to send, which lives until it has been sent; a new reference.
  static PyObject *block(int64_t bytes) {
    Aval *aval = internAval(DType::UInt8, false, &bytes, 1);
    return aval ? newArray(aval, 0) : nullptr;
  }

  /// Takes over the reference to `send`, which may be null, as may `receive`.
  void add(int32_t process, PyObject *send, char *receive,
           int64_t receiveBytes) {
    peers.push_back({process, send, receive, receive ? receiveBytes : 0});
  }

  bool exchange(const GroupExchange &e, int64_t substep) {
    if (!transport) {
      PyErr_SetString(PyExc_RuntimeError,
                      "a program runs on devices of several processes, which "
                      "are no longer connected");
      return false;
    }
    PyObject *list = PyTuple_New(Py_ssize_t(peers.size()));
    for (size_t i = 0; list && i < peers.size(); ++i) {
      PyObject *item = tuple(peers[i]);
      if (!item)
        Py_CLEAR(list);
      else
        PyTuple_SET_ITEM(list, Py_ssize_t(i), item);
    }
    if (!list)
      return false;
    // An atomic flag is one byte that Python may look at.
    static_assert(sizeof(*e.failed) == 1);
    PyObject *failed = PyMemoryView_FromMemory(
        reinterpret_cast<char *>(const_cast<std::atomic<bool> *>(e.failed)), 1,
        PyBUF_READ);
    PyObject *answer =
        failed
            ? PyObject_CallMethod(transport, "exchange", "L(LLLLL)OO",
                                  (long long)e.tag, (long long)e.places->mesh,
                                  (long long)e.places->run,
                                  (long long)e.places->program,
                                  (long long)(e.step * 4 + substep),
                                  (long long)e.site, failed, list)
            : nullptr;
    Py_XDECREF(failed);
    Py_DECREF(list);
    Py_XDECREF(answer);
    return answer != nullptr;
  }

private:
  static PyObject *tuple(const Peer &peer) {
    PyObject *receive = Py_None;
    if (peer.receive)
      receive = PyMemoryView_FromMemory(
          peer.receive, Py_ssize_t(peer.receiveBytes), PyBUF_WRITE);
    else
      Py_INCREF(receive);
    if (!receive)
      return nullptr;
    return Py_BuildValue("iON", int(peer.process),
                         peer.send ? peer.send : Py_None, receive);
  }

  std::vector<Peer> peers;
};

/// Takes the GIL for an exchange; notes the Python error that it ends with.
class Exchanging {
public:
  Exchanging() : state(PyGILState_Ensure()) {}
  ~Exchanging() { PyGILState_Release(state); }
  bool done(bool good) {
    if (good)
      return true;
    PyObject *type, *value, *trace, *unused;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace)
      PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    failWithException(currentRun(), value, unused);
    Py_XDECREF(unused);
    return false;
  }

private:
  PyGILState_STATE state;
};

bool outOfMemory(int64_t bytes) {
  PyErr_Format(PyExc_MemoryError,
               "out of memory allocating %lld bytes for a collective between "
               "processes",
               (long long)bytes);
  return false;
}

using Part = GroupExchange::Part;

const Part &ownPart(const GroupExchange &e) {
  return *std::find_if(e.parts->begin(), e.parts->end(), [&](const Part &part) {
    return part.process == e.places->self;
  });
}

/// The ranks of `from` whose operands members of `to` need.
std::vector<int64_t> wanted(const Part &from, const Part &to,
                            const int64_t *sources) {
  if (!sources)
    return from.ranks;
  std::vector<int64_t> result;
  for (int64_t rank : from.ranks)
    if (std::any_of(to.ranks.begin(), to.ranks.end(),
                    [&](int64_t other) { return sources[other] == rank; }))
      result.push_back(rank);
  return result;
}

bool gather(const GroupExchange &e, std::vector<LingonBuffer> &operands,
            int64_t bytes, const int64_t *sources, Staging &received) {
  const Part &own = ownPart(e);
  int64_t total = 0;
  for (const Part &part : *e.parts)
    if (&part != &own)
      total += int64_t(wanted(part, own, sources).size()) * bytes;
  char *to = received.reserve(size_t(std::max<int64_t>(total, 1)));
  if (!to)
    return outOfMemory(total);
  Messages messages;
  std::vector<int64_t> packed;
  PyObject *block = nullptr; // borrowed from the messages
  bool any = false;
  for (const Part &part : *e.parts) {
    if (&part == &own)
      continue;
    std::vector<int64_t> give = wanted(own, part, sources);
    std::vector<int64_t> take = wanted(part, own, sources);
    if (give.empty() || bytes == 0) {
      give.clear();
    } else if (block && give == packed) {
      Py_INCREF(block);
    } else {
      block = Messages::block(int64_t(give.size()) * bytes);
      if (!block)
        return false;
      packed = give;
      char *out = asArray(block)->data;
      for (int64_t rank : give) {
        memcpy(out, operands[size_t(rank)].data, size_t(bytes));
        out += bytes;
      }
    }
    int64_t size = int64_t(take.size()) * bytes;
    for (size_t i = 0; i < take.size(); ++i)
      operands[size_t(take[i])].data = to + int64_t(i) * bytes;
    if (give.empty() && size == 0)
      continue;
    any = true;
    messages.add(part.process, give.empty() ? nullptr : block,
                 size ? to : nullptr, size);
    to += size;
  }
  return !any || messages.exchange(e, 0);
}

bool combineAll(const GroupExchange &e,
                const std::vector<LingonBuffer> &operands, int64_t bytes,
                const LingonCombine &combine, Staging &scratch,
                Staging &result) {
  const Part &own = ownPart(e);
  size_t numParts = e.parts->size(), self = size_t(&own - e.parts->data());
  int64_t items = bytes / combine.itemBytes;
  char *to = result.reserve(size_t(std::max<int64_t>(bytes, 1)));
  if (!to)
    return outOfMemory(bytes);
  if (bytes == 0)
    return true;
  PyObject *partial = Messages::block(bytes);
  if (!partial)
    return false;
  struct Held {
    ~Held() { Py_DECREF(object); }
    PyObject *object;
  } held{partial};
  char *mine = asArray(partial)->data;
  std::vector<const void *> inputs;
  for (int64_t rank : own.ranks)
    inputs.push_back(operands[size_t(rank)].data);
  Py_BEGIN_ALLOW_THREADS;
  combine.fn(inputs.data(), int64_t(inputs.size()), items, mine);
  Py_END_ALLOW_THREADS;

  // Pieces of whole cache lines, one for each process; or all at once.
  bool whole = bytes <= smallResult || numParts == 2;
  int64_t line = std::max<int64_t>(64 / combine.itemBytes, 1);
  int64_t count = int64_t(numParts);
  int64_t piece =
      whole ? items : ((items + count - 1) / count + line - 1) / line * line;
  auto begin = [&](size_t part) {
    return whole ? 0 : std::min(items, int64_t(part) * piece);
  };
  auto size = [&](size_t part) {
    return whole ? items : std::min(items - begin(part), piece);
  };
  int64_t ownBytes = size(self) * combine.itemBytes;
  char *room =
      scratch.reserve(size_t(std::max<int64_t>(ownBytes * (count - 1), 1)));
  if (!room)
    return outOfMemory(ownBytes * (count - 1));
  inputs.assign(numParts, nullptr);
  inputs[self] = mine + begin(self) * combine.itemBytes;
  {
    Messages messages;
    for (size_t part = 0; part < numParts; ++part) {
      if (part == self)
        continue;
      int64_t sendBytes = size(part) * combine.itemBytes;
      PyObject *block = nullptr;
      if (whole) {
        block = partial;
        Py_INCREF(block);
      } else if (sendBytes) {
        block = Messages::block(sendBytes);
        if (!block)
          return false;
        memcpy(asArray(block)->data, mine + begin(part) * combine.itemBytes,
               size_t(sendBytes));
      }
      inputs[part] = room;
      messages.add((*e.parts)[part].process, block, ownBytes ? room : nullptr,
                   ownBytes);
      room += ownBytes;
    }
    if (!messages.exchange(e, 0))
      return false;
  }
  if (ownBytes) {
    Py_BEGIN_ALLOW_THREADS;
    combine.fn(inputs.data(), count, size(self),
               to + begin(self) * combine.itemBytes);
    Py_END_ALLOW_THREADS;
  }
  if (whole)
    return true;
  Messages messages;
  PyObject *block = ownBytes ? Messages::block(ownBytes) : nullptr;
  if (ownBytes && !block)
    return false;
  if (block)
    memcpy(asArray(block)->data, to + begin(self) * combine.itemBytes,
           size_t(ownBytes));
  for (size_t part = 0; part < numParts; ++part) {
    if (part == self)
      continue;
    int64_t bytesThere = size(part) * combine.itemBytes;
    Py_XINCREF(block);
    messages.add((*e.parts)[part].process, block,
                 bytesThere ? to + begin(part) * combine.itemBytes : nullptr,
                 bytesThere);
  }
  Py_XDECREF(block);
  return messages.exchange(e, 1);
}

} // namespace

Staging::~Staging() {
  if (buffer)
    buffer->release();
}

char *Staging::reserve(size_t bytes) {
  if (!buffer || buffer->bytes < bytes) {
    if (buffer)
      buffer->release();
    buffer = Buffer::allocate(bytes);
  }
  return buffer ? static_cast<char *>(buffer->data) : nullptr;
}

bool gatherOperands(const GroupExchange &exchange,
                    std::vector<LingonBuffer> &operands, int64_t bytes,
                    const int64_t *sources, Staging &received) {
  Exchanging gil;
  return gil.done(gather(exchange, operands, bytes, sources, received));
}

bool combineOperands(const GroupExchange &exchange,
                     const std::vector<LingonBuffer> &operands, int64_t bytes,
                     const LingonCombine &combine, Staging &scratch,
                     Staging &result) {
  Exchanging gil;
  return gil.done(
      combineAll(exchange, operands, bytes, combine, scratch, result));
}

void abortRun(const RunPlaces &places) {
  if (!transport)
    return;
  std::vector<int32_t> others(places.processes);
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  others.erase(std::remove(others.begin(), others.end(), places.self),
               others.end());
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject *list = PyTuple_New(Py_ssize_t(others.size()));
  for (size_t i = 0; list && i < others.size(); ++i) {
    PyObject *number = PyLong_FromLong(others[i]);
    if (!number)
      Py_CLEAR(list);
    else
      PyTuple_SET_ITEM(list, Py_ssize_t(i), number);
  }
  PyObject *answer =
      list ? PyObject_CallMethod(transport, "abort", "LLNO",
                                 (long long)places.mesh, (long long)places.run,
                                 list, value ? value : Py_None)
           : nullptr;
  if (!answer) {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return;
  }
  Py_DECREF(answer);
  PyErr_Restore(type, value, trace);
}

namespace {

ModuleInit registerProcesses([](nb::module_ &m) {
  m.def(
      "set_transport",
      [](nb::object object) {
        PyObject *old = transport;
        transport = object.is_none() ? nullptr : object.release().ptr();
        Py_XDECREF(old);
      },
      nb::arg("transport").none(),
      "What carries messages to other processes, or None.");
});

} // namespace
} // namespace lingon
