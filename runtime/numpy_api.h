//===- numpy_api.h - the NumPy C API, set up once -------------------------===//
//
// Include this header, never <numpy/...> directly: all translation units share
// the API table that module.cpp imports.
//
//===----------------------------------------------------------------------===//
#ifndef LINGON_RUNTIME_NUMPY_API_H
#define LINGON_RUNTIME_NUMPY_API_H

#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL lingon_numpy_api
#ifndef LINGON_IMPORT_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#endif // LINGON_RUNTIME_NUMPY_API_H
