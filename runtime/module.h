//===- module.h - how a file adds its bindings to _runtime ----------------===//
//
// A translation unit adds Python bindings without being named anywhere else:
//
//   static ModuleInit init([](nanobind::module_ &m) { m.def(...); });
//
// All functions run once, at import, after NumPy and the dtype table are ready.
// The order among files is unspecified; use `priority` (lower runs first) where
// one file needs the types of another.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_MODULE_H
#define LINGON_RUNTIME_MODULE_H

namespace nanobind {
class module_;
} // namespace nanobind

namespace lingon {

class ModuleInit {
public:
  using Function = void (*)(nanobind::module_ &);
  explicit ModuleInit(Function function, int priority = 0);

  /// Runs every registered function in order of priority.
  static void runAll(nanobind::module_ &m);

private:
  Function function;
  int priority;
  ModuleInit *next;
};

} // namespace lingon

#endif // LINGON_RUNTIME_MODULE_H
