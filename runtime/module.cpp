//===- module.cpp - the Python module _runtime ----------------------------===//
#define LINGON_IMPORT_NUMPY
#include "module.h"
#include "dtypes.h"
#include "numpy_api.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <vector>

namespace nb = nanobind;

namespace lingon {

static ModuleInit *&initList() {
  static ModuleInit *head = nullptr;
  return head;
}

ModuleInit::ModuleInit(Function function, int priority)
    : function(function), priority(priority), next(initList()) {
  initList() = this;
}

void ModuleInit::runAll(nb::module_ &m) {
  std::vector<ModuleInit *> inits;
  for (ModuleInit *init = initList(); init; init = init->next)
    inits.push_back(init);
  std::stable_sort(
      inits.begin(), inits.end(),
      [](ModuleInit *a, ModuleInit *b) { return a->priority < b->priority; });
  for (ModuleInit *init : inits)
    init->function(m);
}

} // namespace lingon

NB_MODULE(_runtime, m) {
  // Registered functions and interned types live as long as the interpreter, by
  // design; nanobind would list them as leaks when it exits.
  nb::set_leak_warnings(false);
  m.attr("__doc__") = "Arrays, memory, threads and compiled programs.";
  if (PyArray_ImportNumPyAPI() < 0 || !lingon::initDTypes())
    throw nb::python_error();
  lingon::ModuleInit::runAll(m);
}
