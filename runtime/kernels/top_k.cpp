//===- top_k.cpp - The k largest elements of each row and their indices ---===//
//
// config = [axis, k]; one input, two outputs: values, and indices as int32.
// Descending, equal elements by index. Floats order by their bits: +NaN before
// +inf, +0 before -0, -NaN last.
//
//===----------------------------------------------------------------------===//
#include "rows.h"
#include "sort_keys.h"

namespace lingon {
namespace {

/// Moves the k least elements of data[0, n) to its front, in no order.
template <class E> void selectLeast(E *data, int64_t n, int64_t k) {
  int64_t low = 0, high = n - 1;
  while (low < high) {
    // Median of three; elements are distinct because of their indices.
    E a = data[low], b = data[low + (high - low) / 2], c = data[high];
    E pivot =
        a < b ? (b < c ? b : (a < c ? c : a)) : (a < c ? a : (b < c ? c : b));
    int64_t i = low, j = high;
    while (i <= j) {
      while (data[i] < pivot)
        ++i;
      while (pivot < data[j])
        --j;
      if (i <= j) {
        E t = data[i];
        data[i++] = data[j];
        data[j--] = t;
      }
    }
    if (k - 1 <= j)
      high = j;
    else if (k - 1 >= i)
      low = i;
    else
      return;
  }
}

/// Sorts by key and index, whatever the order that the elements are in (the
/// radix sort of sort_keys.h expects them in that of their indices).
template <class E> E *mergeSort(E *data, E *scratch, int64_t n) {
  constexpr int64_t run = 16;
  for (int64_t i = 0; i < n; i += run)
    insertionSort(data + i, minOf(run, n - i));
  for (int64_t width = run; width < n; width *= 2) {
    for (int64_t i = 0; i < n; i += 2 * width) {
      int64_t a = i, b = minOf(i + width, n), last = minOf(i + 2 * width, n);
      const int64_t middle = b;
      for (int64_t k = i; k < last; ++k) {
        bool left = a < middle && (b >= last || data[a] < data[b]);
        scratch[k] = data[left ? a++ : b++];
      }
    }
    E *t = data;
    data = scratch;
    scratch = t;
  }
  return data;
}

/// Descending order is ascending order of the inverted key.
template <class U, KeyKind Kind>
U descendingKey(KeyCodec<U, Kind> codec, U bits) {
  return U(~codec.totalKey(bits));
}

/// Leaves the k first elements of the row, sorted, in the returned array,
/// which lies in data (room for max(n, 2k + block) elements) or scratch.
template <class E, class U, KeyKind Kind>
E *topOfRow(KeyCodec<U, Kind> codec, const U *src, int64_t stride, int64_t n,
            int64_t k, E *data, E *scratch, bool parallel) {
  constexpr int64_t block = 64;
  constexpr int bits = 8 * int(sizeof(U));
  if (k > n / 8 || n <= 4 * block) {
    for (int64_t i = 0; i < n; ++i)
      data[i] = E::make(descendingKey(codec, src[i * stride]), uint32_t(i));
    return sortElements(data, scratch, n, bits, parallel);
  }
  // Candidates are kept in a buffer that is cut back to the best k when full.
  // A block without a key below the worst of those is passed over.
  const int64_t room = 2 * k + block;
  int64_t count = 0;
  U worst = U(~U(0));
  bool full = false;
  for (int64_t i = 0; i < n; i += block) {
    int64_t size = minOf(block, n - i);
    U least = U(~U(0));
    for (int64_t j = 0; j < size; ++j)
      least = minOf(least, descendingKey(codec, src[(i + j) * stride]));
    // Later elements lose ties, so only smaller keys count once full.
    if (full && least >= worst)
      continue;
    for (int64_t j = 0; j < size; ++j) {
      U key = descendingKey(codec, src[(i + j) * stride]);
      if (!full || key < worst)
        data[count++] = E::make(key, uint32_t(i + j));
    }
    if (count > room - block) {
      selectLeast(data, count, k);
      count = k;
      full = true;
      worst = 0;
      for (int64_t j = 0; j < k; ++j)
        worst = maxOf(worst, U(data[j].digits()));
    }
  }
  selectLeast(data, count, k);
  return mergeSort(data, scratch, k);
}

template <class U, KeyKind Kind>
void topK(KeyCodec<U, Kind> codec, const LingonBuffer &in,
          const LingonBuffer &values, const LingonBuffer &indices, int64_t axis,
          int64_t k) {
  using E = typename IndexedOf<U>::type;
  Rows from(in, axis), toValues(values, axis), toIndices(indices, axis);
  const int64_t n = from.length(), rows = from.count();
  const int64_t room = maxOf(n, 2 * k + 64);
  const bool single = rows < lingon_rt_num_threads() && n >= ParallelSort;
  auto run = [&](int64_t begin, int64_t end) {
    Scratch<E> storage(2 * room + SortSlack);
    for (int64_t r = begin; r < end; ++r) {
      const U *src = reinterpret_cast<const U *>(from.row(r));
      E *top = topOfRow<E>(codec, src, from.stride(), n, k, storage,
                           storage + room, single);
      U *value = reinterpret_cast<U *>(toValues.row(r));
      int32_t *index = reinterpret_cast<int32_t *>(toIndices.row(r));
      for (int64_t i = 0; i < k; ++i) {
        uint32_t at = top[i].index();
        value[i * toValues.stride()] = src[at * from.stride()];
        index[i * toIndices.stride()] = int32_t(at);
      }
    }
  };
  if (single)
    return run(0, rows);
  parallelFor(rows, maxOf<int64_t>(1, 4096 / n), run);
}

void topKKernel(const LingonBuffer *bufs, int64_t, const int64_t *config,
                int64_t) {
  const int64_t axis = config[0], k = config[1];
  if (k == 0 || Rows(bufs[0], axis).count() == 0)
    return;
  withCodec(bufs[0].dtype, [&](auto codec) {
    topK(codec, bufs[0], bufs[1], bufs[2], axis, k);
  });
}

} // namespace
} // namespace lingon

LINGON_KERNEL(top_k, lingon::topKKernel)
