//===- expand_math.cpp - elementary functions become library calls --------===//
//
// math.* operations on scalars become calls of private functions named
// lingon_<op>_<type> (math.sin on f32 -> @lingon_sin_f32). The definitions come
// from a text of func.func operations, of which only those used are parsed.
//
//===----------------------------------------------------------------------===//

#include "Registration.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <mutex>

using namespace mlir;

namespace {

/// The library text, cut into one piece per function and per table. A table is
/// an llvm.mlir.global on one line.
struct MathLibrary {
  std::string text;
  llvm::StringMap<StringRef> functions;
  llvm::StringMap<StringRef> tables;

  explicit MathLibrary(StringRef source) : text(source) {
    StringRef rest = text;
    while (rest.contains("llvm.mlir.global")) {
      rest = rest.drop_front(rest.find("llvm.mlir.global"));
      StringRef line = rest.take_front(rest.find('\n'));
      tables[symbolAfter(line, "@")] = line;
      rest = rest.drop_front(line.size());
    }
    rest = text;
    for (;;) {
      size_t begin = rest.find("func.func");
      if (begin == StringRef::npos)
        return;
      rest = rest.drop_front(begin);
      size_t end = functionEnd(rest);
      StringRef piece = rest.take_front(end);
      functions[symbolAfter(piece, "@")] = piece;
      rest = rest.drop_front(end);
    }
  }

