//===- remarks.h - why a program is not as fast as it could be --*- C++ -*-===//
//
// Passes say what they did not do, and why, as MLIR's optimization remarks: the
// name is the kind, the category the pass. Without a listener that costs
// nothing. Copies are made by one pass and seen by another one: the reason
// travels in the location.
//
//===----------------------------------------------------------------------===//

#ifndef LINGON_PASSES_REMARKS_H
#define LINGON_PASSES_REMARKS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Remarks.h"

namespace lingon {

inline constexpr llvm::StringLiteral kNotFused = "not fused";
inline constexpr llvm::StringLiteral kCopy = "copy";
inline constexpr llvm::StringLiteral kSerial = "serial loop";

/// Begins a remark; the reason is written to it.
inline mlir::remark::detail::InFlightRemark
missed(mlir::Location loc, llvm::StringRef kind, llvm::StringRef pass) {
  return mlir::remark::missed(
      loc, mlir::remark::RemarkOpts::name(kind).category(pass));
}

/// Takes back what an earlier pass said of this kind at these places.
inline void achieved(mlir::Location loc, llvm::StringRef kind,
                     llvm::StringRef pass) {
  mlir::remark::passed(loc, mlir::remark::RemarkOpts::name(kind).category(pass))
      << "done";
}

/// `loc` with the pass that makes something there, and why.
inline mlir::Location because(mlir::Location loc, llvm::StringRef pass,
                              llvm::StringRef reason) {
  mlir::MLIRContext *context = loc.getContext();
  return mlir::FusedLoc::get(
      context, {loc},
      mlir::ArrayAttr::get(context, {mlir::StringAttr::get(context, pass),
                                     mlir::StringAttr::get(context, reason)}));
}

/// The pass and the reason that `because` left, if any.
inline std::optional<std::pair<llvm::StringRef, llvm::StringRef>>
reasonOf(mlir::Location loc) {
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(loc))
    return reasonOf(named.getChildLoc());
  auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc);
  if (!fused)
    return std::nullopt;
  if (auto pair =
          llvm::dyn_cast_if_present<mlir::ArrayAttr>(fused.getMetadata()))
    return std::pair(llvm::cast<mlir::StringAttr>(pair[0]).getValue(),
                     llvm::cast<mlir::StringAttr>(pair[1]).getValue());
  for (mlir::Location inner : fused.getLocations())
    if (auto found = reasonOf(inner))
      return found;
  return std::nullopt;
}

} // namespace lingon

#endif // LINGON_PASSES_REMARKS_H
