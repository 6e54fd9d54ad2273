//===- rows.h - Walking an array row by row along one axis ----------------===//
#ifndef LINGON_RUNTIME_KERNELS_ROWS_H
#define LINGON_RUNTIME_KERNELS_ROWS_H

#include "kernel.h"

namespace lingon {
namespace {

/// The rows of `buf` along `axis`: one per index of the other dims.
struct Rows {
  const LingonBuffer &buf;
  int64_t axis, itemBytes;
  /// The other dims from the innermost out, those that follow one another in
  /// memory as one, since each takes a division for every row.
  int64_t rank = 0, shape[64], strides[64];

  Rows(const LingonBuffer &buf, int64_t axis)
      : buf(buf), axis(axis), itemBytes(itemSize(buf.dtype)) {
    for (int64_t d = buf.rank - 1; d >= 0; --d) {
      if (d == axis || buf.shape[d] == 1)
        continue;
      if (rank > 0 && buf.strides[d] == shape[rank - 1] * strides[rank - 1]) {
        shape[rank - 1] *= buf.shape[d];
        continue;
      }
      shape[rank] = buf.shape[d];
      strides[rank++] = buf.strides[d];
    }
  }
  int64_t count() const {
    int64_t n = 1;
    for (int64_t d = 0; d < rank; ++d)
      n *= shape[d];
    return n;
  }
  int64_t length() const { return buf.shape[axis]; }
  int64_t stride() const { return buf.strides[axis]; }
  /// First element of a row; rows are numbered in row-major order.
  char *row(int64_t index) const {
    int64_t offset = 0;
    for (int64_t d = 0; d + 1 < rank; ++d) {
      offset += index % shape[d] * strides[d];
      index /= shape[d];
    }
    if (rank > 0)
      offset += index * strides[rank - 1];
    return static_cast<char *>(buf.data) + offset * itemBytes;
  }
};

/// dst[i * dstStride] = src[index[i] * srcStride], by element size.
template <class T>
void permuteAs(void *dst, int64_t dstStride, const void *src, int64_t srcStride,
               const uint32_t *index, int64_t n) {
  T *to = static_cast<T *>(dst);
  const T *from = static_cast<const T *>(src);
  if (dstStride == 1 && srcStride == 1)
    for (int64_t i = 0; i < n; ++i)
      to[i] = from[index[i]];
  else
    for (int64_t i = 0; i < n; ++i)
      to[i * dstStride] = from[index[i] * srcStride];
}

struct Bytes16 {
  uint64_t parts[2];
};

inline void permute(void *dst, int64_t dstStride, const void *src,
                    int64_t srcStride, const uint32_t *index, int64_t n,
                    int64_t itemBytes) {
  switch (itemBytes) {
  case 1:
    return permuteAs<uint8_t>(dst, dstStride, src, srcStride, index, n);
  case 2:
    return permuteAs<uint16_t>(dst, dstStride, src, srcStride, index, n);
  case 4:
    return permuteAs<uint32_t>(dst, dstStride, src, srcStride, index, n);
  case 8:
    return permuteAs<uint64_t>(dst, dstStride, src, srcStride, index, n);
  default:
    return permuteAs<Bytes16>(dst, dstStride, src, srcStride, index, n);
  }
}

} // namespace
} // namespace lingon

#endif // LINGON_RUNTIME_KERNELS_ROWS_H