  /// The symbol name that follows the first `mark` in `source`.
  static StringRef symbolAfter(StringRef source, StringRef mark) {
    StringRef name = source.drop_front(source.find(mark) + mark.size());
    return name.take_while(
        [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
  }

  /// A function with the tables it reads.
  std::string withTables(StringRef name) const {
    StringRef function = functions.lookup(name);
    const StringRef mark = "llvm.mlir.addressof @";
    std::string result;
    llvm::StringSet<> seen;
    for (StringRef rest = function; rest.contains(mark);) {
      StringRef table = symbolAfter(rest, mark);
      if (seen.insert(table).second)
        result += tables.lookup(table).str() + "\n";
      rest = rest.drop_front(rest.find(mark) + mark.size());
    }
    return result + function.str();
  }

  /// The position after the brace that closes the body: the one after which no
  /// other brace opens on the same line.
  static size_t functionEnd(StringRef source) {
    int depth = 0;
    bool inString = false;
    for (size_t i = 0; i < source.size(); ++i) {
      char c = source[i];
      if (inString) {
        if (c == '\\')
          ++i;
        else if (c == '"')
          inString = false;
        continue;
      }
      if (c == '"') {
        inString = true;
      } else if (c == '/' && source.substr(i).starts_with("//")) {
        i = std::min(source.find('\n', i), source.size() - 1);
      } else if (c == '{') {
        ++depth;
      } else if (c == '}' && --depth == 0) {
        StringRef line = source.drop_front(i + 1);
        line = line.take_front(line.find('\n'));
        if (!line.contains('{'))
          return i + 1;
      }
    }
    return source.size();
  }
};

std::mutex libraryMutex;
std::shared_ptr<const MathLibrary> defaultLibrary;

/// Operations that LLVM turns into vector instructions by itself.
bool staysAsIntrinsic(Operation *op) {
  return isa<math::SqrtOp, math::RsqrtOp, math::FmaOp, math::AbsFOp,
             math::AbsIOp, math::FloorOp, math::CeilOp, math::TruncOp,
             math::RoundEvenOp, math::CopySignOp, math::CountLeadingZerosOp,
             math::CountTrailingZerosOp, math::CtPopOp, math::IsFiniteOp,
             math::IsInfOp, math::IsNaNOp, math::IsNormalOp>(op);
}

struct ExpandMathPass
    : public PassWrapper<ExpandMathPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMathPass)
  ExpandMathPass() = default;
  ExpandMathPass(const ExpandMathPass &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "lingon-expand-math"; }
  StringRef getDescription() const final {
    return "replace math operations by calls of the elementary function "
           "library";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect,
                    math::MathDialect, LLVM::LLVMDialect>();
  }
  Option<std::string> libraryPath{
      *this, "library",
      llvm::cl::desc("file with the definitions of the functions; without it "
                     "the text given to lingon_set_math_library is used")};

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa_and_present<math::MathDialect>(op->getDialect()) &&
          !staysAsIntrinsic(op))
        ops.push_back(op);
    });
    // Calls of library functions that have no math operation.
    SmallVector<func::FuncOp> declared;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isDeclaration())
        declared.push_back(function);
    if (ops.empty() && declared.empty())
      return;
    std::shared_ptr<const MathLibrary> library;
    if (!libraryPath.empty()) {
      auto file = llvm::MemoryBuffer::getFile(libraryPath);
      if (!file) {
        getOperation().emitError("lingon-expand-math: cannot read the library '")
            << libraryPath << "': " << file.getError().message();
        return signalPassFailure();
      }
      library = std::make_shared<MathLibrary>((*file)->getBuffer());
    } else {
      std::lock_guard<std::mutex> lock(libraryMutex);
      library = defaultLibrary;
    }

    SymbolTable symbols(getOperation());
    for (func::FuncOp declaration : declared) {
      std::string name = declaration.getSymName().str();
      if (!library || !library->functions.contains(name))
        continue; // a runtime function, or one of another pass
      FunctionType wanted = declaration.getFunctionType();
      Location loc = declaration.getLoc();
      symbols.erase(declaration);
      func::FuncOp function = define(*library, symbols, name, getOperation());
      if (!function)
        return signalPassFailure();
      if (function.getFunctionType() != wanted) {
        emitError(loc) << "lingon-expand-math: @" << name << " is declared as "
                       << wanted << ", the library defines it as "
                       << function.getFunctionType();
        return signalPassFailure();
      }
    }
    for (Operation *op : ops) {
      std::string name = functionName(op);
      if (name.empty() || !library || !library->functions.contains(name)) {
        op->emitOpError("on ")
            << op->getOperand(0).getType()
            << " has no vectorisable form: the elementary function library "
            << (library ? "defines no " : "is not set, expected ")
            << (name.empty() ? std::string("function for this type")
                             : "@" + name);
        return signalPassFailure();
      }
      func::FuncOp function = define(*library, symbols, name, op);
      if (!function)
        return signalPassFailure();
      FunctionType type = function.getFunctionType();
      if (TypeRange(type.getInputs()) != TypeRange(op->getOperandTypes()) ||
          TypeRange(type.getResults()) != TypeRange(op->getResultTypes())) {
        op->emitOpError("does not fit the library function @")
            << name << " of type " << type;
        return signalPassFailure();
      }
      OpBuilder builder(op);
      auto call = func::CallOp::create(builder, op->getLoc(), function,
                                       op->getOperands());
      op->replaceAllUsesWith(call);
      op->erase();
    }
  }

  /// lingon_<op>_<types>: the result type, and those of operands that differ
  /// from it. Empty for what is not a scalar.
  static std::string functionName(Operation *op) {
    if (op->getNumResults() == 0 || op->getNumOperands() == 0)
      return "";
    Type type = op->getOperand(0).getType();
    if (!type.isIntOrFloat())
      return "";
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << "lingon_" << op->getName().stripDialect() << "_" << type;
    return text;
  }

  /// The function `name` in the module, copied from the library (with all that
  /// it calls) if it is not there yet.
  func::FuncOp define(const MathLibrary &library, SymbolTable &symbols,
                      StringRef name, Operation *user) {
    if (auto known = symbols.lookup<func::FuncOp>(name))
      return known;
    // Callees and tables come later: what refers to them cannot be verified yet.
    ParserConfig config(&getContext(), /*verifyAfterParse=*/false);
    OwningOpRef<ModuleOp> parsed =
        parseSourceString<ModuleOp>(library.withTables(name), config);
    if (!parsed || parsed->getOps<func::FuncOp>().empty()) {
      user->emitOpError("the library function @") << name << " does not parse";
      return {};
    }
    for (auto table :
         llvm::make_early_inc_range(parsed->getOps<LLVM::GlobalOp>())) {
      if (symbols.lookup(table.getSymName()))
        continue;
      table->remove();
      symbols.insert(table);
    }
    func::FuncOp function = *parsed->getOps<func::FuncOp>().begin();
    function->remove();
    function.setPrivate();
    if (!function->hasAttr("passthrough")) {
      Builder builder(&getContext());
      function->setAttr("passthrough",
                        builder.getStrArrayAttr({"alwaysinline"}));
    }
    symbols.insert(function);
    SmallVector<std::string> callees;
    function.walk([&](func::CallOp call) {
      callees.push_back(call.getCallee().str());
    });
    for (const std::string &callee : callees) {
      if (!library.functions.contains(callee)) {
        user->emitOpError("the library function @")
            << name << " calls @" << callee << ", which it does not define";
        return {};
      }
      if (!define(library, symbols, callee, user))
        return {};
    }
    return function;
  }
};

} // namespace

LINGON_REGISTER_PASS(ExpandMathPass)

/// Sets the text of the elementary function library for this process.
extern "C" __attribute__((visibility("default"))) void
lingon_set_math_library(const char *text, size_t size) {
  auto library = std::make_shared<MathLibrary>(StringRef(text, size));
  std::lock_guard<std::mutex> lock(libraryMutex);
  defaultLibrary = library;
}
